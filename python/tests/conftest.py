"""Fixtures: an emulated GPU, a real coordinator, processes of their own.

AQUA_LIBRARY names the libaqua.so under test, AQUA_COORDINATOR_BINARY the daemon.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Iterator, List

import pytest

HERE = Path(__file__).parent
PACKAGE = HERE.parent
sys.path.insert(0, str(PACKAGE))
try:
    import vllm  # noqa: F401
except ImportError:
    sys.path.append(str(HERE / "standin"))

import aqua_kv  # noqa: E402

MIB = 1 << 20


@pytest.fixture(autouse=True)
def no_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AQUA_DEVICE", "AQUA_COORDINATOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[aqua_kv.Runtime]:
    with aqua_kv.Runtime.open(
        device="emu:0", coordinator="none", host_bytes=32 * MIB, socket_directory=str(tmp_path)
    ) as opened:
        yield opened


@pytest.fixture
def coordinator(tmp_path: Path) -> Iterator[str]:
    """Address of a coordinator of this test's own."""
    program = os.environ.get("AQUA_COORDINATOR_BINARY")
    if not program:
        pytest.skip("AQUA_COORDINATOR_BINARY names no aqua-coordinator")
    address = f"unix:{tmp_path}/coordinator.sock"
    daemon = subprocess.Popen(
        [program, "--listen", address, "--data", str(tmp_path / "data"), "--log-level", "off"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert daemon.stdout is not None
        said: List[str] = []
        for line in daemon.stdout:  # ends when the daemon does
            said.append(line)
            if "listening" in line:
                break
        else:
            pytest.fail("the coordinator did not start: " + "".join(said))
        yield address
    finally:
        daemon.terminate()
        daemon.wait(timeout=30)


def run_python(code: str, *arguments: str, timeout: float = 60) -> "subprocess.CompletedProcess[str]":
    """A program of its own, with this package."""
    environment = dict(os.environ, PYTHONPATH=str(PACKAGE))
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environment, capture_output=True, text=True, timeout=timeout,
    )
