# SPDX-License-Identifier: Apache-2.0
"""The wheel: built by pip, installed elsewhere, run without this checkout."""

from __future__ import annotations

import ast
import ctypes.util
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import PACKAGE

import aqua_kv
from aqua_kv import emulated


def run(*command: str, cwd: Path, **environment: str) -> str:
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "AQUA_LIBRARY")}
    done = subprocess.run(
        command, cwd=cwd, env={**kept, **environment}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def build(tmp_path):
    for module in ("pip", "setuptools", "wheel"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"no {module}")
    source = tmp_path / "source"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("tests", "build", "__pycache__"))

    def build(**environment: str) -> Path:
        out = tmp_path / "wheels"
        shutil.rmtree(out, ignore_errors=True)
        run(
            sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index",
            "--wheel-dir", str(out), str(source), cwd=tmp_path, **environment,
        )
        (wheel,) = out.iterdir()
        return wheel

    return build


@pytest.mark.skipif("AQUA_LIBRARY" not in os.environ, reason="AQUA_LIBRARY names no library")
def test_a_wheel_with_the_library_inside_needs_nothing_else(build, tmp_path):
    wheel = build(AQUA_LIBRARY=str(Path(os.environ["AQUA_LIBRARY"]).resolve()))
    assert wheel.name.startswith("aqua_kv-0.1.0-py3-none-linux_")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"aqua_kv/lib/libaqua.so.0", "aqua_kv/py.typed", "aqua_kv/vllm/spec.py"} <= set(names)
    assert not any(name.startswith("tests") for name in names)
    (points,) = (name for name in names if name.endswith("/entry_points.txt"))
    told = zipfile.ZipFile(wheel).read(points).decode()
    assert told.split() == [  # vLLM finds the load format by it
        "[vllm.general_plugins]", "aqua", "=", "aqua_kv.vllm.plugin:register",
    ]
    target = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    said = run(sys.executable, "-m", "aqua_kv", cwd=tmp_path, PYTHONPATH=str(target))
    assert said.startswith("aqua_kv 0.1.0, libaqua ") and str(target) in said
    assert "emulated" in said


def test_a_library_that_is_not_there_is_told_when_the_wheel_is_built(tmp_path):
    said = subprocess.run(
        [sys.executable, "setup.py", "--version"], cwd=PACKAGE, capture_output=True, text=True,
        env={**os.environ, "AQUA_LIBRARY": "build/no.so"},
    )
    assert said.returncode != 0
    assert "AQUA_LIBRARY=build/no.so: no such file; give an absolute path" in said.stderr


def test_a_wheel_without_it_is_for_every_machine_and_says_what_is_missing(build, tmp_path):
    wheel = build()
    assert wheel.name == "aqua_kv-0.1.0-py3-none-any.whl"
    target = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    said = subprocess.run(
        [sys.executable, "-c", "import aqua_kv"], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(target), "AQUA_LIBRARY": str(tmp_path / "no.so")},
    )
    assert said.returncode != 0 and "ImportError: libaqua cannot be loaded" in said.stderr
    assert "no.so" in said.stderr


def test_a_library_that_is_another_is_refused(tmp_path):
    other = ctypes.util.find_library("m")
    said = subprocess.run(
        [sys.executable, "-c", "import aqua_kv"], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE), "AQUA_LIBRARY": str(other)},
    )
    assert said.returncode != 0 and "is no libaqua" in said.stderr


def test_versions_agree():
    assert aqua_kv.__version__ == aqua_kv.library_version()
    assert f'version = "{aqua_kv.__version__}"' in (PACKAGE / "pyproject.toml").read_text()


def test_what_is_public_is_listed_and_there():
    tree = ast.parse((PACKAGE / "aqua_kv/__init__.py").read_text())
    imported = {
        alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert set(aqua_kv.__all__) == imported
    assert all(hasattr(aqua_kv, name) for name in aqua_kv.__all__)
    own = {
        name for name, value in vars(emulated).items()
        if getattr(value, "__module__", "") == emulated.__name__ and not name.startswith("_")
    }
    assert set(emulated.__all__) == own


def test_vllm_missing_is_told(tmp_path):
    said = subprocess.run(
        [sys.executable, "-c", "import aqua_kv.vllm"], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
    )
    assert "works inside vLLM" in said.stderr


def test_the_command_tells_programs_too(tmp_path):
    told = json.loads(
        run(
            sys.executable, "-m", "aqua_kv", "--json", cwd=tmp_path, PYTHONPATH=str(PACKAGE),
            AQUA_LIBRARY=os.environ.get("AQUA_LIBRARY", ""),
        )
    )
    assert told["features"]["emulated"] is True and told["libaqua"] == aqua_kv.library_version()
