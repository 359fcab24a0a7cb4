# SPDX-License-Identifier: Apache-2.0
"""`--load-format aqua` inside the real vLLM, where it is installed: its options, plugins, models,
loaders and processing, with torch's CPU tensors over an emulated GPU. Without a GPU vLLM has no
kernels, so that no answer of a model is computed, and no quantized model is loaded."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import HERE, PACKAGE

from aqua_kv.vllm import VLLM_VERSION

if importlib.util.find_spec("vllm.engine") is None:
    pytest.skip(f"vLLM {VLLM_VERSION} is not installed", allow_module_level=True)


@pytest.fixture
def worker(keeper, tmp_path):
    # As pip leaves it: where vLLM looks for plugins.
    project = (PACKAGE / "pyproject.toml").read_text()
    points = re.search(r'\[project.entry-points."(.*?)"\]\n(.*?)\n\n', project, re.S)
    told = tmp_path / "site/aqua_kv-0.1.0.dist-info"
    told.mkdir(parents=True)
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: aqua-kv\nVersion: 0.1.0\n")
    entry = points.group(2).replace('"', "")
    (told / "entry_points.txt").write_text(f"[{points.group(1)}]\n{entry}\n")
    base = {"device": "emu:0", "keeper": keeper.socket, "socket_directory": str(tmp_path)}

    def run(format="aqua", extra=None, **more):
        extra = {**base, **(extra or {})} if format == "aqua" else {}
        given = {"model": str(tmp_path / "model"), "format": format, "extra": extra, **more}
        ended = subprocess.run(
            [sys.executable, str(HERE / "in_vllm/vllm_real_load.py"), json.dumps(given)],
            capture_output=True, text=True, timeout=200,
            env=dict(os.environ, PYTHONPATH=f"{told.parent}:{PACKAGE}"),
        )
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout.splitlines()[-1])

    return run


@pytest.mark.parametrize("model", [("Llama", True), ("Qwen3", False)])
def test_the_default_loader_the_publisher_and_who_maps_have_the_same_state(worker, model):
    what = dict(zip(("family", "tied"), model))
    default, first = worker("auto", **what), worker(**what)
    second = worker(extra={"when_missing": "fail"}, **what)
    said = (default, first, second)
    assert [each["loader"] for each in said] == ["DefaultModelLoader"] + ["AquaModelLoader"] * 2
    assert [each["reads"] for each in said] == [1, 1, 0]
    assert [each["external"] > 0 for each in said] == [False, False, True]
    for part in ("state", "buffers", "computed", "tied"):
        assert first[part] == default[part] and second[part] == default[part], part
    assert list(second["state"]) == list(default["state"]) and default["tied"] is what["tied"]


def test_two_ranks_publish_and_map_their_shards(worker, tmp_path):
    worker("auto")  # writes the checkpoint

    def engine(name, *given):
        place = tmp_path / name
        place.mkdir()

        def run(rank):
            return worker(*given, rank=rank, ranks=2, place=str(place))

        with ThreadPoolExecutor() as ranks:
            return list(ranks.map(run, (0, 1)))

    default, first = engine("default", "auto"), engine("first")
    second = engine("second", "aqua", {"when_missing": "fail"})
    for each in (first, second):
        for rank in (0, 1):
            assert each[rank]["state"] == default[rank]["state"]
    assert first[0]["state"] != first[1]["state"]
    assert [each["reads"] for each in first + second] == [1, 1, 0, 0]


@pytest.mark.parametrize(
    "given, words",
    [
        ({"extra": {"mode": "copy"}}, "ValueError: load format aqua has no option 'mode'"),
        ({"extra": {"keeper": "/nowhere/k.sock"}}, "Nothing was read from a disk instead"),
        ({"extra": {"when_missing": "fail"}}, "is not published"),
        ({"args": {"cpu_offload_gb": 1}}, "leave out --cpu-offload-gb"),
    ],
)
def test_what_is_refused_inside_vllm(worker, given, words):
    assert words in worker(**given)["error"]
