#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What honest engines of bench/coordinator_attack.py measure, of a daemon that is made up, by a clock that is."""
import pathlib
import queue
import sys
import types
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import coordinator_attack  # noqa: E402  pylint: disable=wrong-import-position

PERIOD_S = 1.0
BLOCKED_S = 3.25
REPLY_S = 0.25


class Daemon:
    """Is the daemon, the phase and the clock. A call takes REPLY_S, and BLOCKED_S where it is one of `blocked`."""

    def __init__(self, blocked, phase_ends):
        self.now, self.calls = 0.0, 0
        self.blocked, self.phase_ends = blocked, phase_ends

    @property
    def value(self):
        return sum(self.now > end for end in self.phase_ends)

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds

    def join(self):
        return None, "secret"

    def call(self, *_):
        self.calls += 1
        self.now += BLOCKED_S if self.calls in self.blocked else REPLY_S
        return 200


def took(blocked, phase_ends):
    """Of each phase, what its calls took."""
    daemon, results = Daemon(blocked, phase_ends), queue.SimpleQueue()
    clock = types.SimpleNamespace(perf_counter=daemon.perf_counter, sleep=daemon.sleep)
    with mock.patch.object(coordinator_attack, "time", clock), mock.patch.object(coordinator_attack, "PERIOD_S", PERIOD_S):
        coordinator_attack.be_honest(daemon, daemon, results)
    assert results.get() == "ready"
    times, refused = results.get()
    assert refused == [0, 0, 0]
    return times


class Honest(unittest.TestCase):
    def test_calls_are_made_at_fixed_times(self):
        # The one due at 7 learns that all was over at 6.5.
        self.assertEqual(took({}, (2.5, 4.5, 6.5)), [[REPLY_S] * 2, [REPLY_S] * 2, [REPLY_S] * 3])

    def test_calls_that_fall_due_while_one_waits_are_made_and_their_waiting_counts(self):
        # The second one, due at 2, has its reply at 5.25; those due at 3, 4 and 5 wait for it.
        self.assertEqual(took({2}, (8.5, 8.6, 8.7))[0], [REPLY_S, BLOCKED_S, 2.5, 1.75, 1.0, REPLY_S, REPLY_S, REPLY_S])

    def test_calls_that_wait_when_the_phases_end_are_made(self):
        # The sixth, due at 6, has its reply at 9.25, when all is over; those due at 7, 8 and 9 were due before.
        self.assertEqual(took({6}, (2.5, 4.5, 8.5))[2], [REPLY_S, BLOCKED_S, 2.5, 1.75, 1.0])


if __name__ == "__main__":
    unittest.main()
