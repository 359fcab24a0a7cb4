# SPDX-License-Identifier: Apache-2.0
"""The offloading spec moves real bytes of an emulated GPU, as vLLM's connector would have it."""

from __future__ import annotations

import sys
import threading
import types
from typing import Any

import numpy as np
import pytest
from conftest import MIB, until
from vllm_engine import BLOCKS, Engine

import aqua_kv
from aqua_kv import Code, Error, Tier, emulated


@pytest.fixture
def engine(runtime):
    started = Engine()
    started.start(runtime)
    yield started
    started.worker.shutdown()


def test_chunks_go_out_and_come_back_to_other_blocks(engine):
    engine.store([1, 2], list(range(8)))
    engine.load([1, 2], list(range(16, 24)))
    engine.load([2], [31, 0, 30, 1])
    engine.load([1], [5, 6, 7, 8], expedited=True)


def test_a_load_may_begin_and_end_inside_a_chunk(engine):
    engine.store([1, 2, 3], list(range(12)))
    engine.load([1, 2, 3], list(range(12, 20)), first=2)  # 2 of the first, 2 of the last
    engine.load([2], [25], first=3)
    engine.load([2, 3], [25, 26, 27, 28], first=1)


@pytest.mark.parametrize("blocks_per_chunk", [1, 3])
def test_groups_of_unlike_layers(runtime, blocks_per_chunk):
    engine = Engine(pages=((4096, 8192, 4096), (1024,)), blocks_per_chunk=blocks_per_chunk)
    engine.start(runtime)
    size = blocks_per_chunk
    wanted = {g: [engine.fill(g, b, 100 * g + b) for b in range(size)] for g in (0, 1)}
    keys = [engine.key(7, 0), engine.key(7, 1)]
    out = engine.manager.prepare_store(keys, engine.context)
    spec = engine.gpu_spec([range(size), range(size)], [0, 0])
    assert engine.worker.submit_store(1, spec, out.store_spec)
    result = engine.finish(1)
    assert result.success and result.transfer_size == size * (2 * 4096 + 8192 + 1024)
    engine.manager.complete_store(keys, engine.context)
    src = engine.manager.prepare_load(keys, engine.context)
    # The second group begins a block later in its chunk, where a chunk has more than one.
    skip = 1 if size > 1 else 0
    spec = engine.gpu_spec([range(10, 10 + size), range(20, 20 + size - skip)], [size, size + skip])
    assert engine.worker.submit_load(2, src, spec)
    assert engine.finish(2).success
    assert [engine.read(0, 10 + b) for b in range(size)] == wanted[0]
    assert [engine.read(1, 20 + b) for b in range(size - skip)] == wanted[1][skip:]
    engine.worker.shutdown()


def test_a_store_may_begin_inside_a_chunk(engine):
    """As with a sliding window, whose first blocks are gone."""
    wanted = [engine.fill(0, b, b) for b in (3, 4, 5)]
    out = engine.manager.prepare_store([engine.key(1)], engine.context)
    assert engine.worker.submit_store(1, engine.gpu_spec([[3, 4, 5]], [5]), out.store_spec)
    assert engine.finish(1).success
    engine.manager.complete_store(out.keys_to_store, engine.context)
    src = engine.manager.prepare_load([engine.key(1)], engine.context)
    assert engine.worker.submit_load(2, src, engine.gpu_spec([[10, 11, 12]], [1]))
    assert engine.finish(2).success
    assert [engine.read(0, b) for b in (10, 11, 12)] == wanted


def test_padding_of_pages_is_left_alone(engine):
    engine.store([1], [0, 1, 2, 3])
    padding = np.full(512, 77, np.uint8)
    place = engine._address(0, 9) + 4096
    emulated.write(engine.runtime, place, padding)
    engine.load([1], [8, 9, 10, 11])
    got = np.empty(512, np.uint8)
    emulated.read(engine.runtime, place, got)
    assert (got == 77).all()


