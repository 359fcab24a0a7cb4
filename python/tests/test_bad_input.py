# SPDX-License-Identifier: Apache-2.0
"""What is refused, and how: TypeError and ValueError before the library is asked, Error after."""

from __future__ import annotations

import ctypes



import numpy as np
import pytest
from kv_cache import KvCache

import aqua_kv
from aqua_kv import Code, Error, Layout, emulated


@pytest.fixture
def cache(runtime):
    return KvCache(runtime)


def test_a_number_of_the_wrong_kind_is_named(runtime):
    with pytest.raises(TypeError) as raised:
        runtime.reclaim(1, 0.5)
    assert str(raised.value) == "reclaim: deadline_ms: an int of milliseconds, not float"
    with pytest.raises(TypeError, match="reclaim: bytes: an int, not str"):
        runtime.reclaim("1", 5)


def test_a_profile_that_is_missing_is_named(tmp_path):
    with pytest.raises(Error) as raised:
        aqua_kv.Runtime.open(device="emu:1", coordinator="none", host_bytes=1 << 21,
                             socket_directory=str(tmp_path), profile=str(tmp_path / "none.json"))
    assert raised.value.code is Code.NOT_FOUND and "none.json" in raised.value.message


def test_an_error_carries_code_and_message(runtime):
    with pytest.raises(Error) as raised:
        runtime.allocate(1 << 40, "huge")
    assert raised.value.code is Code.RESOURCE_EXHAUSTED
    assert "free" in raised.value.message
    assert str(raised.value) == f"resource_exhausted: {raised.value.message}"


@pytest.mark.parametrize(
    "blocks, code",
    [([1, 1], Code.INVALID_ARGUMENT), ([64], Code.INVALID_ARGUMENT),
     (np.array([-1], np.int32), Code.INVALID_ARGUMENT), (range(65), Code.INVALID_ARGUMENT)],
)
def test_blocks_that_the_layout_refuses(runtime, cache, blocks, code):
    tensor = runtime.allocate(cache.layout().packed_bytes(64))
    with pytest.raises(Error) as raised:
        runtime.offload(cache.layout(), blocks, tensor)
    assert raised.value.code is code


@pytest.mark.parametrize(
    "blocks, error",
    [([-1], ValueError), ([1 << 32], ValueError), ([1.5], TypeError), ("12", TypeError),
     (b"\1\0\0\0", TypeError), (7, TypeError), (None, TypeError), ([None], TypeError),
     (np.array([1.0]), TypeError), (np.array([[1, 2]], np.int32), ValueError),
     (np.array([-1], np.int64), ValueError), (np.array([True]), TypeError)],
)
def test_blocks_that_are_none(runtime, cache, blocks, error):
    tensor = runtime.allocate(cache.layout().packed_bytes(64))
    with pytest.raises(error, match="blocks"):
        runtime.offload(cache.layout(), blocks, tensor)


def test_a_tensor_that_is_too_small_or_of_another_runtime(runtime, cache, tmp_path):
    layout = cache.layout()
    tensor = runtime.allocate(layout.packed_bytes(2))
    with pytest.raises(Error) as raised:
        runtime.fetch(tensor, layout, [1, 2, 3])
    assert raised.value.code is Code.INVALID_ARGUMENT
    with pytest.raises(Error) as raised:
        runtime.fetch(tensor, layout, [1, 2], offset=1)
    assert raised.value.code is Code.INVALID_ARGUMENT
    with aqua_kv.Runtime.open(
        device="emu:1", coordinator="none", host_bytes=2 << 20, socket_directory=str(tmp_path)
    ) as other:
        with pytest.raises(ValueError, match="another runtime"):
            other.offload(layout, [1], tensor)


@pytest.mark.parametrize(
    "call",
    [
        lambda rt, t: rt.allocate(-1),
        lambda rt, t: rt.allocate(1 << 64),
        lambda rt, t: t.pin(offset=-1),
        lambda rt, t: t.pin(bytes=-1),
        lambda rt, t: rt.lend(-1),
        lambda rt, t: rt.reclaim(1, -1),
        lambda rt, t: rt.reclaim(1, 1 << 32),
        lambda rt, t: rt.allocate(1, "a\0b"),
        lambda rt, t: aqua_kv.Runtime.open(host_bytes=-1),
        lambda rt, t: aqua_kv.Runtime.open(device="emu:0\0"),
        lambda rt, t: t.pin(stream=-1),
        lambda rt, t: rt.report(aqua_kv.LoadReport(kv_bytes_used=-1)),
        lambda rt, t: rt.set_profile(aqua_kv.LoadProfile(1.0, 1.0, -1, 0)),
        lambda rt, t: emulated.allocate(rt, -1),
    ],
)
def test_numbers_that_ctypes_would_cut_off(runtime, call):
    with pytest.raises(ValueError):
        call(runtime, runtime.allocate(16))


@pytest.mark.parametrize(
    "call",
    [
        lambda rt, t: rt.allocate(1.5),
        lambda rt, t: rt.allocate("1"),
        lambda rt, t: t.pin(stream=None),
        lambda rt, t: t.pin(stream="0"),
        lambda rt, t: rt.offload(t, [1], t),
        lambda rt, t: aqua_kv.Runtime.open(devise="emu:0"),
    ],
)
def test_things_of_another_kind(runtime, call):
    with pytest.raises((TypeError, ctypes.ArgumentError)):
        call(runtime, runtime.allocate(16))


