#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds packaging/ against what others publish: Kubernetes' schemas, in which an unknown key is a fault, and
Grafana's model of a dashboard, which drops what it does not know.

Usage: AQUA_SCHEMAS=FOLDER published_test.py ROOT [unittest's options]. Ends with 77 without the folder, which
scripts/fetch-schemas makes. Each query of the board is read by promtool where there is one.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings

import jsonschema
import yaml

PACKAGING: pathlib.Path
SCHEMAS = pathlib.Path(os.environ.get("AQUA_SCHEMAS", ""))


def faults(document: dict, folder: pathlib.Path) -> list[str]:
    """What the schema of the document's kind says of it."""
    version = document["apiVersion"].replace("/", "-")
    schema = json.loads((folder / f"{document['kind'].lower()}-{version}.json").read_text())
    definitions = json.loads((folder / "_definitions.json").read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Debian 12 has no other way yet
        resolver = jsonschema.RefResolver.from_schema(schema, store={definitions["$id"]: definitions})
    validator = jsonschema.Draft202012Validator(schema, resolver=resolver)
    return [f"{'.'.join(map(str, fault.path))}: {fault.message}" for fault in validator.iter_errors(document)]


def lost(before, after, path: str = "") -> list[str]:
    """Where `after` has not what `before` has."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [fault for key, value in before.items() for fault in lost(value, after.get(key), f"{path}.{key}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [fault for i, pair in enumerate(zip(before, after)) for fault in lost(*pair, f"{path}[{i}]")]
    return [] if before == after else [f"{path}: {before!r} is read as {after!r}"]


class Kubernetes(unittest.TestCase):
    def documents(self):
        for path in sorted(PACKAGING.glob("kubernetes/*.yaml")):
            text = path.read_text()
            for variant in sorted({text, text.replace("# disk: ", "")}):  # the keeper without its disk, and with it
                for document in yaml.safe_load_all(variant):
                    yield path.name, document

    def test_each_manifest_is_of_its_schema(self):
        versions = sorted((SCHEMAS / "kubernetes").iterdir())
        self.assertEqual(len(versions), 2)
        kinds = []
        for folder in versions:
            for name, document in self.documents():
                kinds.append(document["kind"])
                self.assertEqual(faults(document, folder), [], f"{name}, {folder.name}")
        self.assertEqual(kinds.count("DaemonSet"), 2 * 4)

    def test_a_key_that_is_misspelt_is_a_fault(self):
        folder = next((SCHEMAS / "kubernetes").iterdir())
        for _, document in self.documents():
            document["spec" if "spec" in document else "metadata"]["nodeSelectr"] = {}
            self.assertIn("nodeSelectr", "".join(faults(document, folder)))


class Grafana(unittest.TestCase):
    def setUp(self):
        self.board = json.loads((PACKAGING / "aqua-grafana.json").read_text())
        self.queries = [target["expr"] for panel in self.board["panels"] for target in panel.get("targets", [])]

    def test_the_board_is_read_as_it_is_written(self):
        sys.path.insert(0, str(SCHEMAS))
        from grafana_foundation_sdk.cog.encoder import JSONEncoder
        from grafana_foundation_sdk.models.dashboard import Dashboard
        read = json.loads(JSONEncoder().encode(Dashboard.from_json(self.board)))
        self.assertEqual(lost(self.board, read), [])
        self.assertGreater(len(self.queries), 30)

    def test_panels_lie_beside_each_other(self):
        taken = set()
        for panel in self.board["panels"]:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(cells & taken, panel["title"])
            self.assertLessEqual(at["x"] + at["w"], 24)
            taken |= cells

    @unittest.skipUnless(shutil.which("promtool"), "no promtool (scripts/setup check)")
    def test_promtool_reads_each_query(self):
        rules = [{"record": f"query:{i}", "expr": query} for i, query in enumerate(self.queries)]
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}, file)
            file.flush()
            done = subprocess.run(["promtool", "check", "rules", file.name], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_each_metric_is_one_that_a_page_tells_of(self):
        pages = (PACKAGING.parent / "docs/operate").glob("*.md")
        told = set(re.findall(r"\b((?:aqua|process)_[a-z_]+)", "\n".join(page.read_text() for page in pages)))
        asked = {re.sub("_bucket$", "", name)
                 for query in self.queries for name in re.findall(r"\b((?:aqua|process)_[a-z_]+)", query)}
        self.assertEqual(asked - told, set())


if __name__ == "__main__":
    if not (SCHEMAS / "kubernetes").is_dir():
        print("skipped: AQUA_SCHEMAS names no folder of schemas; see scripts/fetch-schemas")
        sys.exit(77)
    PACKAGING = pathlib.Path(sys.argv.pop(1)) / "packaging"
    unittest.main()