def test_eviction_makes_room_and_what_is_left_is_right(engine):
    random = np.random.default_rng(5)
    evicted = 0
    for chunk in range(40):
        blocks = [int(b) for b in random.permutation(BLOCKS)[:4]]
        evicted += len(engine.store([chunk], blocks).evicted_keys)
        known = [c for c in range(chunk + 1) if engine.key(c) in engine.expected]
        engine.load([int(random.choice(known))], [int(b) for b in random.permutation(BLOCKS)[:4]])
    assert evicted == 32
    removed = [k for e in engine.manager.take_events() if e.removed for k in e.keys]
    assert len(removed) == evicted


def test_jobs_run_behind_the_engine_and_are_reported_once(engine):
    opened = threading.Event()
    emulated.launch(engine.runtime, lambda: opened.wait(60) and None)
    out = engine.manager.prepare_store([engine.key(1)], engine.context)
    assert engine.worker.submit_store(5, engine.gpu_spec([[0, 1, 2, 3]], [0]), out.store_spec)
    engine.poll()
    assert engine.results == {}
    threading.Timer(0, opened.set).start()
    engine.worker.wait({5, 99})  # 99: vLLM may name jobs that are over
    engine.poll()
    assert engine.results[5].success
    engine.poll()  # not a second time: poll() checks


def test_a_reclaim_in_the_middle_loses_nothing(coordinator, lender, tmp_path):
    with aqua_kv.Runtime.open(
        device="emu:0", coordinator=coordinator.address, host_bytes=64 * MIB,
        max_peer_bytes=32 * MIB, socket_directory=str(tmp_path),
    ) as runtime:
        until(lambda: runtime.status().peer.capacity_bytes == 32 * MIB, "all slabs leased")
        engine = Engine(pages=((65024, 65024),), chunks=32)
        engine.start(runtime)
        random = np.random.default_rng(6)

        def step(chunk: int) -> None:
            engine.store([chunk], [int(b) for b in random.permutation(BLOCKS)[:4]])
            known = [c for c in range(chunk + 1) if engine.key(c) in engine.expected]
            engine.load([int(random.choice(known))], list(range(4)))

        for chunk in range(40):
            step(chunk)
        assert runtime.status().peer.tensors > 0
        lender.tell("reclaim 20000")
        for chunk in range(40, 60):
            step(chunk)
        assert lender.answer() == {"returned": 32 * MIB}
        status = runtime.status()
        assert status.peer.tensors == 0 and status.evacuations > 0
        lender.tell("lend")
        lender.answer()
        until(lambda: runtime.status().peer.tensors > 0, "promoted")
        for key in list(engine.expected):
            engine.load([int.from_bytes(key[:8], "big")], list(range(8, 12)))
        # What is under way when vLLM shuts down ends first.
        job, out = engine.submit_store([100], [0, 1, 2, 3])
        engine.worker.shutdown()
        until(lambda: runtime.status().host.tensors == 0, "given back")
        assert runtime.status().peer.tensors == 0


