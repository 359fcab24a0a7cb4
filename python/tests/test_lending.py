# SPDX-License-Identifier: Apache-2.0
"""Two processes and a real coordinator: a consumer here, a lender elsewhere, and the bytes."""

from __future__ import annotations


import numpy as np
import pytest
from conftest import MIB, until
from kv_cache import KvCache, order, same

import aqua_kv
from aqua_kv import Code, Error, Tier, emulated


@pytest.fixture
def borrower(coordinator, tmp_path):
    wanted = []
    callbacks = aqua_kv.Callbacks(on_pins_wanted=lambda pinned, ms: wanted.append((pinned, ms)))
    with aqua_kv.Runtime.open(
        device="emu:1", coordinator=coordinator.address, name="borrower", host_bytes=64 * MIB,
        max_peer_bytes=32 * MIB, slab_bytes=4 * MIB, socket_directory=str(tmp_path),
        callbacks=callbacks,
    ) as runtime:
        runtime.pins_wanted = wanted
        yield runtime


def test_blocks_live_in_another_process_and_survive_its_reclaim(borrower, lender):
    until(lambda: borrower.status().peer.capacity_bytes == 32 * MIB, "all slabs leased")
    cache = KvCache(borrower, planes=8, blocks=128, block_bytes=8192)
    before = cache.read()
    layout = cache.layout()
    out, back = order(64, 128, 1), order(64, 128, 2)
    tensor = borrower.allocate(layout.packed_bytes(64), "seq 42")
    assert tensor.tier is Tier.PEER
    borrower.offload(layout, out, tensor).wait()
    borrower.fetch(tensor, layout, back).wait()
    assert same(cache.read(), back, before, out)

    lender.tell("reclaim 10000")
    assert lender.answer() == {"returned": 32 * MIB}
    assert tensor.tier is Tier.HOST
    cache.write(np.zeros(cache.shape, np.uint8))
    borrower.fetch(tensor, layout, back).wait()
    assert same(cache.read(), back, before, out)

    lender.tell("lend")
    assert lender.answer() == {"lent": 32 * MIB}
    until(lambda: tensor.tier is Tier.PEER, "promoted")
    cache.write(np.zeros(cache.shape, np.uint8))
    borrower.fetch(tensor, layout, back).wait()
    assert same(cache.read(), back, before, out)
    status = borrower.status()
    assert status.evacuations >= 1 and status.promotions >= 1 and status.connected
    assert status.copies.each > 0, "what an emulated GPU does of copies"
    assert status.copies.kernel == status.copies.batched == status.copies.refused == 0


def test_a_borrower_that_nobody_lends_to_says_why(borrower):
    until(lambda: bool(borrower.status().not_borrowing), "the coordinator's answer")
    assert borrower.status().coordinator_calls > 0


def test_a_pin_in_the_way_is_named_to_both_sides(borrower, lender):
    until(lambda: borrower.status().peer.capacity_bytes == 32 * MIB, "all slabs leased")
    tensor = borrower.allocate(1 * MIB, "held")
    with tensor.pin(aqua_kv.Access.WRITE):
        lender.tell("reclaim 300")
        assert lender.answer() == {"code": "DEADLINE_EXCEEDED", "holders": ["borrower"]}
        until(lambda: bool(borrower.pins_wanted), "told of the pin")
    pinned, ms_left = borrower.pins_wanted[0]
    assert (pinned[0].name, pinned[0].tensor_id, pinned[0].write_pins) == ("held", tensor.id, 1)
    assert 0 <= ms_left <= 300
    until(lambda: tensor.tier is Tier.HOST, "moved home once the pin was gone")


def test_bytes_outlive_a_lender_that_is_killed(borrower, lender):
    until(lambda: borrower.status().peer.capacity_bytes == 32 * MIB, "all slabs leased")
    cache = KvCache(borrower)
    before = cache.read()
    layout = cache.layout()
    tensor = borrower.allocate(layout.packed_bytes(64))
    assert tensor.tier is Tier.PEER
    borrower.offload(layout, range(64), tensor).wait()
    lender.stop()
    cache.write(np.zeros(cache.shape, np.uint8))
    borrower.fetch(tensor, layout, range(64)).wait()
    assert same(cache.read(), range(64), before, range(64))


def test_an_elastic_pool_lends_its_tail_and_gets_it_back(coordinator, tmp_path):
    with aqua_kv.Runtime.open(
        device="emu:2", coordinator=coordinator.address, host_bytes=4 * MIB,
        socket_directory=str(tmp_path),
    ) as runtime, aqua_kv.ElasticPool.create(runtime, planes=2, plane_bytes=8 * MIB) as pool:
        assert (pool.planes, pool.quantum_bytes, pool.total_quanta) == (2, 4 * MIB, 4)
        planes = [pool.plane(0), pool.plane(1)]
        assert planes[0].bytes == 8 * MIB == pool.usable_bytes_per_plane
        data = np.arange(2 * MIB, dtype=np.uint32)
        emulated.write(runtime, planes[1], data)
        pool.lend(2)
        assert pool.usable_bytes_per_plane == 4 * MIB
        until(lambda: pool.lent_quanta == 2, "unmapped and offered")
        with pytest.raises(Error) as raised:
            pool.lend(3)
        assert raised.value.code is Code.RESOURCE_EXHAUSTED
        with runtime.reclaim(2 * pool.quantum_bytes, 10000) as reclaim:
            progress = reclaim.wait()
        assert progress.done and progress.bytes_returned == 8 * MIB and not progress.holders
        until(lambda: pool.usable_bytes_per_plane == 8 * MIB, "mapped back")
        assert pool.plane(1).data == planes[1].data
        got = np.empty(1 * MIB, np.uint32)  # what was not lent is as it was
        emulated.read(runtime, pool.plane(1).array((4 * MIB,)), got)
        assert (got == data[: 1 * MIB]).all()
        with pytest.raises(Error) as raised:
            pool.plane(2)
        assert raised.value.code is Code.INVALID_ARGUMENT


def test_lending_more_than_there_is(runtime):
    with pytest.raises(Error) as raised:
        runtime.lend(1 << 50)
    assert raised.value.code is Code.RESOURCE_EXHAUSTED
