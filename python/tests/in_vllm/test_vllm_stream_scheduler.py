# SPDX-License-Identifier: Apache-2.0
"""AquaConnector in vLLM's scheduler: what is asked for, sent, taken back, loaded and dropped when."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from vllm_streams import output_of, request_of

from aqua_kv.vllm.stream_scheduler import DecodeScheduler, PrefillScheduler


def test_the_scheduler_sends_a_prompt_once_it_is_computed_and_anew_after_a_preemption():
    scheduler = PrefillScheduler(4)
    request = request_of("a", 10, {"do_remote_decode": True})
    scheduler.admit(request)
    scheduler.admit(request_of("other", 10, {}))

    def new(blocks, count, computed=0):
        return output_of(
            scheduled_new_reqs=[SimpleNamespace(
                req_id="a", block_ids=(blocks,), num_computed_tokens=computed)],
            num_scheduled_tokens={"a": count})

    def cached(blocks, computed, count, resumed=()):
        output = output_of(num_scheduled_tokens={"a": count})
        output.scheduled_cached_reqs = SimpleNamespace(
            req_ids=["a"], resumed_req_ids=set(resumed), new_block_ids=[blocks],
            num_computed_tokens=[computed])
        return output

    meta = scheduler.step(new([1, 2], 8))
    [ask] = meta.asks
    assert (ask.request, ask.tokens, meta.sends) == ("a", 10, []), "room for it is asked for at once"
    meta = scheduler.step(cached(([3, 4],), 8, 2))
    [send] = meta.sends
    assert (send.request, send.blocks, send.tokens) == ("a", (1, 2, 3), 10)
    assert (send.sequence, meta.asks) == (ask.sequence, [])
    assert scheduler.step(cached(None, 10, 1)).sends == []
    assert scheduler.step(output_of(preempted_req_ids={"a"})).cancelled == ["a"]
    meta = scheduler.step(cached(([7, 8, 9],), 0, 11, ["a"]))
    [again] = meta.sends
    assert again.blocks == (7, 8, 9) and again.sequence != send.sequence and meta.asks == []
    keep, params = scheduler.finished(request)
    assert keep and params["aqua_sequence"] == again.sequence
    assert scheduler.finished(request) == (False, None)


def test_a_request_that_ends_before_it_is_sent_keeps_no_block():
    scheduler = PrefillScheduler(4)
    request = request_of("a", 10, {"do_remote_decode": True})
    scheduler.admit(request)
    assert scheduler.finished(request) == (False, None)
    scheduler.admit(request)
    output = output_of(
        scheduled_new_reqs=[SimpleNamespace(req_id="a", block_ids=([1],), num_computed_tokens=0)],
        num_scheduled_tokens={"a": 4})
    assert len(scheduler.step(output).asks) == 1
    assert scheduler.finished(request) == (False, None)
    assert scheduler.step(output_of()).cancelled == ["a"], "the room that it was promised is another's"
    assert scheduler.step(output_of()).cancelled == []


def test_the_scheduler_loads_whole_prompts_once():
    scheduler = DecodeScheduler(8)
    params = {"do_remote_prefill": True, "aqua_sequence": 7, "aqua_tokens": 20}
    assert scheduler.matched(request_of("a", 20, {}), 0) == (0, False)
    assert scheduler.matched(request_of("a", 21, dict(params)), 0) == (0, False)
    assert scheduler.matched(request_of("a", 20, dict(params)), 8) == (0, False)
    request = request_of("a", 20, dict(params))
    assert scheduler.matched(request, 0) == (20, True)
    scheduler.allocated(request, SimpleNamespace(get_block_ids=lambda: ([4, 5, 6, 7],)), 20)
    [receive] = scheduler.step().receives
    assert (receive.sequence, receive.blocks, receive.tokens) == (7, (4, 5, 6), 20)
    assert scheduler.matched(request, 0) == (0, False), "computed here where it fails"
    scheduler.finished(request)
    assert scheduler.step().dropped == []
    scheduler.finished(request_of("b", 20, dict(params)))
    assert scheduler.step().dropped == [7]


@pytest.mark.parametrize("sequence", [None, "7", True, 7.0, -1, 1 << 53])
def test_what_a_client_made_up_is_waited_for_by_nobody(sequence):
    scheduler = DecodeScheduler(8)
    request = request_of(
        "a", 20, {"do_remote_prefill": True, "aqua_sequence": sequence, "aqua_tokens": 20})
    scheduler.finished(request)
    assert scheduler.matched(request, 0) == (0, False)
    scheduler.allocated(request, None, 0)
    meta = scheduler.step()
    assert (meta.receives, meta.dropped) == ([], [])
