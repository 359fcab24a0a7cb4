#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""layer_pool_bench --quick: every part runs, no byte is wrong, and the report has its shape. No time is judged.

Usage: layer_pool_shape_test.py LAYER_POOL_BENCH AQUA_COORDINATOR
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH, COORDINATOR = sys.argv[1:3]
SUMMARY = {"median", "p25", "p75", "min", "max", "samples"}
# The rows of each part, and what each of them has beside "part".
PARTS = {
    "step": (1, {"ratio", "written_over_fetched", "copies_over_compute", "resident_step_s", "step_s"}),
    "on_demand": (1, {"ratio", "copies_over_compute", "resident_step_s", "step_s"}),
    "links": (3, {"link_bytes_per_second", "swap_over_compute", "reckoned_frames", "planned_frames", "measured_frames",
                  "by_frames"}),
    "schedules": (3, {"link_bytes_per_second", "swap_over_compute", "fixed_frames", "fifo_frames", "fifo_ahead_frames",
                      "replayed_fifo_frames", "resident_in_step_ratio", "by_frames"}),
    "adaptive": (4, {"shape", "ratio", "frames", "best_frames", "converged_step", "filled_step", "fixed"}),
    "halved": (1, {"frames_before", "frames_after", "gone_after_steps", "back_after_steps", "stall_share",
                   "fetch_slowdown"}),
    "burst": (1, {"changes", "stalled_steps", "loaded_steps"}),
    "memory": (1, {"throughput", "bytes_ratio", "held_by_another_process_bytes", "borrowed_bytes_unchanged"}),
}


def run(*options: str) -> subprocess.CompletedProcess:
    return subprocess.run([BENCH, "--coordinator-binary", COORDINATOR, *options], check=False, capture_output=True,
                          text=True)


class Quick(unittest.TestCase):
    report: dict
    output: str

    @classmethod
    def setUpClass(cls) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "layer_pool.json"
            done = run("--quick", "--json", str(path))
            assert done.returncode == 0, done.stdout + done.stderr
            cls.output = done.stdout
            cls.report = json.loads(path.read_text(encoding="utf-8"))

    def test_says_what_it_is(self) -> None:
        self.assertEqual(self.report["benchmark"], "layer_pool")
        self.assertEqual(self.report["device"], "emulated")
        self.assertTrue(self.report["complete"])
        self.assertTrue(self.report["quick"])
        self.assertEqual(self.report["parts"], list(PARTS))

    def test_has_the_rows_of_every_part(self) -> None:
        for part, (count, keys) in PARTS.items():
            rows = [row for row in self.report["rows"] if row["part"] == part]
            self.assertEqual(len(rows), count, part)
            for row in rows:
                self.assertEqual(keys - row.keys(), set(), part)
                self.assertGreater(row["checked_bytes"], 0, part)
                for value in row.values():
                    if isinstance(value, dict):
                        self.assertEqual(value.keys(), SUMMARY, part)
                        self.assertGreaterEqual(value["samples"], 1, part)

    def test_judges_every_goal(self) -> None:
        self.assertEqual(len(self.report["goals"]), 4 + 3 + 2 * 3 + 2 * 4 + 3 + 2)
        for goal in self.report["goals"]:
            self.assertEqual(goal.keys(), {"goal", "limit", "measured", "met"})
        self.assertIn(f"of {len(self.report['goals'])} met", self.output)

    def test_says_a_line_of_each_row(self) -> None:
        said = [word for word in (line.split(" ")[0] for line in self.output.splitlines()) if word in PARTS]
        self.assertEqual(said, [row["part"] for row in self.report["rows"]])


class Options(unittest.TestCase):
    def test_a_part_that_is_none_is_refused(self) -> None:
        refused = run("--part", "steps")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("steps", refused.stdout + refused.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
