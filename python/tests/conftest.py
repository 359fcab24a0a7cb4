# SPDX-License-Identifier: Apache-2.0
"""Fixtures: an emulated GPU (or a real one: device.py), a real coordinator, processes of their own.

AQUA_LIBRARY names the libaqua.so under test, AQUA_COORDINATOR_BINARY and
AQUA_KEEPER_BINARY the daemons.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

HERE = Path(__file__).parent
PACKAGE = HERE.parent
sys.path.insert(0, str(PACKAGE))
try:
    import vllm  # noqa: F401
except ImportError:
    sys.path.append(str(HERE / "in_vllm/standin"))

import aqua_kv  # noqa: E402
from device import DEVICE  # noqa: E402

MIB = 1 << 20


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "emulated: launches kernels of an emulated GPU")


@pytest.fixture(autouse=True)
def no_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AQUA_DEVICE", "AQUA_COORDINATOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[aqua_kv.Runtime]:
    with aqua_kv.Runtime.open(
        device=DEVICE, coordinator="none", host_bytes=32 * MIB, socket_directory=str(tmp_path)
    ) as opened:
        yield opened


class Coordinator:
    def __init__(self, program: str, directory: Path) -> None:
        self.address = f"unix:{directory}/coordinator.sock"
        self.process = subprocess.Popen(
            [program, "--listen", self.address, "--data", str(directory), "--log-level", "off"],
            stdout=subprocess.PIPE, text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("listening on"), line

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def coordinator(tmp_path: Path) -> Iterator[Coordinator]:
    """One of this test's own."""
    program = os.environ.get("AQUA_COORDINATOR_BINARY")
    if not program:
        pytest.skip("AQUA_COORDINATOR_BINARY names no aqua-coordinator")
    directory = tmp_path / "coordinator"
    directory.mkdir()
    started = Coordinator(program, directory)
    try:
        yield started
    finally:
        started.kill()


class Keeper:
    def __init__(self, program: str, directory: Path) -> None:
        self.program, self.socket = program, str(directory / "keeper.sock")
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [self.program, "--socket", self.socket], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("listening on"), line


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Keeper]:
    """One of this test's own."""
    program = os.environ.get("AQUA_KEEPER_BINARY")
    if not program:
        pytest.skip("AQUA_KEEPER_BINARY names no aqua-keeper")
    started = Keeper(program, tmp_path)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait()


class Lender:
    """A process that lends: tests/lender.py, told what to do line by line."""

    def __init__(self, coordinator: str, directory: Path, lent_bytes: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "lender.py"), coordinator, str(directory), str(lent_bytes)],
            env=dict(os.environ, PYTHONPATH=str(PACKAGE)), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        assert self.answer() == {"lent": lent_bytes}

    def tell(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def answer(self) -> "dict[str, Any]":
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the lender died"
        return dict(json.loads(line))

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def lender(coordinator: Coordinator, tmp_path: Path) -> Iterator[Lender]:
    """32 MiB lent, in slabs of 4 MiB."""
    started = Lender(coordinator.address, tmp_path, 32 * MIB)
    try:
        yield started
    finally:
        started.stop()


def until(holds: Callable[[], bool], what: str) -> None:
    """Asks until it holds; what it waits for is another process's doing."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.001)


def run_python(code: str, *arguments: str, timeout: float = 60) -> "subprocess.CompletedProcess[str]":
    """A program of its own, with this package."""
    environment = dict(os.environ, PYTHONPATH=str(PACKAGE))
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environment, capture_output=True, text=True, timeout=timeout,
    )
