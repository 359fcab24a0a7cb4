# SPDX-License-Identifier: Apache-2.0
"""Which streamer a worker of vLLM has while keepers come and go."""

from __future__ import annotations

from types import SimpleNamespace

from aqua_kv import Code, Error
from aqua_kv.vllm.attachment import Attachment


class FakeStreamer:
    def __init__(self):
        self.connected, self.closed = True, False

    def status(self):
        return SimpleNamespace(connected=self.connected)

    def close(self):
        self.closed = True


class Keepers:
    """Attaches to the keeper that listens, where one does."""

    def __init__(self):
        self.listens, self.streamers = True, []

    def attach(self):
        if not self.listens:
            raise Error(Code.UNAVAILABLE, "no keeper listens")
        self.streamers.append(FakeStreamer())
        return self.streamers[-1]


def step(attachment):
    """A step of the engine, with whatever the step before began done by then."""
    found = attachment.next()
    if attachment._thread is not None:
        attachment._thread.join()
    attachment._not_before = 0.0
    return found


def test_the_next_keeper_is_followed_to_once_it_listens():
    keepers = Keepers()
    attachment = Attachment(keepers.attach)
    assert step(attachment) is None, "the keeper is there"
    [first] = keepers.streamers
    first.connected = keepers.listens = False
    for _ in range(3):
        assert step(attachment) is None
    keepers.listens = True
    while (found := step(attachment)) is None:
        pass
    attachment.replace()
    assert found is attachment.streamer is keepers.streamers[1] and first.closed
    attachment.close()
    assert found.closed


def test_one_whose_keeper_has_ended_before_any_step_is_not_taken():
    keepers = Keepers()
    attachment = Attachment(keepers.attach)
    keepers.streamers[0].connected = False
    step(attachment)
    stale = keepers.streamers[1]
    stale.connected = False
    while (found := step(attachment)) is None:
        pass
    assert stale.closed and found is keepers.streamers[2]
    attachment.close()
