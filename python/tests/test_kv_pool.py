# SPDX-License-Identifier: Apache-2.0
"""KV pools with a real keeper: what one member hands over another accepts in place."""

from __future__ import annotations

import numpy as np
import pytest
from device import DEVICE

import aqua_kv
from aqua_kv import (
    Code,
    DeliveryOutcome,
    KvPool,
    KvPoolShape,
    ParcelHead,
    ParcelState,
    emulated,
)

# A block of a plane is 4 tokens of 2 heads of 32 elements.
SHAPE = KvPoolShape(layers=2, plane_block_bytes=512, tokens_per_block=4, blocks=64, format="f16 2x32")
BLOCK = (4, 2, 32)


@pytest.fixture
def join(runtime, keeper):
    """join(role): a member of the pool, which is closed at the end."""
    joined = []

    def attach(role, shape=SHAPE, **more):
        options = {"slab_bytes": 2 << 20, "reserve": 4, "keeper": keeper.socket, **more}
        joined.append(KvPool.attach(runtime, "small", role, shape, **options))
        return joined[-1]

    yield attach
    for pool in joined:
        pool.close()


def when_there_is(pool, ask):
    """What ask() answers, once that is something."""
    while not (answer := ask()):
        assert pool.wait(60_000), "nothing came"
    return answer


def when_the_keeper_has_it(pool, call):
    """Calls until what was handed over a moment ago is found."""
    while True:
        try:
            return call()
        except aqua_kv.Error as error:
            assert error.code is Code.NOT_FOUND
        pool.wait(10)


def allocate(pool, count):
    while True:
        try:
            return pool.allocate(count)
        except aqua_kv.Error as error:
            assert error.code is Code.RESOURCE_EXHAUSTED
            assert pool.wait(60_000), "no blocks came"


def layer_of(stamp, block, layer, plane):
    count = np.prod(BLOCK)
    return (np.arange(count) + 37 * stamp + 11 * block + 5 * layer + plane).astype(np.float16)


def write(runtime, pool, blocks, stamp, layers=range(SHAPE.layers)):
    for layer in layers:
        for plane in range(2):
            for i, block in enumerate(blocks):
                array = pool.plane(layer, plane).block(block, BLOCK, "<f2")
                emulated.write(runtime, array, layer_of(stamp, i, layer, plane))


def is_equal(runtime, pool, blocks, stamp):
    out = np.empty(BLOCK, np.float16)
    for layer in range(SHAPE.layers):
        for plane in range(2):
            for i, block in enumerate(blocks):
                emulated.read(runtime, pool.plane(layer, plane).block(block, BLOCK, "<f2"), out)
                if not (out.ravel() == layer_of(stamp, i, layer, plane)).all():
                    return False
    return True


def test_what_prefill_hands_over_decode_reads_in_place(runtime, join):
    prefill, decode = join("prefill"), join("decode")
    blocks = allocate(prefill, 3)
    write(runtime, prefill, blocks, 5)
    prefill.hand_over("request 7", blocks, "decode", turn=1, tokens=10, note=b"a\0b")
    assert prefill.status().used == 0
    [parcel] = when_there_is(decode, decode.accept)
    assert (parcel.id, parcel.turn, parcel.tokens, parcel.note) == ("request 7", 2, 10, b"a\0b")
    assert list(parcel.blocks) == blocks and not parcel.tail_in_doubt
    assert is_equal(runtime, decode, parcel.blocks, 5)
    assert not is_equal(runtime, decode, parcel.blocks, 6)
    assert decode.status().taken == 1
    decode.confirm(parcel)
    decode.finish(parcel)
    assert decode.status().taken == 0
    with pytest.raises(aqua_kv.Error) as raised:
        decode.finish(parcel)
    assert raised.value.code is Code.NOT_FOUND


def test_a_parcel_is_filled_a_layer_at_a_time_and_confirmed(runtime, join):
    prefill, decode = join("prefill"), join("decode")
    with prefill.open("r", "decode", turn=1) as parcel:
        blocks = allocate(prefill, 2)
        for layer in range(SHAPE.layers):
            write(runtime, prefill, blocks, 9, [layer])
        while parcel.state is ParcelState.RESERVED:
            assert prefill.wait(60_000)
        assert parcel.state is ParcelState.OPEN
        parcel.close(blocks, tokens=8, note=b"next")
        while parcel.state is ParcelState.OPEN:
            assert prefill.wait(60_000)
        assert parcel.state is ParcelState.CLOSED
        with pytest.raises(aqua_kv.Error) as raised:
            parcel.close(blocks, tokens=8)
        assert raised.value.code is Code.FAILED_PRECONDITION
    [taken] = when_there_is(decode, decode.accept)
    assert is_equal(runtime, decode, taken.blocks, 9)
    decode.confirm(taken.number)
    [told] = when_there_is(prefill, prefill.deliveries)
    assert (told.number, told.outcome) == (parcel.number, DeliveryOutcome.CONFIRMED)
    assert told.error is None and not told.returned
    decode.finish(taken.number)


