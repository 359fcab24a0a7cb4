#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Results say where they come from, and cannot be edited unnoticed; a dirty tree is not measured."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import result_file  # noqa: E402  pylint: disable=wrong-import-position


class Seal(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = self.folder / "new-cpu.json"
        report = self.folder / "report"
        report.write_text('{"median_ms": 1.5}')
        os.environ["AQUA_DATA"] = "/somewhere/data"
        command = f"new_bench --fast {ROOT}/build/there --trace /somewhere/data/a.csv"
        words = ["write", str(report), str(self.path), "new", command, "cpu", "071af84", "0.25"]
        self.assertEqual(result_file.main(words), 0)

    def change(self, **fields):
        result = json.loads(self.path.read_text())
        self.path.write_text(json.dumps({**result, **fields}))

    def test_what_was_measured_is_whole_and_says_where(self):
        self.assertIsNone(result_file.fault_of(self.path))
        result = json.loads(self.path.read_text())
        self.assertEqual(result["result"], {"median_ms": 1.5})
        self.assertEqual(result["machine"]["load_before"], 0.25)
        self.assertEqual(result["commit"], "071af84")
        self.assertEqual(result["command"], "new_bench --fast build/there --trace $AQUA_DATA/a.csv")
        self.assertGreaterEqual(result["machine"]["load_after"], 0)

    def test_of_llama_cpp_it_says_which(self):
        self.assertEqual(set(result_file.versions_of("fleet_llama_server")), {"versions"})
        self.assertEqual(result_file.versions_of("fleet"), {})

    def test_an_edit_of_any_field_is_found(self):
        for fields in ({"date": "2020-01-01"}, {"commit": "1234567"}, {"result": {"median_ms": 1}}):
            whole = self.path.read_text()
            self.change(**fields)
            self.assertIn("changed", result_file.fault_of(self.path))
            self.path.write_text(whole)

    def test_a_report_that_says_where_it_comes_from_is_sealed_once(self):
        report = self.folder / "gpu_hbm-h200.json"
        report.write_text('{"date": "2026-11-26", "commit": "1234567", "gbps": 54.7}')
        self.assertEqual(result_file.seal_report(report), "does not say its device")
        report.write_text('{"date": "2026-11-26", "commit": "1234567", "device": "H200", "gbps": 54.7}')
        self.assertIn("no seal", result_file.fault_of(report))
        self.assertEqual(result_file.main(["seal", str(report)]), 0)
        self.assertIsNone(result_file.fault_of(report))
        self.assertEqual(json.loads(report.read_text())["gbps"], 54.7)
        self.assertEqual(result_file.main(["seal", str(report)]), 1)

    def test_without_a_seal_only_those_that_are_named(self):
        result = json.loads(self.path.read_text())
        del result["seal"]
        for date in ("2100-01-01T00:00:00+00:00", "2020-01-01T00:00:00+00:00"):
            self.path.write_text(json.dumps({**result, "date": date}))
            self.assertIn("no seal", result_file.fault_of(self.path))
        for name in result_file.UNSEALED:
            self.assertTrue(list((ROOT / "bench/results").rglob(name)), "measured again: name it no more")

    def test_the_results_that_are_there(self):
        results = [str(path) for path in (ROOT / "bench/results").rglob("*.json")]
        self.assertGreater(len(results), 10)
        self.assertEqual(result_file.main(["check", *results]), 0)


class DirtyTree(unittest.TestCase):
    def test_is_not_measured_unless_told(self):
        with tempfile.TemporaryDirectory() as folder:
            def git(*words):
                subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=folder, check=True,
                               capture_output=True)
            git("init", "-q")
            scripts = pathlib.Path(folder) / "scripts"
            scripts.mkdir()
            shutil.copy(ROOT / "scripts/bench", scripts / "bench")
            (scripts / "setup").write_text("#!/bin/sh\necho went on; exit 9\n")
            (scripts / "setup").chmod(0o755)
            git("add", "-A")
            git("commit", "-qm", "first")

            def bench(*words):
                return subprocess.run([scripts / "bench", *words], capture_output=True, text=True, check=False)
            self.assertEqual(bench().returncode, 9)
            (scripts / "setup").write_text("#!/bin/sh\necho went on; exit 8\n")
            refused = bench()
            self.assertEqual(refused.returncode, 2)
            self.assertIn("--dirty", refused.stderr)
            self.assertEqual(bench("--dirty").returncode, 8)


if __name__ == "__main__":
    unittest.main()
