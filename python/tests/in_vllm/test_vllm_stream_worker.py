# SPDX-License-Identifier: Apache-2.0
"""Receiver of AquaConnector's workers, over a streamer of the test's own."""
from types import SimpleNamespace

import pytest

from aqua_kv.kv_stream import Arrived
from aqua_kv.vllm import stream_worker
from aqua_kv.vllm.stream_worker import Receiver


class Streamer:
    def __init__(self):
        self.in_part, self.whole = set(), []  # sequences that are not told yet
        self.given_up, self.ended = [], []

    def admit(self, of, sequences):
        pass

    def arrived(self, wanted):
        for sequence in sorted(self.in_part):
            if not wanted(sequence):
                self.in_part.remove(sequence)
                self.given_up.append(sequence)
        told, self.whole = self.whole, []
        return [Arrived(sequence=each, attempt=1, tokens=4, words=b"") for each in told]

    def cut_off(self):
        return []

    def finish(self, sequence, stream):
        self.ended.append(sequence)
        return True


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(stream_worker, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def test_a_sequence_of_which_one_rank_has_died_gives_way_after_the_patience(clock):
    streamer = Streamer()
    receiver = Receiver(streamer, "prefill", 8, 60, lambda: 0)
    streamer.in_part = {5, 6}
    receiver.finished()
    clock.now += 59
    receiver.finished()
    assert streamer.given_up == []
    streamer.in_part.remove(6)  # the other part has come
    streamer.whole = [6]
    clock.now += 2
    receiver.finished()
    assert streamer.given_up == [5]
    streamer.in_part = {5}  # another rank's part, late
    receiver.finished()
    assert streamer.given_up == [5, 5] and streamer.ended == []
    clock.now += 61  # nobody asks for the whole one either
    receiver.finished()
    assert streamer.ended == [6]