def test_ranges_outside_the_tensor(runtime):
    tensor = runtime.allocate(16)
    for arguments in ({"offset": 16}, {"offset": 8, "bytes": 9}, {"bytes": 0}):
        with pytest.raises(Error) as raised:
            tensor.pin(**arguments)
        assert raised.value.code is Code.INVALID_ARGUMENT


def test_a_stream_that_is_none_of_the_device(runtime):
    with pytest.raises(Error) as raised:
        runtime.allocate(16).pin(stream=12345)
    assert raised.value.code is Code.INVALID_ARGUMENT


def test_layouts_of_host_memory_are_refused():
    with pytest.raises(TypeError, match="host memory|not in device memory"):
        Layout.from_arrays([np.zeros((4, 16), np.uint8)])
    with pytest.raises(TypeError, match="neither"):
        Layout.from_arrays([object()])


def test_layouts_that_cannot_be(runtime, cache):
    memory = cache.memory
    with pytest.raises(ValueError, match="not contiguous"):
        Layout.from_arrays([memory.array((4, 8, 16), strides=(1024, 32, 1))])
    with pytest.raises(ValueError, match="no blocks"):
        Layout.from_arrays([FakeDeviceArray((), None)])
    with pytest.raises(ValueError, match="backwards"):
        Layout.from_arrays([FakeDeviceArray((4, 16), (-16, 1))])
    with pytest.raises(ValueError, match="not like"):
        Layout.from_arrays([memory.array((4, 16)), memory.array((5, 16), offset=4096)])
    with pytest.raises(ValueError, match="no arrays"):
        Layout.from_arrays([])
    with pytest.raises(ValueError, match="3 planes"):
        Layout.from_arrays(cache.arrays[:3], planes_per_layer=2)
    with pytest.raises(Error) as raised:  # two blocks would share bytes
        Layout.from_arrays([memory.array((4, 16)), memory.array((4, 16), offset=32)])
    assert raised.value.code is Code.INVALID_ARGUMENT
    with pytest.raises(Error) as raised:
        Layout.make([0], block_count=1, block_stride=16, run_bytes=16)
    assert raised.value.code is Code.INVALID_ARGUMENT


def test_nothing_is_fetched_into_a_read_only_array(runtime, cache):
    frozen = FakeDeviceArray((4, 4096), None, cache.memory.data, read_only=True)
    layout = Layout.from_arrays([frozen])
    tensor = runtime.allocate(layout.packed_bytes(4))
    runtime.offload(layout, range(4), tensor).wait()  # reading it is allowed
    with pytest.raises(ValueError, match="read-only"):
        runtime.fetch(tensor, layout, range(4))


def test_arrays_over_device_memory_stay_inside_it(cache):
    for shape, keywords in (
        ((1 << 30,), {}), ((16,), {"offset": -1}), ((2, 2), {"strides": (1,)}),
        ((2,), {"strides": (-1,)}), ((0,), {}), ((16,), {"offset": cache.memory.bytes}),
    ):
        with pytest.raises(ValueError):
            cache.memory.array(shape, **keywords)


def test_host_arrays_that_cannot_be_read_or_written(runtime, cache):
    read_only = np.zeros(16, np.uint8)
    read_only.flags.writeable = False
    wide = np.zeros((4, 8), np.uint8)
    with pytest.raises(ValueError, match="to_host is read-only"):
        emulated.read(runtime, cache.memory, read_only)
    with pytest.raises(ValueError, match="to_host is read-only|read-only buffer"):
        emulated.read(runtime, cache.memory, bytes(16))
    with pytest.raises(ValueError, match="to_host is not contiguous"):
        emulated.read(runtime, cache.memory, wide[:, ::2])
    with pytest.raises(ValueError, match="from_host is not contiguous"):
        emulated.write(runtime, cache.memory, wide[:, ::2])
    with pytest.raises(ValueError, match="not contiguous"):
        emulated.write(runtime, cache.memory, memoryview(bytearray(16))[::2])
    with pytest.raises(TypeError, match="no array and no buffer"):
        emulated.write(runtime, cache.memory, "text")
    with pytest.raises(TypeError, match="device memory"):
        emulated.write(runtime, cache.memory, cache.arrays[0])
    with pytest.raises(ValueError, match="bytes are wanted|bytes, "):
        emulated.write(runtime, cache.memory.array((8,)), bytes(16))
    emulated.write(runtime, cache.memory, read_only)  # only read


def test_a_device_is_named(tmp_path):
    with pytest.raises(Error) as raised:
        aqua_kv.Runtime.open(host_bytes=1 << 21, socket_directory=str(tmp_path))
    assert raised.value.code is Code.INVALID_ARGUMENT and "$AQUA_DEVICE" in raised.value.message


def test_devices_that_are_not_there(tmp_path):
    for device in ("emu:", "tpu:0", "emu:-1"):
        with pytest.raises(Error) as raised:
            aqua_kv.Runtime.open(device=device, socket_directory=str(tmp_path))
        assert raised.value.code is Code.INVALID_ARGUMENT


class FakeDeviceArray:
    def __init__(self, shape, strides, data=4096, read_only=False):
        self.__cuda_array_interface__ = {
            "version": 3, "shape": shape, "strides": strides, "typestr": "|u1",
            "data": (data, read_only),
        }
