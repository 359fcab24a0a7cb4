# SPDX-License-Identifier: Apache-2.0
"""Packers from Python: plans are carried out, and what cannot be is refused."""

from __future__ import annotations

import random

import pytest

from aqua_kv import Code, Error
from aqua_kv.packing import (
    EngineBoundary,
    EngineState,
    Packer,
    Reason,
    RequestState,
    SendAs,
    ServerBoundary,
    Ways,
    divide,
    policies,
)


@pytest.mark.parametrize("policy", policies())
def test_a_fleet_is_packed_and_never_over_full(policy):
    chance = random.Random(5)
    packer = Packer.create(policy, watermark=0, block_tokens=1)
    for engine in range(1, 13):
        packer.join(engine, 1000, server=engine // 4, wake_cost=chance.random())
    tokens, moves, last = {}, 0, 0
    for _ in range(120):
        if chance.random() < 0.5:
            last += 1
            tokens[last] = chance.randint(1, 400)
            packer.arrive(last, tokens[last])
        for request in chance.sample(sorted(tokens), min(len(tokens), 3)):
            if chance.random() < 0.2:
                packer.ended(request)
                del tokens[request]
            else:
                tokens[request] += 7
                packer.grew(request, tokens[request])
        plan = packer.epoch()
        moves += len(plan.moves)
        for move in plan.moves:
            packer.moved(move.request, plan.number)
        for engine in range(1, 13):
            told = packer.engine(engine)
            assert told.held_tokens <= told.kv_tokens and told.coming == told.leaving == 0
        assert plan.certificate.engines >= plan.certificate.bound
    status = packer.status()
    assert status.moves == moves and (moves > 0) == (policy not in ("bf", "wf"))
    assert status.waiting + status.resident == len(tokens)
    assert status.held_tokens == sum(
        tokens[r] for r in tokens if packer.request(r).state is RequestState.RESIDENT)


def test_an_engine_leaves_and_another_dies():
    packer = Packer.create(watermark=0, block_tokens=1)
    for engine in (1, 2):
        packer.join(engine, 100)
    assert packer.arrive(7, 60) == (7, 1, Reason.WAKES, True)
    packer.drain(1)
    assert packer.engine(1).state is EngineState.DRAINING
    plan = packer.epoch()
    packer.failed(7, plan.number)
    assert packer.request(7).engine == 1
    plan = packer.epoch()
    assert [(m.request, m.from_, m.to, str(m.reason)) for m in plan.moves] == [(7, 1, 2, "drains")]
    assert packer.request(7).from_ == 1
    packer.moved(7, plan.number)
    assert packer.epoch().drained == [1]
    packer.gone(1)
    assert packer.lost(2) == [7] and packer.request(7).state is RequestState.WAITING
    packer.close()


def refused(code, call, *arguments, **named):
    with pytest.raises(Error) as raised:
        call(*arguments, **named)
    assert raised.value.code is code


def test_what_cannot_be_is_refused():
    refused(Code.INVALID_ARGUMENT, Packer.create, "luck")
    refused(Code.INVALID_ARGUMENT, Packer.create, watermark=0.7)
    for name in ("max_moves", "block_tokens", "bytes_per_token"):
        with pytest.raises(ValueError, match=name):
            Packer.create(**{name: 0})
    packer = Packer.create()
    packer.join(1, 1000)
    packer.arrive(1, 400)
    refused(Code.ALREADY_EXISTS, packer.join, 1, 5)
    refused(Code.RESOURCE_EXHAUSTED, packer.arrive, 2, 1001)
    refused(Code.INVALID_ARGUMENT, packer.grew, 1, 399)
    refused(Code.NOT_FOUND, packer.ended, 9)
    refused(Code.FAILED_PRECONDITION, packer.moved, 1, 1)
    with pytest.raises(ValueError, match="request is -1"):
        packer.ended(-1)
    packer.close()
    refused(Code.NOT_FOUND, packer.status)


def test_a_plan_is_divided_between_links_and_engines():
    packer = Packer.create(watermark=0, block_tokens=1, bytes_per_token=10)
    for engine in (1, 2):
        packer.join(engine, 1000, server=engine)
    for request in (1, 2, 3):
        packer.arrive(request, 100)
    packer.drain(1)
    moves = packer.epoch().moves
    assert len(moves) == 3 and moves[0].bytes == 1000
    engines = {1: EngineBoundary(1, 5000, 5000, 100), 2: EngineBoundary(2, 5000, 5000, 100)}
    servers = {1: ServerBoundary(1000, 1000), 2: ServerBoundary(1000, 1000)}
    assert sorted(divide(moves, engines, servers)) == [SendAs.KV, SendAs.TOKENS, SendAs.LATER]
    only = divide(moves, engines, servers, Ways.KV_ONLY)
    assert sorted(only) == [SendAs.KV, SendAs.LATER, SendAs.LATER]
    refused(Code.INVALID_ARGUMENT, divide, moves, {}, servers)
    assert divide([], {}) == []
