#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The example's two programs, with a keeper of their own: what one hands over the other has, byte for
byte, and a taker that is killed leaves it to the next.

Usage: handover_test.py KEEPER PROGRAM... [unittest's arguments]: PROGRAM is the one in C and, where
there is an interpreter for it, the one in Python. Every pair of them is tried.
"""
import itertools
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import unittest

PYTHON = sys.executable


class Process:
    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def line(self) -> str:
        """The next that it says; empty at its end, or after a minute."""
        said = b""
        while not said.endswith(b"\n") and select.select([self.process.stdout], [], [], 60)[0]:
            byte = self.process.stdout.read(1)
            if not byte:
                break
            said += byte
        return said.decode().rstrip("\n")

    def end(self) -> "tuple[int, list[str]]":
        """How it ends, and what it still says."""
        said, _ = self.process.communicate(timeout=60)
        return self.process.returncode, said.decode().splitlines()

    def rest(self) -> "list[str]":
        """What it still says; it ends well."""
        status, said = self.end()
        assert status == 0, said
        return said

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


class HandOver(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory(prefix="aqua-handover-")
        self.addCleanup(directory.cleanup)
        self.keeper = str(pathlib.Path(directory.name) / "keeper.sock")
        keeper = self.start(KEEPER, "--socket", self.keeper)
        self.assertEqual(keeper.line(), f"listening on {self.keeper}")

    def start(self, *arguments: str) -> Process:
        process = Process(*arguments)
        self.addCleanup(process.kill)
        return process

    def run_program(self, program: str, role: str, *more: str) -> Process:
        interpreter = [PYTHON, "-B"] if program.endswith(".py") else []
        return self.start(*interpreter, program, role, self.keeper, *more)

    def test_every_byte_arrives_and_the_giver_is_told(self) -> None:
        for giver, taker in itertools.product(PROGRAMS, PROGRAMS):
            with self.subTest(giver=giver, taker=taker):
                prefill = self.run_program(giver, "prefill", "request 7")
                decode = self.run_program(taker, "decode")
                self.assertEqual(decode.rest(), [
                    "request 7: accepted under turn 2, 128 tokens, pending token 42",
                    "request 7: 0 bytes are wrong",
                    "request 7: finished"])
                self.assertEqual(prefill.rest(), ["request 7: handed over in 8 blocks", "request 7: confirmed"])

    def test_a_taker_killed_before_it_confirms_leaves_it_to_the_next_under_a_higher_turn(self) -> None:
        for giver, taker, successor in itertools.product(PROGRAMS, PROGRAMS, PROGRAMS):
            with self.subTest(giver=giver, taker=taker, successor=successor):
                prefill = self.run_program(giver, "prefill", "request 8")
                killed = self.run_program(taker, "decode", "hold")
                self.assertIn("accepted under turn 2", killed.line())
                self.assertEqual(killed.line(), "request 8: 0 bytes are wrong")
                killed.kill()
                self.assertEqual(self.run_program(successor, "decode").rest(), [
                    "request 8: accepted under turn 3, 128 tokens, pending token 42",
                    "request 8: 0 bytes are wrong",
                    "request 8: finished"])
                self.assertEqual(prefill.rest(), ["request 8: handed over in 8 blocks", "request 8: confirmed"])

    def test_a_request_that_is_spoken_for_under_a_higher_turn_is_refused(self) -> None:
        for program in PROGRAMS:
            with self.subTest(program=program):
                first = self.run_program(program, "prefill", "request 9")
                self.assertEqual(first.line(), "request 9: handed over in 8 blocks")
                decode = self.run_program(program, "decode", "hold")
                self.assertIn("accepted under turn 2", decode.line())
                second = self.run_program(program, "prefill", "request 9")
                status, said = second.end()
                self.assertEqual(status, 1)
                self.assertRegex(said[-1], "^request 9: .*turn")
                self.assertEqual(decode.line(), "request 9: 0 bytes are wrong")
                decode.process.stdin.write(b"\n")
                self.assertEqual(decode.rest(), ["request 9: finished"])
                self.assertEqual(first.rest(), ["request 9: confirmed"])


KEEPER, *named = sys.argv[1:]
PROGRAMS = [word for word in named if os.path.isfile(word)]
sys.argv[1:] = [word for word in named if word not in PROGRAMS]

if __name__ == "__main__":
    assert PROGRAMS, "no program is named"
    unittest.main()
