# SPDX-License-Identifier: Apache-2.0
"""What the tests of scripts/gpu-check and scripts/gpu-build share: a folder with shell scripts in place of programs
and compilers.

Usage of each: TEST.py SCRIPTS [unittest options]: SCRIPTS is the folder with both.
"""
import os
import pathlib
import select
import shutil
import signal
import sys
import tempfile
import unittest

PATIENCE = 60  # seconds, for what takes a moment


def scripts():
    return pathlib.Path(sys.argv[1]).resolve()


def run():
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[2:]])


def readable(fd):
    return bool(select.select([fd], [], [], PATIENCE)[0])


def has_ended(pid):
    """Waits for a process that need not be ours."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return readable(fd)
    finally:
        os.close(fd)


def end_group(pid):
    """Ends the process and all that it started, if there is any left."""
    try:
        os.killpg(os.getpgid(pid), signal.SIGKILL)
    except ProcessLookupError:
        pass


class WithPrograms(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="aqua-gpu-check-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = self.folder / "out"
        self.path = self.folder / "bin"
        self.path.mkdir()

    def script(self, name, body):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/usr/bin/env bash\n{body}\n", encoding="utf-8")
        path.chmod(0o755)

    def environment(self):
        return os.environ | {"PATH": f"{self.path}:{os.environ['PATH']}"}