def test_lost_memory_fails_loads_and_never_gives_other_bytes(engine, monkeypatch):
    """The library says data_loss of tensor 0, which holds chunks 0 to 3."""
    engine.store([0, 1, 4, 5, 6], list(range(20)))  # chunk 6 of the cache's is in tensor 1
    dead = engine.worker._chunks._tensors[0]
    real_offload, real_fetch = aqua_kv.Runtime.offload, aqua_kv.Runtime.fetch

    def offload(self, layout, blocks, tensor, stream=0, offset=0):
        if tensor is dead:
            raise Error(Code.DATA_LOSS, "offload: its memory died")
        return real_offload(self, layout, blocks, tensor, stream, offset)

    def fetch(self, tensor, layout, blocks, stream=0, offset=0):
        if tensor is dead:
            raise Error(Code.DATA_LOSS, "fetch: its memory died")
        return real_fetch(self, tensor, layout, blocks, stream, offset)

    monkeypatch.setattr(aqua_kv.Runtime, "offload", offload)
    monkeypatch.setattr(aqua_kv.Runtime, "fetch", fetch)
    src = engine.manager.prepare_load([engine.key(0)], engine.context)
    assert engine.worker.submit_load(90, src, engine.gpu_spec([[0, 1, 2, 3]], [0]))
    assert not engine.finish(90).success
    engine.manager.complete_load([engine.key(0)], engine.context)
    engine.load([6], [28, 29, 30, 31])  # another tensor's

    # Chunks of that tensor are stored anew, into memory that lives; its others stay lost.
    out = engine.manager.prepare_store([engine.key(c) for c in (20, 21, 22, 23)], engine.context)
    assert 0 in out.store_spec.block_ids or out.evicted_keys
    assert engine.worker.submit_store(
        91, engine.gpu_spec([list(range(16))], [0]), out.store_spec
    )
    assert engine.finish(91).success
    engine.manager.complete_store(out.keys_to_store, engine.context)
    lost = engine.worker._chunks._lost
    assert lost and not lost & set(int(c) for c in out.store_spec.block_ids)
    still = [k for k, e in engine.manager._entries.items() if e.chunk in lost]
    src = engine.manager.prepare_load(still[:1], engine.context)
    assert engine.worker.submit_load(92, src, engine.gpu_spec([[0, 1, 2, 3]], [0]))
    assert not engine.finish(92).success


def test_a_failure_is_reported_when_the_rest_has_ended(engine, monkeypatch):
    engine.store([1, 2], list(range(8)))
    real = aqua_kv.Runtime.fetch
    calls = []

    def fetch(self, *arguments, **keywords):
        calls.append(1)
        if len(calls) == 2:
            raise Error(Code.RESOURCE_EXHAUSTED, "fetch: nothing left")
        return real(self, *arguments, **keywords)

    monkeypatch.setattr(aqua_kv.Runtime, "fetch", fetch)
    opened = threading.Event()
    emulated.launch(engine.runtime, lambda: opened.wait(60) and None)
    src = engine.manager.prepare_load([engine.key(1), engine.key(2)], engine.context)
    assert engine.worker.submit_load(50, src, engine.gpu_spec([list(range(8, 16))], [0]))
    engine.poll()
    assert 50 not in engine.results  # its first chunk is still to come
    opened.set()
    assert not engine.finish(50).success


def test_jobs_that_cannot_be_are_refused_and_nothing_is_queued(engine):
    out = engine.manager.prepare_store([engine.key(1), engine.key(2)], engine.context)
    worker, chunks = engine.worker, out.store_spec
    for spec in (
        engine.gpu_spec([[0, 1, 2, 3]], [0]),  # one chunk of two
        engine.gpu_spec([list(range(9))], [0]),  # a block too many
        engine.gpu_spec([[0], [1]], [0, 0]),  # a group too many
        engine.gpu_spec([list(range(8))], [0, 0]),
    ):
        assert not worker.submit_store(1, spec, chunks)
    assert not worker.submit_store(1, engine.gpu_spec([[0, 1, 2, 3]], [0]), type(chunks)([8]))
    assert not worker.submit_store(1, engine.gpu_spec([[0, 1, 2, 3]], [0]), type(chunks)([-1]))
    assert not worker.submit_store(1, engine.gpu_spec([[0, 1, 2, 3]], [0]), object())
    assert worker.submit_store(1, engine.gpu_spec([list(range(8))], [0]), chunks)
    assert not worker.submit_store(1, engine.gpu_spec([list(range(8))], [0]), chunks)
    assert engine.finish(1).success
    worker.shutdown()
    worker.shutdown()
    assert not worker.submit_store(2, engine.gpu_spec([list(range(8))], [0]), chunks)
    assert worker.get_finished() == []


