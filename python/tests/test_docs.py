# SPDX-License-Identifier: Apache-2.0
"""What docs/engine/python.md shows works as it stands there."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from conftest import PACKAGE, run_python

PAGE = (PACKAGE.parent / "docs/engine/python.md").read_text()
LAYER_SWAP = (PACKAGE.parent / "docs/engine/layer_swap.md").read_text()
PACKING = (PACKAGE.parent / "docs/plan/packing.md").read_text()
STREAMS = (PACKAGE.parent / "docs/engine/streams.md").read_text()
REPLICAS = (PACKAGE.parent / "docs/engine/replicas.md").read_text()


def test_the_example_runs():
    example = re.search(r"^```python\n(.*?)^```$", PAGE, re.M | re.S).group(1)
    ended = run_python(example)
    assert (ended.stdout, ended.stderr) == ("seq 42 is in HOST\n", "")


def test_the_lender_is_told_and_has_its_memory_back():
    example = re.search(r"^```python lending\n(.*?)^```$", PAGE, re.M | re.S).group(1)
    ended = run_python(example)
    lines = ended.stdout.splitlines()
    assert ended.returncode == 0 and "returned: 64 MiB in 1 slab" in lines, ended.stderr
    assert "nobody can borrow it" in ended.stderr and len(ended.stderr.splitlines()) == 1
    assert any(line.startswith("OPENED lent: ") for line in lines)


def test_a_sequence_lies_with_a_neighbour_and_comes_home(coordinator, tmp_path, monkeypatch):
    monkeypatch.setenv("AQUA_COORDINATOR", coordinator.address)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    example = re.search(r"^```python borrowing\n(.*?)^```$", PAGE, re.M | re.S).group(1)
    ended = run_python(example)
    assert (ended.stdout, ended.stderr) == ("seq 42 is in PEER\nseq 42 is in HOST\n", "")


@pytest.mark.parametrize("page", [LAYER_SWAP, PACKING], ids=["layer_swap", "packing"])
def test_the_example_prints_what_its_page_says(page):
    example = re.search(r"^```python\n(.*?)^```$", page, re.M | re.S).group(1)
    printed = re.search(r"^```text\n(.*?)^```$", page, re.M | re.S).group(1)
    ended = run_python(example)
    assert (ended.stdout, ended.stderr) == (printed, "")


@pytest.mark.parametrize("page", [STREAMS, REPLICAS], ids=["streams", "replicas"])
def test_the_example_over_a_keeper_prints_what_its_page_says(page, keeper, monkeypatch):
    monkeypatch.setenv("AQUA_KEEPER", keeper.socket)
    example = re.search(r"^```python\n(.*?)^```$", page, re.M | re.S).group(1)
    printed = re.search(r"^```text\n(.*?)^```$", page, re.M | re.S).group(1)
    ended = run_python(example)
    assert (ended.stdout, ended.stderr) == (printed, "")


@pytest.mark.skipif("AQUA_LIBRARY" not in os.environ, reason="AQUA_LIBRARY names no library")
def test_the_commands_install_it(tmp_path):
    """In a tree like the checkout, its setup doing nothing, by a pip that asks no network."""
    commands = re.search(r"^```sh\n(scripts/setup test.*?)^```$", PAGE, re.M | re.S).group(1)
    for module in ("ensurepip", "pip", "setuptools", "wheel"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"no {module}")
    (tmp_path / "build/release/src").mkdir(parents=True)
    shutil.copyfile(os.environ["AQUA_LIBRARY"], tmp_path / "build/release/src/libaqua.so")
    kept = shutil.ignore_patterns("tests", "build", "__pycache__", "*.egg-info")
    shutil.copytree(PACKAGE, tmp_path / "python", ignore=kept)
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/setup").symlink_to("/bin/true")
    here = shlex.quote(sys.executable)
    given = (
        f'python3() {{ {here} "$@"; }}; pip() {{ case $1 in '
        f'wheel) shift; {here} -m pip wheel --no-build-isolation --no-index "$@";; '
        'install) command pip "$@" --no-index;; '
        "esac; }\n"
    )
    clean = {k: v for k, v in os.environ.items() if k not in ("AQUA_LIBRARY", "PYTHONPATH")}
    ended = subprocess.run(
        ["bash", "-euc", given + commands], cwd=tmp_path, capture_output=True, text=True,
        env=clean, timeout=250,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert re.search(rf"{re.escape(str(tmp_path))}/\.venv/.*/aqua_kv/lib", ended.stdout), ended.stdout