def test_what_is_not_closed_is_recalled_with_its_block(join):
    prefill = join("prefill")
    with pytest.raises(KeyError), prefill.open("r", "decode", turn=1):
        raise KeyError("the model failed")
    [told] = when_there_is(prefill, prefill.deliveries)
    assert told.outcome is DeliveryOutcome.RECALLED and told.returned
    with prefill.open("r", "decode", turn=1):  # refused, and gone by the end of the block
        [told] = when_there_is(prefill, prefill.deliveries)
    assert told.outcome is DeliveryOutcome.REFUSED and told.error.code is Code.ABORTED


def test_a_lower_turn_comes_back_with_its_blocks(join):
    prefill = join("prefill")
    first, second = allocate(prefill, 1), allocate(prefill, 1)
    prefill.hand_over("r", first, "decode", turn=2, tokens=4)
    prefill.hand_over("r", second, "decode", turn=2, tokens=4)
    [back] = when_there_is(prefill, prefill.undelivered)
    assert back.error.code is Code.ABORTED and "r" in back.error.message
    assert (back.parcel.id, list(back.parcel.blocks), back.role) == ("r", second, "decode")
    assert not back.in_doubt
    prefill.release(second)


def test_who_has_a_lower_turn_is_told(join):
    prefill, decode = join("prefill"), join("decode")
    prefill.hand_over("r", allocate(prefill, 1), "decode", turn=1, tokens=4)
    [parcel] = when_there_is(decode, decode.accept)
    with prefill.open("r", "decode", turn=9):
        assert when_there_is(decode, decode.superseded) == [parcel.number]
        decode.finish(parcel)


def test_who_was_to_get_it_is_told_that_it_does_not_come(join):
    prefill, decode = join("prefill"), join("decode")
    with prefill.open("r", "decode", turn=9):
        pass  # which takes it back
    assert when_there_is(decode, decode.cut_off) == [ParcelHead("r", 9)]
    assert decode.cut_off() == []


def test_a_prefix_is_shared(join):
    prefill, decode = join("prefill"), join("decode")
    prefix = allocate(prefill, 1)
    prefill.share(prefix)
    for id in ("a", "b"):
        prefill.hand_over(id, prefix, "decode", turn=1, tokens=4)
    prefill.release(np.array(prefix, np.uint32))
    taken = []
    while len(taken) < 2:
        taken += when_there_is(decode, lambda: decode.accept(2))
    assert {parcel.blocks for parcel in taken} == {tuple(prefix)}
    for parcel in taken:
        decode.finish(parcel)


def test_its_layout_and_its_arrays_are_of_the_same_memory(runtime, join):
    pool = join("decode")
    blocks = allocate(pool, 2)
    write(runtime, pool, blocks, 4)
    with pool.layout() as layout:
        assert (layout.layers, layout.block_count, layout.plane_block_bytes) == (2, 64, 512)
        with runtime.allocate(layout.packed_bytes(2)) as kept:
            runtime.offload(layout, blocks, kept)
            write(runtime, pool, blocks, 8)
            runtime.fetch(kept, layout, blocks).wait()
    assert is_equal(runtime, pool, blocks, 4)
    plane = pool.plane(1, 1)
    whole = plane.blocks(BLOCK, "<f2").__cuda_array_interface__
    assert whole["shape"] == (64, *BLOCK) and whole["data"] == (plane.data, False)
    one = plane.block(3, BLOCK, "<f2").__cuda_array_interface__
    assert one["data"] == (plane.data + 3 * 512, False)


def test_a_quota_is_all_that_a_role_gets(join):
    prefill, decode = join("prefill", quota_blocks=3), join("decode")
    prefill.hand_over("r", allocate(prefill, 3), "decode", turn=1, tokens=12)
    with pytest.raises(aqua_kv.Error) as raised:
        prefill.allocate(1)  # what waits counts
    assert raised.value.code is Code.RESOURCE_EXHAUSTED
    [parcel] = when_there_is(decode, decode.accept)
    assert len(allocate(prefill, 3)) == 3
    decode.finish(parcel)