def test_a_block_that_is_not_there_fails_its_job(engine):
    out = engine.manager.prepare_store([engine.key(1)], engine.context)
    assert engine.worker.submit_store(1, engine.gpu_spec([[0, 1, 2, BLOCKS]], [0]), out.store_spec)
    assert not engine.finish(1).success
    engine.manager.complete_store(out.keys_to_store, engine.context, success=False)


def test_the_spec_opens_a_runtime_of_its_own_and_closes_it(tmp_path):
    """As in vLLM: found by name, one for both sides, sized by its options."""
    engine = Engine(
        spec_name="AquaOffloadingSpec", spec_module_path="aqua_kv.vllm",
        aqua={"socket_directory": str(tmp_path)},
    )
    assert engine.spec.get_manager() is engine.manager
    runtime = engine.spec.open_runtime("emu:0")
    assert runtime.status().host.capacity_bytes >= engine.spec.share_bytes
    engine.start(runtime)  # whose worker has yet another runtime
    assert engine.spec.get_worker(engine.caches) is engine.worker
    own = engine.worker._runtime
    assert own.status().host.tensors == 2
    engine.worker.shutdown()
    assert own.closed and not runtime.closed
    runtime.close()


def test_a_lane_follows_the_engines_stream_on_a_gpu(monkeypatch):
    """With as much of torch as it uses."""
    from aqua_kv.vllm.lanes import TorchLane

    said = []

    class Stream:
        cuda_stream = 4711

        def __init__(self, device: Any = None) -> None:
            said.append(("stream", device))

        def wait_stream(self, other: Any) -> None:
            said.append(("wait", other))

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing

        def record(self, stream: Any) -> None:
            said.append(("record", stream.cuda_stream))

        def elapsed_time(self, end: Any) -> float:
            return 1500.0

    cuda = types.SimpleNamespace(
        Stream=Stream, Event=Event, current_stream=lambda device: f"current of {device}"
    )
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    lane = TorchLane(3)
    lane.follow_engine()
    assert lane.stream == 4711
    assert lane.seconds(lane.stamp(), lane.stamp()) == 1.5
    assert said == [("stream", 3), ("wait", "current of 3"), ("record", 4711), ("record", 4711)]


@pytest.mark.parametrize(
    "extra, said",
    [
        ({"aqua": None}, "wants \"aqua\""),
        ({"aqua": {}}, "offload_bytes must be given"),
        ({"aqua": {"offload_bytes": 0}}, "offload_bytes must be given"),
        ({"aqua": {"offload_bytes": "1"}}, "offload_bytes is '1', not int"),
        ({"aqua": {"offload_bytes": True}}, "not int"),
        ({"aqua": {"offload_bytes": 1 << 30, "peer": 1}}, "no option 'peer'"),
        ({"aqua": {"offload_bytes": 1 << 30, "device": 3}}, "device is 3, not str"),
        ({"aqua": {"offload_bytes": 1 << 30, "tensor_bytes": 0}}, "must not be negative"),
        ({"aqua": {"offload_bytes": 100}}, "a chunk of 4 blocks has"),
    ],
)
def test_options_that_are_wrong_are_named(extra, said):
    with pytest.raises(ValueError, match=said):
        Engine(extra=extra)


def test_too_small_a_host_tier_is_told_at_the_start(tmp_path, runtime):
    engine = Engine(
        pages=((65024, 65024),), chunks=64, spec_name="AquaOffloadingSpec",
        spec_module_path="aqua_kv.vllm",
        aqua={"socket_directory": str(tmp_path), "host_bytes": 4 * MIB},
    )
    with pytest.raises(Error) as raised:
        engine.start(runtime)
    assert raised.value.code is Code.RESOURCE_EXHAUSTED


def test_tiers_are_the_librarys(engine):
    engine.store([1], [0, 1, 2, 3])
    assert engine.worker._chunks._tensors[0].tier is Tier.HOST
