#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The line at the end of scripts/test."""
import pathlib
import re
import subprocess
import tempfile
import unittest

import not_proven

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Line(unittest.TestCase):
    def test_nothing_skipped_says_nothing(self):
        self.assertEqual(not_proven.line_of([]), "")

    def test_counts_by_what_is_not_proven_and_names_what_proves_it(self):
        line = not_proven.line_of(["EveryDevice/KilledBorrower.GivesAllBackScrubbed/cuda", "exporter_death.cuda",
                                   "dashboard_browser"])
        self.assertEqual(line, "NOT PROVEN HERE, 3 skipped, not passed: 2 a GPU (scripts/gpu-check, on a machine with one); "
                               "1 the dashboard in a browser (scripts/setup browser)")

    def test_what_wants_another_user_wants_root(self):
        self.assertIn("2 other users and disks (run as root)", not_proven.line_of(
            ["OwnDirectory.IsNoneOfAnotherUsersEvenForRoot", "HostileSegments.AnotherUserIsNotHeard"]))

    def test_a_build_without_a_solver_and_one_with_a_sanitizer_are_told_apart(self):
        self.assertIn("2 placement with a solver (scripts/setup build)", not_proven.line_of(
            ["Columns.NoPlacementIsBelowTheirBound", "Conflict.WhatOnlyTheSolverSees"]))
        self.assertIn("1 what a sanitizer", not_proven.line_of(["Fork.AChildOpensARuntimeOfItsOwn"]))

    def test_what_it_does_not_know_is_named(self):
        self.assertIn("1 Some.NewTest (", not_proven.line_of(["Some.NewTest"]))

    def test_each_script_that_it_names_is_there(self):
        for _, _, command in not_proven.PROOFS:
            for script in re.findall(r"scripts/[a-z-]+", command):
                self.assertTrue((ROOT / script).exists(), script)

    def test_the_programs_own_answers(self):
        program = [ROOT / "tests/not_proven.py"]
        self.assertEqual(subprocess.run(program + ["/nonexistent"], capture_output=True, check=True).stdout, b"")
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("12:GpuTest.ALaunch\n7:Python.vllm_interface_loader\n")
            file.flush()
            out = subprocess.run(program + [file.name], capture_output=True, check=True, text=True).stdout
        self.assertEqual(out.count("\n"), 1)
        self.assertIn("2 skipped, not passed: 1 a GPU", out)

    def test_says_of_how_many_where_ctest_has_left_that(self):
        with tempfile.TemporaryDirectory() as folder:
            disabled = pathlib.Path(folder, "LastTestsDisabled.log")
            disabled.write_text("12:GpuTest.ALaunch\n")
            pathlib.Path(folder, "LastTest.log").write_text("Start testing\n-----\n1/3728 Testing: Some.Test\n1/3728 Test: Some.Test\n")
            out = subprocess.run([ROOT / "tests/not_proven.py", disabled], capture_output=True, check=True, text=True).stdout
        self.assertIn("NOT PROVEN HERE, 1 of 3728 skipped, not passed: 1 a GPU", out)


if __name__ == "__main__":
    unittest.main()
