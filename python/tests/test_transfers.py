# SPDX-License-Identifier: Apache-2.0
"""Blocks go out and come back, and every byte is compared."""

from __future__ import annotations

import array
import threading

import numpy as np
import pytest
from device import DEVICE
from kv_cache import KvCache, order, same

import aqua_kv
from aqua_kv import Code, Error, Tier, emulated


@pytest.mark.parametrize(
    "as_list",
    [
        list,
        tuple,
        lambda b: np.array(b, np.int32),
        lambda b: np.array(b, np.uint32),
        lambda b: np.array(b, np.int64),
        lambda b: np.repeat(np.array(b, np.int32), 2)[::2],
        lambda b: np.array(b, ">u4"),
        lambda b: array.array("H", b),
        lambda b: np.array(b, np.dtype(np.uint32).newbyteorder("=")),
    ],
)
def test_blocks_named_in_any_way_come_back_elsewhere(runtime, as_list):
    cache = KvCache(runtime)
    before = cache.read()
    out, back = order(20, 64, 1), order(20, 64, 2)
    with cache.layout() as layout, runtime.allocate(layout.packed_bytes(20), "seq") as tensor:
        sent = runtime.offload(layout, as_list(out), tensor)
        assert sent.bytes == layout.packed_bytes(20)
        sent.wait()
        cache.write(np.zeros(cache.shape, np.uint8))
        runtime.fetch(tensor, layout, as_list(back)).wait()
    assert same(cache.read(), back, before, out)


def test_a_tensor_may_be_kept_off_the_devices_own_memory(tmp_path):
    with aqua_kv.Runtime.open(
        device=DEVICE, coordinator="none", host_bytes=32 << 20, local_bytes=8 << 20,
        socket_directory=str(tmp_path),
    ) as runtime:
        assert runtime.allocate(4096).tier is Tier.LOCAL
        assert runtime.allocate(4096, off_device=True).tier is Tier.HOST


def test_only_the_listed_blocks_are_written(runtime):
    cache = KvCache(runtime)
    before = cache.read()
    layout = cache.layout()
    tensor = runtime.allocate(layout.packed_bytes(2))
    runtime.offload(layout, [1, 2], tensor)
    runtime.fetch(tensor, layout, [3, 4]).wait()
    after = cache.read()
    others = [b for b in range(64) if b not in (3, 4)]
    assert same(after, others, before, others) and same(after, [3, 4], before, [1, 2])


def test_the_packed_form_is_what_packed_offset_says(runtime):
    cache = KvCache(runtime)
    before = cache.read()
    layout = cache.layout(planes_per_layer=2)
    assert (layout.layers, layout.planes_per_layer, layout.block_count) == (2, 2, 64)
    assert (layout.plane_block_bytes, layout.block_bytes) == (4096, 4 * 4096)
    tensor = runtime.allocate(100 + layout.packed_bytes(3))
    runtime.offload(layout, [9, 4, 7], tensor, offset=100).wait()
    packed = np.empty(tensor.bytes, np.uint8)
    with tensor.pin() as pin:
        emulated.read(runtime, pin, packed)
    for layer in range(2):
        for plane in range(2):
            for index, block in enumerate((9, 4, 7)):
                at = 100 + layout.packed_offset(layer, plane, index, 3)
                assert (packed[at : at + 4096] == before[2 * layer + plane, block]).all()


def _cache(runtime, shape, seed):
    """One plane a layer in one array of device memory: what it holds, and its arrays by layer."""
    before = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    memory = emulated.allocate(runtime, before.nbytes)
    emulated.write(runtime, memory, before)
    bytes_of_layer = before[0].nbytes
    arrays = [
        memory.array(shape[1:], offset=layer * bytes_of_layer) for layer in range(shape[0])
    ]
    return memory, before, arrays


