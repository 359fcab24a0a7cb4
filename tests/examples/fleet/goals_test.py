#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What examples/fleet/run concludes from what it has measured."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "examples/fleet"))
from play.goals import goals_of  # noqa: E402
from play.process import samples  # noqa: E402

LOAD = {"wrong": [], "pauses": {"at_most_iterations": 3}, "kinds_of_moves": ["kv", "tokens"], "moves": {"kv done": 100, "kv failed": 7, "tokens done": 130, "tokens failed": 0}}
MEASURED = {"kv": {"pause_iterations_most": 3}, "tokens_over_kv": 50}
TRACE = {"pack_over_lb": 0.9, "policies": {"pack": {"off_percent": -15, "live": {"faults": []}}, "lb": {"off_percent": 15, "live": {"faults": []}}}}


def missed(report):
    return [goal["goal"].split(",")[0] for goal in goals_of(report) if not goal["met"]]


class Goals(unittest.TestCase):
    def test_what_is_just_enough_meets_them(self):
        goals = goals_of({"load": LOAD, "measured": MEASURED, "trace": TRACE})
        self.assertEqual(len(goals), 10)
        self.assertTrue(all(goal["met"] for goal in goals))
        self.assertEqual({"goal": "moves by tokens, at least", "limit": 100, "measured": 130, "met": True}, goals[2])

    def test_each_is_missed_by_its_own_figure(self):
        few = LOAD | {"wrong": ["question 3: another answer"], "moves": {"kv done": 99, "tokens done": 100}}
        self.assertEqual(missed({"load": few}), ["answers that are not those of one engine alone", "moves by kv"])
        long = LOAD | {"pauses": {"at_most_iterations": 3.1}}
        self.assertEqual(missed({"load": long}), ["iterations that 99 of 100 moves by KV under load keep their clients waiting"])
        slow = {"kv": {"pause_iterations_most": 3.1}, "tokens_over_kv": 49}
        self.assertEqual(len(missed({"measured": slow})), 2)
        off = {"pack_over_lb": 0.91, "policies": {"pack": {"off_percent": -15.1, "live": {"faults": ["refused"]}}}}
        self.assertEqual(missed({"trace": off}), ["percent that the simulated engine-seconds of pack are off",
                                                  "engine-seconds of pack over those of lb",
                                                  "faults of answers under the trace"])

    def test_engines_that_move_by_tokens_alone_are_not_held_to_other_moves(self):
        alone = LOAD | {"pauses": None, "kinds_of_moves": ["tokens"], "moves": {"kv done": 0, "tokens done": 100}}
        self.assertEqual(missed({"load": alone}), [])

    def test_on_two_servers_some_move_between_them(self):
        for moves, missing in (({"kv within servers": 100}, ["moves by KV between servers"]), ({"kv between servers": 1}, [])):
            self.assertEqual(missed({"load": LOAD | {"ways": {"done": moves}}}), missing)

    def test_what_did_not_run_has_none(self):
        self.assertEqual(goals_of({}), [])
        self.assertEqual(len(goals_of({"load": LOAD})), 4)

    def test_samples_of_a_metric_are_summed_by_their_labels(self):
        text = 'moves_total{kind="kv",outcome="done"} 3\nmoves_total{kind="kv",outcome="failed"} 1\nmoves 5\n'
        self.assertEqual(sum(samples(text, "moves_total").values()), 4)
        self.assertEqual(samples(text, "moves"), {frozenset(): 5.0})


if __name__ == "__main__":
    unittest.main()
