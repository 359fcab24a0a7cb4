# SPDX-License-Identifier: Apache-2.0
"""Layer pools: steps through streamed layers, sequences that go and come back, frames that change
with the engine's list. Every byte is compared."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Dict, Iterator, List, Optional

import numpy as np
import pytest
from conftest import MIB

import aqua_kv
from aqua_kv import BlockMove, BlockPool, Code, Error, LayerPool, LayerPoolChange, emulated

LAYERS, PLANES, BLOCK_BYTES = 4, 2, 1 << 18


class Engine:
    """24 slabs for four layers of two planes: 32 blocks with three frames, 24 with four. Its
    kernels fill the blocks that a step writes, and compare those that it reads."""

    def __init__(self, runtime: aqua_kv.Runtime, frames: int = 3, goal: str = "",
                 follows: bool = True, schedule: str = "") -> None:
        self.runtime = runtime
        self.stream = emulated.create_stream(runtime)
        self.pool = LayerPool.create(
            runtime, layers=LAYERS, planes_per_layer=PLANES, block_bytes=BLOCK_BYTES,
            device_bytes=48 * MIB, frames=frames, goal=goal,
            on_resize=self.follow if follows else None, schedule=schedule,
        )
        self.blocks = BlockPool.create(LAYERS, self.pool.usable_blocks)
        self.stamps: Dict[int, int] = {}
        self.told: List[LayerPoolChange] = []
        self.away: Dict[int, "tuple[aqua_kv.AquaTensor, list[int]]"] = {}
        self.wrong = 0
        self.steps = 0

    def step(self, reads: List[int], writes: List[int]) -> int:
        self.steps += 1
        before = {block: self.stamps[block] for block in reads}
        self.pool.begin_step(self.stream, reads, writes)
        for layer in range(LAYERS):
            planes = self.pool.begin_layer(layer)
            assert [p.data for p in planes] == [p.data for p in self.pool.planes(layer)]
            for number, plane in enumerate(planes):
                self.launch(plane.data, layer * PLANES + number, before, writes)
            self.pool.end_layer(layer)
        self.stamps.update((block, self.steps) for block in writes)
        return self.pool.end_step(blocks_used=len(reads), blocks_wanted=len(reads))

    def launch(self, data: int, plane: int, before: "dict[int, int]", writes: List[int]) -> None:
        stamp, usable = self.steps, self.pool.usable_blocks

        def kernel() -> None:
            memory = np.frombuffer(emulated.view(data, usable * BLOCK_BYTES), np.uint8)
            blocks = memory.reshape(usable, BLOCK_BYTES)
            for block, old in before.items():
                self.wrong += int((blocks[block] != (old * 8 + plane) % 251).sum())
            for block in writes:
                blocks[block] = (stamp * 8 + plane) % 251

        emulated.launch(self.runtime, kernel, self.stream)

    def read_all(self) -> int:
        """Wrong bytes of all that was written, so far."""
        step = self.step(sorted(self.stamps), [])
        emulated.synchronize(self.runtime, self.stream)
        while not self.pool.step_done(step):
            pass
        return self.wrong

    def come(self, sequence: int, count: int) -> List[int]:
        blocks = self.blocks.allocate(sequence, count)
        self.step(sorted(self.stamps), blocks)
        return blocks

    def follow(self, change: LayerPoolChange) -> None:
        self.told.append(change)
        for sequence in change.preempt:
            self.swap_out(sequence)
        for move in change.moved:
            self.stamps[move.to] = self.stamps.pop(move.from_)

    def swap_out(self, sequence: int) -> None:
        blocks = self.blocks.blocks_of(sequence)
        tensor = self.runtime.allocate(self.pool.packed_bytes(len(blocks)), f"seq {sequence}")
        self.pool.offload(blocks, tensor, self.stream)
        self.away[sequence] = tensor, [self.stamps.pop(block) for block in blocks]
        self.blocks.release(sequence)

    def swap_in(self, sequence: int) -> None:
        tensor, stamps = self.away.pop(sequence)
        blocks = self.blocks.allocate(sequence, len(stamps))
        transfer = self.pool.fetch(tensor, blocks, self.stream)
        self.stamps.update(zip(blocks, stamps))
        transfer.wait()
        assert transfer.done()


@pytest.fixture
def device(tmp_path) -> Iterator[aqua_kv.Runtime]:
    with aqua_kv.Runtime.open(
        device="emu:0", coordinator="none", host_bytes=160 * MIB, socket_directory=str(tmp_path)
    ) as opened:
        yield opened


def code_of(call) -> Optional[Code]:
    with pytest.raises(Error) as raised:
        call()
    return raised.value.code


def test_steps_through_streamed_layers_keep_every_byte(device):
    engine = Engine(device)
    pool = engine.pool
    assert (pool.layers, pool.block_bytes, pool.usable_blocks) == (LAYERS, BLOCK_BYTES, 32)
    assert [pool.usable_blocks_with(frames) for frames in (2, 3, 4, 5)] == [0, 32, 24, 0]
    assert pool.packed_bytes(3) == 3 * LAYERS * PLANES * BLOCK_BYTES
    assert engine.step([], list(range(32))) == 1
    engine.step(list(range(32)), [0, 31])
    engine.step([31, 5, 0], np.array([5], np.uint32))
    assert engine.read_all() == 0
    status = pool.status()
    assert (status.frames, status.usable_blocks, status.steps, status.reason) == (3, 32, 4, "")
    assert status.streamed_layers > 1 and status.fetched_bytes > 0 and status.written_bytes > 0
    assert status.away_bytes == status.streamed_layers * 32 * PLANES * BLOCK_BYTES


def test_with_fifo_a_layers_planes_are_those_of_the_frame_it_is_in(device):
    engine = Engine(device, schedule="fifo")
    assert len(engine.pool.planes(0)) == PLANES
    assert code_of(lambda: engine.pool.planes(3)) == Code.FAILED_PRECONDITION  # away at first
    with pytest.raises(IndexError):
        engine.pool.planes(LAYERS)
    engine.step([], [0, 17, 31])
    for _ in range(3):
        engine.step([0, 17, 31], [17])
    assert engine.read_all() == 0


def test_planes_are_arrays_of_device_memory(device):
    engine = Engine(device)
    plane = engine.pool.planes(0)[1]
    assert plane.bytes == 32 * BLOCK_BYTES
    shown = plane.array((32, BLOCK_BYTES)).__cuda_array_interface__
    assert shown["data"] == (plane.data, False)
    with pytest.raises(IndexError):
        engine.pool.planes(LAYERS)


def test_a_sequence_goes_to_a_tensor_and_comes_back_elsewhere(device):
    engine = Engine(device)
    engine.come(1, 3)
    engine.come(2, 2)
    engine.swap_out(1)
    engine.come(3, 4)
    engine.swap_in(1)
    assert engine.blocks.blocks_of(1) == [6, 7, 8]
    assert engine.read_all() == 0


def test_the_list_follows_the_frames(device):
    engine = Engine(device)
    engine.come(1, 2)
    engine.come(2, 23)
    engine.come(3, 7)
    for block in engine.blocks.blocks_of(1):
        del engine.stamps[block]
    engine.blocks.release(1)
    assert engine.pool.resize(4, engine.blocks, engine.stream)
    first, second, last = engine.told
    assert (first.preempt, first.frames, first.usable_blocks, first.done) == ((3,), 4, 24, False)
    assert second.moved == (BlockMove(2, 24, 0),) and second.moved[0].from_ == 24
    assert last == LayerPoolChange(4, 24, (), (), True)
    assert engine.blocks.blocks_of(2)[-1] == 0
    assert engine.read_all() == 0
    assert engine.pool.resize(3, engine.blocks)
    assert engine.blocks.usable_blocks == 32
    engine.swap_in(3)
    assert engine.read_all() == 0
    assert engine.pool.status().resizes == 2


def test_blocks_that_are_held_delay_a_change(device):
    engine = Engine(device, follows=False)
    engine.come(1, 30)
    assert not engine.pool.resize(4, engine.blocks)
    assert engine.blocks.resizing and engine.blocks.usable_blocks == 24
    assert code_of(lambda: engine.pool.resize(4)) is Code.FAILED_PRECONDITION
    assert code_of(lambda: engine.blocks.allocate(1, 1)) is Code.FAILED_PRECONDITION
    engine.swap_out(1)
    assert engine.pool.resize(4, engine.blocks)
    assert engine.pool.usable_blocks == engine.blocks.usable_blocks == 24


def test_with_a_goal_it_proposes_and_adapts(device):
    engine = Engine(device, frames=0, goal="capacity")
    engine.come(1, 8)
    assert engine.pool.propose() == LAYERS
    assert engine.pool.adapt(engine.blocks, engine.stream)
    status = engine.pool.status()
    assert (status.proposed_frames, status.reason) == (LAYERS, "start")
    assert engine.read_all() == 0


def test_a_discard_empties_every_block(device):
    engine = Engine(device)
    engine.come(1, 4)
    engine.pool.begin_step(engine.stream, [0], [])
    assert code_of(lambda: engine.pool.resize(4)) is Code.FAILED_PRECONDITION
    engine.pool.discard()
    assert code_of(lambda: engine.pool.step_done(1)) is Code.DATA_LOSS
    engine.stamps.clear()
    for sequence in engine.blocks.sequences():
        engine.blocks.release(sequence)
    engine.come(2, 5)
    assert engine.read_all() == 0


def test_in_on_resize_the_pool_may_be_asked_but_not_changed(device, monkeypatch):
    engine, raised, codes = Engine(device), [], []
    monkeypatch.setattr("sys.unraisablehook", lambda what: raised.append(what.exc_value))
    follow = engine.follow

    def on_resize(change: LayerPoolChange) -> None:
        follow(change)
        pool = engine.pool
        for call in (pool.discard, pool.propose, device.close,
                     lambda: pool.begin_step(0, [], []), lambda: pool.adapt(engine.blocks)):
            codes.append(code_of(call))
        assert pool.status().frames == 3 or change.done
        raise ZeroDivisionError

    engine.pool._on_resize = on_resize
    engine.come(1, 30)
    assert engine.pool.resize(4, engine.blocks)
    assert codes == [Code.FAILED_PRECONDITION] * 10
    assert [type(error) for error in raised] == [ZeroDivisionError] * 2
    assert engine.read_all() == 0


def test_bad_input_is_refused_and_changes_nothing(device, tmp_path):
    engine = Engine(device)
    pool, blocks = engine.pool, engine.blocks
    engine.come(1, 3)
    tensor = device.allocate(pool.packed_bytes(1))
    invalid = [
        lambda: pool.begin_step(engine.stream, [1, 1], []),
        lambda: pool.begin_step(engine.stream, [], [32]),
        lambda: pool.begin_step(engine.stream, range(33), []),
        lambda: pool.begin_step(12345, [], []),
        lambda: pool.step_done(0),
        lambda: pool.offload([0, 1], tensor),
        lambda: pool.fetch(tensor, [0], offset=1),
        lambda: pool.resize(2),
        lambda: pool.resize(5),
        lambda: pool.resize(4, BlockPool.create(LAYERS - 1, 32)),
        lambda: pool.adapt(BlockPool.create(LAYERS, 33)),
        lambda: pool.packed_bytes(1 << 62),
        lambda: blocks.resize(0),
        lambda: BlockPool.create(0, 1),
        lambda: Engine(device, goal="speed"),
        lambda: LayerPool.create(device, layers=2, planes_per_layer=1, block_bytes=1,
                                 device_bytes=64 * MIB),
    ]
    assert [code_of(call) for call in invalid] == [Code.INVALID_ARGUMENT] * len(invalid)
    early = [lambda: pool.begin_layer(0), lambda: pool.end_layer(0), pool.end_step,
             lambda: blocks.layer_ready(0)]
    assert [code_of(call) for call in early] == [Code.FAILED_PRECONDITION] * len(early)
    assert code_of(lambda: blocks.allocate(2, 30)) is Code.RESOURCE_EXHAUSTED
    assert code_of(lambda: blocks.allocate(2, 2**32 - 1)) is Code.RESOURCE_EXHAUSTED
    assert code_of(lambda: blocks.release(2)) is Code.NOT_FOUND
    assert code_of(lambda: blocks.moved(0)) is Code.NOT_FOUND
    for call in (lambda: pool.resize(-1), lambda: blocks.allocate(-1, 1),
                 lambda: pool.begin_step(0, [-1], []), lambda: pool.packed_bytes(-1),
                 lambda: BlockPool.create(1, 1 << 32)):
        with pytest.raises(ValueError):
            call()
    for call in (lambda: pool.resize(1.5), lambda: pool.begin_step(None, [], []),
                 lambda: pool.begin_layer("0")):
        with pytest.raises(TypeError):
            call()
    with aqua_kv.Runtime.open(
        device="emu:1", coordinator="none", host_bytes=64 * MIB, socket_directory=str(tmp_path)
    ) as other:
        with pytest.raises(ValueError, match="another runtime"):
            pool.offload([0], other.allocate(4 * MIB))
    assert engine.read_all() == 0


def test_a_list_by_itself():
    with BlockPool.create(2, 6) as blocks:
        assert blocks.allocate(1, 2) == [0, 1]
        assert blocks.allocate(2, 3) == [2, 3, 4]
        assert (blocks.layers, blocks.free_blocks, blocks.vacated) == (2, 1, True)
        assert blocks.resize(8) == []
        for layer in (1, 0):
            blocks.layer_ready(layer)
        assert blocks.allocate(3, 3) == [5, 6, 7]
        assert blocks.blocks_of(3) == [5, 6, 7] and blocks.blocks_of(9) == []
        assert blocks.sequences() == [1, 2, 3]
        blocks.release(1)
        assert blocks.resize(5) == [3]
        assert (blocks.target_blocks, blocks.resizing, blocks.vacated) == (5, True, False)
        blocks.release(3)
        assert blocks.take_moves() == [] and blocks.vacated
        for layer in (0, 1):
            blocks.layer_ready(layer)
        assert blocks.resize(3) == []
        moves = blocks.take_moves()
        assert moves == [BlockMove(2, 3, 0), BlockMove(2, 4, 1)]
        for move in moves:
            blocks.moved(move.from_)
        assert blocks.blocks_of(2) == [2, 0, 1]
        long = BlockPool.create(1, 1000)
        assert long.allocate(1, 900) == long.blocks_of(1) == list(range(900))
        assert [long.allocate(s, 1) for s in range(2, 102)] == [[b] for b in range(900, 1000)]
        assert long.sequences() == list(range(1, 102))
    assert code_of(lambda: blocks.usable_blocks) is Code.NOT_FOUND


def test_closing_and_collecting_in_any_order(device):
    engine = Engine(device)
    opened = threading.Event()
    emulated.launch(device, lambda: opened.wait(60) and None, engine.stream)
    engine.come(1, 2)
    tensor = device.allocate(engine.pool.packed_bytes(2))
    transfer = engine.pool.offload([0, 1], tensor, engine.stream)
    threading.Timer(0.2, opened.set).start()
    engine.pool.close()  # waits for the kernel and the copies
    engine.pool.close()
    assert transfer.done()
    assert code_of(lambda: engine.pool.usable_blocks) is Code.NOT_FOUND
    second = Engine(device)
    second.come(1, 1)
    emulated.synchronize(device, second.stream)
    seen = weakref.ref(second.pool)
    del second
    gc.collect()
    assert seen() is None, "its callback does not keep it"
    kept = Engine(device)
    device.close()
    assert code_of(kept.pool.status) is Code.NOT_FOUND
    kept.pool.close()
    transfer.close()