def test_a_step_moves_its_token_to_where_its_sequence_is_kept(runtime):
    memory, before, arrays = _cache(runtime, (2, 8, 3, 4, 32), 5)  # [layer][block][head][token]
    layout = aqua_kv.Layout.from_arrays(arrays, axes="HT")
    assert (layout.tokens_per_block, layout.heads) == (4, 3)
    tensor = runtime.allocate(layout.packed_bytes(2))
    pages = aqua_kv.TensorPages(2, [0, 1])
    runtime.offload(layout, [6, 1], tensor, pages=pages)
    changed = np.random.default_rng(6).integers(0, 256, before.shape, dtype=np.uint8)
    emulated.write(runtime, memory, changed)
    step = aqua_kv.KvRange(tokens=range(5, 6))
    assert layout.range_bytes(2, step) == 2 * 3 * 32
    ticket = runtime.offload(layout, [6, 1], tensor, part=step, pages=pages)
    assert ticket.bytes == 2 * 3 * 32
    runtime.fetch(tensor, layout, [6, 1]).wait()
    after = np.empty_like(before)
    emulated.read(runtime, memory, after)
    expected = changed.copy()
    expected[:, [6, 1]] = before[:, [6, 1]]
    expected[:, 1, :, 1] = changed[:, 1, :, 1]
    assert (after == expected).all()