def test_who_looks_after_a_pool_ends_what_waits_and_moves_quotas(join, keeper):
    at = {"keeper": keeper.socket}
    four_slabs = KvPoolShape(layers=2, plane_block_bytes=32768, tokens_per_block=4, blocks=64)
    prefill, decode = (join(role, four_slabs, quota_blocks=24) for role in ("prefill", "decode"))
    prefill.hand_over("cancelled", allocate(prefill, 24), "nobody", turn=1, tokens=96)
    when_the_keeper_has_it(prefill, lambda: aqua_kv.cancel_parcel("small", "cancelled", **at))
    assert len(allocate(prefill, 24)) == 24  # they were free
    aqua_kv.move_quota("small", "decode", "prefill", 1, **at)
    assert len(allocate(prefill, 16)) == 16
    aqua_kv.release_quarantined("small", **at)
    for call, code in (
        (lambda: aqua_kv.move_quota("small", "decode", "prefill", 1, **at), Code.RESOURCE_EXHAUSTED),
        (lambda: aqua_kv.cancel_parcel("small", "cancelled", **at), Code.NOT_FOUND),
        (lambda: aqua_kv.move_quota("small", "decode", "reader", 1, **at), Code.NOT_FOUND),
        (lambda: aqua_kv.move_quota("small", "decode", "decode", 1, **at), Code.INVALID_ARGUMENT),
        (lambda: aqua_kv.release_quarantined("none", **at), Code.NOT_FOUND),
        (lambda: aqua_kv.remove_pool("small", **at), Code.FAILED_PRECONDITION),
        (lambda: aqua_kv.remove_pool("none", **at), Code.NOT_FOUND),
        (lambda: aqua_kv.cancel_parcel("small", "x", keeper=keeper.socket + ".none"), Code.UNAVAILABLE),
    ):
        with pytest.raises(aqua_kv.Error) as raised:
            call()
        assert raised.value.code is code
    with pytest.raises(ValueError, match="slabs"):
        aqua_kv.move_quota("small", "decode", "prefill", -1, **at)


def test_bad_input_is_refused_and_changes_nothing(runtime, join, keeper):
    prefill, decode = join("prefill"), join("decode")
    own, foreign = allocate(prefill, 2), allocate(decode, 1)
    for blocks in ([own[0], foreign[0]], [own[0], own[0]], [own[0], 64]):
        for call in (prefill.release, prefill.share,
                     lambda b: prefill.hand_over("r", b, "decode", turn=1, tokens=4)):
            with pytest.raises(aqua_kv.Error) as raised:
                call(blocks)
            assert raised.value.code is Code.INVALID_ARGUMENT
    for id, role, note in (("", "decode", b""), ("r", "", b""), ("r", "decode", bytes(4097))):
        with pytest.raises(aqua_kv.Error) as raised:
            prefill.hand_over(id, own, role, turn=1, tokens=4, note=note)
        assert raised.value.code is Code.INVALID_ARGUMENT
    with pytest.raises(ValueError, match="count"):
        prefill.allocate(65)
    with pytest.raises(ValueError, match="turn"):
        prefill.open("r", "decode", turn=-1)
    with pytest.raises(ValueError, match="block 64 of 64"):
        prefill.plane(0).block(64, BLOCK, "<f2")
    with pytest.raises(ValueError, match="256 bytes, not 512"):
        prefill.plane(0).blocks((256,))
    for layer, plane in ((2, 0), (0, 2)):
        with pytest.raises(aqua_kv.Error) as raised:
            prefill.plane(layer, plane)
        assert raised.value.code is Code.INVALID_ARGUMENT
    assert prefill.status().used == 2
    for shape, code in (
        (KvPoolShape(2, 512, 4, 64, format="other"), Code.FAILED_PRECONDITION),
        (KvPoolShape(0, 512, 4, 64), Code.INVALID_ARGUMENT),
    ):
        with pytest.raises(aqua_kv.Error) as raised:
            join("decode", shape)
        assert raised.value.code is code
    with pytest.raises(aqua_kv.Error) as raised:
        join("decode", keeper=keeper.socket + ".none")
    assert raised.value.code is Code.UNAVAILABLE


def test_a_runtime_closes_with_its_pools(tmp_path, keeper):
    runtime = aqua_kv.Runtime.open(
        device=DEVICE, coordinator="none", host_bytes=32 << 20, socket_directory=str(tmp_path)
    )
    pool = KvPool.attach(
        runtime, "small", "decode", SHAPE, slab_bytes=2 << 20, reserve=4, keeper=keeper.socket
    )
    runtime.close()
    for call in (pool.status, pool.accept, lambda: pool.wait(0), lambda: pool.plane(0)):
        with pytest.raises(aqua_kv.Error) as raised:
            call()
        assert raised.value.code is Code.NOT_FOUND
    pool.close()


def test_without_its_keeper_it_says_so(runtime, join, keeper):
    pool = join("prefill")
    blocks = allocate(pool, 1)
    keeper.process.kill()
    while pool.status().connected:
        assert pool.wait(60_000)
    assert pool.status().error
    with pytest.raises(aqua_kv.Error) as raised:
        pool.hand_over("r", blocks, "decode", turn=1, tokens=4)
    assert raised.value.code is Code.UNAVAILABLE
