# SPDX-License-Identifier: Apache-2.0
"""Microbatches that are swapped: every byte that a turn reads is the one that was written last."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from closed_within import ClosedWithin

import aqua_kv
from aqua_kv import Code, Layout, MicrobatchSwap, _callbacks, emulated

BLOCKS, BLOCK_BYTES, MICROBATCHES = 4, 512, 3


class Buffers:
    def __init__(self, runtime):
        self.runtime = runtime
        self.memory = emulated.allocate(runtime, 4 * BLOCKS * BLOCK_BYTES)
        self.planes = [
            self.memory.array((BLOCKS, BLOCK_BYTES), offset=i * BLOCKS * BLOCK_BYTES)
            for i in range(4)
        ]
        self.layouts = [
            Layout.from_arrays(self.planes[i : i + 2], planes_per_layer=2) for i in (0, 2)
        ]

    def turn(self, swap, microbatch, found, stamp, writes=(0, 1)):
        """Finds `found` in these blocks of keys, and writes `stamp` there."""
        keys = self.planes[2 * swap.begin_turn(microbatch)]
        has = np.empty((BLOCKS, BLOCK_BYTES), np.uint8)
        emulated.read(self.runtime, keys, has)
        if found:
            assert (has[list(writes)] == found).all(), microbatch
        has[list(writes)] = stamp
        emulated.write(self.runtime, keys, has)
        return swap.end_turn(writes)


@pytest.fixture
def buffers(runtime):
    return Buffers(runtime)


def test_every_byte_is_the_one_written_last(runtime, buffers):
    with MicrobatchSwap.create(runtime, buffers.layouts, microbatches=MICROBATCHES) as swap:
        for stamp in range(10, 50, 10):
            for m in range(MICROBATCHES):
                turn = buffers.turn(swap, m, stamp - 10 + m if stamp > 10 else 0, stamp + m)
        while not swap.turn_done(turn):
            emulated.synchronize(runtime)
        status = swap.status()
        assert status.turns == turn == 12 and status.foreseen + status.unforeseen == 12
        assert status.fetched_bytes > 0 and status.away_bytes > 0 and status.away_peer_bytes == 0
        swap.drop(1, [1, 3])
        before = swap.status().fetched_bytes
        buffers.turn(swap, 0, 40, 7)
        assert swap.status().fetched_bytes == before + 2 * BLOCK_BYTES, "of 1, the block still held"
        buffers.turn(swap, 1, 41, 8, writes=(0,))
        swap.clear(2)
        buffers.turn(swap, 2, 0, 9)


@pytest.mark.parametrize("closed", [False, True])
def test_buffers_outlive_their_swap_however_both_are_collected(runtime, monkeypatch, closed):
    gc.collect()  # what earlier tests have left
    freed = []
    for kind in (MicrobatchSwap, emulated.Memory):
        def free(handle, kind=kind, real=kind._free):
            freed.append(kind)
            return real(handle)

        monkeypatch.setattr(kind, "_free", staticmethod(free))

    class Engine:
        pass

    engine = Engine()
    engine.itself = engine
    engine.buffers = Buffers(runtime)
    engine.swap = MicrobatchSwap.create(runtime, engine.buffers.layouts, microbatches=MICROBATCHES)
    for m in range(MICROBATCHES):
        engine.buffers.turn(engine.swap, m, 0, 10 + m)
    if closed:
        engine.swap.close()
    del engine
    gc.collect()
    gc.collect()  # what the swap had kept
    assert freed == [MicrobatchSwap, emulated.Memory]


def test_a_swap_that_is_collected_in_a_callback_keeps_its_buffers(runtime, monkeypatch):
    buffers = Buffers(runtime)
    kept = [weakref.ref(each) for each in buffers.layouts]
    swap = MicrobatchSwap.create(runtime, buffers.layouts, microbatches=MICROBATCHES)
    with monkeypatch.context() as within:
        within.setattr(_callbacks, "inside", lambda: "callback")
        del swap
        buffers.layouts.clear()
        gc.collect()
    assert all(each() is not None for each in kept), "it is not freed before its runtime is closed"


def test_a_runtime_that_closes_frees_no_memory_below_a_call(runtime, buffers, monkeypatch):
    within = ClosedWithin(
        monkeypatch, runtime, "aqua_microbatch_swap_begin_turn", "microbatch_swaps")
    swap = MicrobatchSwap.create(runtime, buffers.layouts, microbatches=MICROBATCHES)
    assert swap.begin_turn(0) in (0, 1)
    within.join()
    assert runtime.closed and not within.freed_within


def test_what_is_refused_changes_nothing(runtime, buffers):
    def code_of(call, *arguments, **more):
        with pytest.raises(aqua_kv.Error) as raised:
            call(*arguments, **more)
        return raised.value.code

    first = buffers.layouts[0]
    for given, microbatches in (
        ([], 3), ([first], 3), (buffers.layouts, 2), ([first, first], 3), (buffers.layouts, 1),
        ([*buffers.layouts, first], 3),
    ):
        refused = code_of(MicrobatchSwap.create, runtime, given, microbatches=microbatches)
        assert refused is Code.INVALID_ARGUMENT, (len(given), microbatches)
    with MicrobatchSwap.create(runtime, buffers.layouts, microbatches=MICROBATCHES) as swap:
        assert code_of(swap.end_turn, [0]) is Code.FAILED_PRECONDITION
        assert code_of(swap.begin_turn, MICROBATCHES) is Code.INVALID_ARGUMENT
        assert code_of(swap.begin_turn, 0, 0, MICROBATCHES) is Code.INVALID_ARGUMENT
        assert swap.begin_turn(0, next=1) in (0, 1)
        assert code_of(swap.begin_turn, 1) is Code.FAILED_PRECONDITION
        for writes in ([1, 1], [BLOCKS], [0] * 5):
            assert code_of(swap.end_turn, writes) is Code.INVALID_ARGUMENT, writes
        assert code_of(swap.clear, 0) is Code.FAILED_PRECONDITION
        assert code_of(swap.turn_done, 1) is Code.INVALID_ARGUMENT
        with pytest.raises(ValueError, match="writes"):
            swap.end_turn([-1])
        assert swap.end_turn([0]) == 1
    with pytest.raises(aqua_kv.Error) as raised:
        swap.status()
    assert raised.value.code is Code.NOT_FOUND