def test_a_range_goes_to_a_layout_with_other_blocks(runtime):
    _, keys, arrays = _cache(runtime, (2, 6, 4, 3, 32), 7)  # [layer][block][token][head]
    memory, expected, others = _cache(runtime, (1, 5, 2, 2, 5, 16), 8)  # [head][run][token]
    source = aqua_kv.Layout.from_arrays(arrays, axes="TH")
    target = aqua_kv.Layout.from_arrays(others, axes="HRT")
    tensor = runtime.allocate(4096)
    part = aqua_kv.KvRange(layers=range(1, 2), tokens=range(2, 10), heads=range(1, 3))
    runtime.offload(source, [5, 0, 2], tensor, part=part, offset=64)
    runtime.fetch(
        tensor, target, [3, 1], offset=64, part=aqua_kv.KvRange(tokens=range(1, 9))
    ).wait()
    for token in range(8):
        block, within = [5, 0, 2][(2 + token) // 4], (2 + token) % 4
        to, place = [3, 1][(1 + token) // 5], (1 + token) % 5
        expected[0, to, :, :, place] = keys[1, block, within, 1:].reshape(2, 2, 16)
    after = np.empty_like(expected)
    emulated.read(runtime, memory, after)
    assert (after == expected).all()


def test_parts_that_are_none_are_refused(runtime):
    _, _, arrays = _cache(runtime, (1, 2, 4, 3, 32), 9)
    layout = aqua_kv.Layout.from_arrays(arrays, axes="TH")
    tensor = runtime.allocate(layout.packed_bytes(2))
    for part in (aqua_kv.KvRange(tokens=range(8, 9)), aqua_kv.KvRange(heads=range(0))):
        with pytest.raises(Error) as refused:
            runtime.offload(layout, [0, 1], tensor, part=part)
        assert refused.value.code == Code.INVALID_ARGUMENT
    with pytest.raises(ValueError):
        runtime.offload(layout, [0], tensor, part=aqua_kv.KvRange(tokens=range(0, 4, 2)))
    with pytest.raises(ValueError):
        runtime.offload(layout, [0, 1], tensor, pages=aqua_kv.TensorPages(2, [0]))
    with pytest.raises(ValueError):
        aqua_kv.Layout.from_arrays(arrays, axes="TT")
    with pytest.raises(ValueError):
        aqua_kv.Layout.from_arrays(arrays, axes="TXH")


def test_strided_planes_and_heads_outermost(runtime):
    """Heads outermost: a block of a plane is two runs; planes interleave in one array."""
    memory = emulated.allocate(runtime, 1 << 20)
    before = np.random.default_rng(3).integers(0, 256, (2, 16, 2, 4096), dtype=np.uint8)
    emulated.write(runtime, memory, before)
    # [head][block][plane][4096]
    layout = aqua_kv.Layout.make(
        [memory.data, memory.data + 4096], planes_per_layer=2, block_count=16, block_stride=8192,
        heads=2, head_stride=16 * 8192, run_bytes=4096,
    )
    tensor = runtime.allocate(layout.packed_bytes(4))
    runtime.offload(layout, [3, 1, 15, 8], tensor)
    runtime.fetch(tensor, layout, [0, 2, 4, 6]).wait()
    after = np.empty_like(before)
    emulated.read(runtime, memory, after)
    assert (after[:, [0, 2, 4, 6]] == before[:, [3, 1, 15, 8]]).all()


def test_mha_and_mla_describe_the_same_bytes_as_make(runtime):
    cache = KvCache(runtime)
    mha = aqua_kv.Layout.mha(
        cache.arrays[0::2], cache.arrays[1::2], block_count=64, tokens_per_block=16, kv_heads=2,
        head_dim=64, element_bytes=2,
    )
    assert (mha.layers, mha.planes_per_layer, mha.block_bytes) == (2, 2, 4 * 4096)
    mla = aqua_kv.Layout.mla(
        cache.arrays, block_count=64, tokens_per_block=16, latent_dim=128, element_bytes=2
    )
    assert (mla.layers, mla.planes_per_layer, mla.block_bytes) == (4, 1, 4 * 4096)
    before = cache.read()
    tensor = runtime.allocate(mla.packed_bytes(5))
    runtime.offload(mla, range(5), tensor)
    runtime.fetch(tensor, mha, range(10, 15)).wait()  # the same planes in the same order
    assert same(cache.read(), range(10, 15), before, range(5))


@pytest.mark.emulated
def test_a_ticket_tells_how_far_it_is_and_waiting_lets_other_threads_run(runtime):
    cache = KvCache(runtime)
    layout = cache.layout()
    tensor = runtime.allocate(layout.packed_bytes(8))
    opened = threading.Event()
    emulated.launch(runtime, lambda: assert_true(opened.wait(60)))
    ticket = runtime.offload(layout, range(8), tensor)
    assert not ticket.done() and not ticket.layer_done(0)
    waiting = threading.Event()

    def open_once_waited_for() -> None:
        waiting.wait()
        opened.set()

    helper = threading.Thread(target=open_once_waited_for)
    helper.start()
    waiting.set()
    ticket.wait()  # would never end if this thread kept the GIL
    helper.join()
    assert ticket.done() and ticket.layer_done(1)
    ticket.stream_wait(0, 1)
    with pytest.raises(Error) as raised:
        ticket.layer_done(2)
    assert raised.value.code is Code.INVALID_ARGUMENT


def assert_true(value: bool) -> None:
    assert value


@pytest.mark.emulated
def test_a_cancelled_ticket_says_so(runtime):
    cache = KvCache(runtime)
    layout = cache.layout()
    tensor = runtime.allocate(layout.packed_bytes(8))
    opened = threading.Event()
    emulated.launch(runtime, lambda: assert_true(opened.wait(60)))
    ticket = runtime.offload(layout, range(8), tensor)
    ticket.cancel()
    opened.set()
    with pytest.raises(Error) as raised:
        ticket.wait()
    assert raised.value.code is Code.CANCELLED


def test_streams_order_what_is_posted_to_them(runtime):
    cache = KvCache(runtime)
    before = cache.read()
    layout = cache.layout()
    tensor = runtime.allocate(layout.packed_bytes(4))
    with emulated.create_stream(runtime) as one, emulated.create_stream(runtime) as two:
        sent = runtime.offload(layout, [0, 1, 2, 3], tensor, one)
        # The tensor orders it after the write of the other stream.
        back = runtime.fetch(tensor, layout, [4, 5, 6, 7], two)
        back.wait()
        assert sent.done()
    assert same(cache.read(), [4, 5, 6, 7], before, [0, 1, 2, 3])


def test_a_pin_is_an_array_of_the_device(runtime):
    tensor = runtime.allocate(8192)
    with tensor.pin(aqua_kv.Access.WRITE, offset=4096) as pin:
        assert pin.bytes == 4096 and pin.tier is aqua_kv.Tier.HOST
        interface = pin.__cuda_array_interface__
        assert interface["data"] == (pin.data, False) and interface["shape"] == (4096,)
        emulated.write(runtime, pin, np.arange(1024, dtype=np.uint32))
    with tensor.pin(aqua_kv.Access.READ, offset=4096 + 4 * 1000, bytes=96) as pin:
        assert pin.__cuda_array_interface__["data"][1]
        got = np.empty(24, np.uint32)
        emulated.read(runtime, pin, got)
        assert (got == np.arange(1000, 1024)).all()
        with pytest.raises(ValueError, match="read-only"):
            emulated.write(runtime, pin, got)


@pytest.mark.emulated
def test_kernels_run_in_order_and_see_device_memory(runtime):
    memory = emulated.allocate(runtime, 4096)
    data = memory.data
    emulated.write(runtime, memory, bytes(range(256)))

    def kernel() -> None:
        view = emulated.view(data, 256)
        view[:] = bytes(reversed(view))

    emulated.launch(runtime, kernel)
    got = bytearray(256)
    emulated.read(runtime, memory, got)
    assert got == bytes(reversed(range(256)))
