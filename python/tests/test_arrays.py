# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries: DLPack of both versions, on the host and on the device."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest
from kv_cache import KvCache, same

from aqua_kv import Layout, _dlpack, emulated
from aqua_kv.arrays import device_span, host_span


class OnlyDlpack:
    """A NumPy array that shows nothing but DLPack; `versions`: what __dlpack__ takes."""

    def __init__(self, array, versioned=False):
        self._array = array
        self._versioned = versioned

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()

    def __dlpack__(self, **keywords):
        if keywords and not self._versioned:
            raise TypeError("no max_version here")
        return self._array.__dlpack__()


_new = ctypes.pythonapi.PyCapsule_New
_new.restype = ctypes.py_object
_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class OfDevice:
    """Device memory by DLPack 1.0, as PyTorch gives it out."""

    def __init__(self, data, shape, *, device=_dlpack.CUDA, read_only=False, major=1, strides=None):
        self._shape = (ctypes.c_int64 * len(shape))(*shape)
        self._strides = (ctypes.c_int64 * len(shape))(*strides) if strides else None
        self._struct = _dlpack._Versioned(major, 0, None, None, int(read_only))
        tensor = self._struct.tensor
        tensor.data, tensor.byte_offset = data - 256, 256
        tensor.device_type, tensor.ndim = device, len(shape)
        tensor.type_code, tensor.type_bits, tensor.type_lanes = 1, 8, 1
        tensor.shape = ctypes.cast(self._shape, ctypes.POINTER(ctypes.c_int64))
        if self._strides:
            tensor.strides = ctypes.cast(self._strides, ctypes.POINTER(ctypes.c_int64))
        self._device = device

    def __dlpack_device__(self):
        return (self._device, 0)

    def __dlpack__(self, *, max_version=None):
        assert max_version == (1, 0)
        return _new(ctypes.addressof(self._struct), b"dltensor_versioned", None)


def test_a_host_array_by_dlpack(runtime):
    cache = KvCache(runtime)
    data = np.random.default_rng(1).integers(0, 1 << 16, (8, 128), dtype=np.uint16)
    emulated.write(runtime, cache.memory, OnlyDlpack(data))
    got = np.empty_like(data)
    emulated.read(runtime, cache.memory, OnlyDlpack(got))
    assert (got == data).all()
    with pytest.raises(ValueError, match="not contiguous"):
        emulated.write(runtime, cache.memory, OnlyDlpack(data[:, ::2]))


def test_looking_at_an_array_leaves_it_its_owners():
    data = np.arange(16)
    span = host_span(OnlyDlpack(data), "data", writable=True)
    assert (span.address, span.shape, span.item_bytes) == (data.ctypes.data, (16,), 8)
    del span
    assert (data == np.arange(16)).all()
    base = np.zeros(4)
    before = sys.getrefcount(base)
    host_span(OnlyDlpack(base), "base", writable=True)
    assert sys.getrefcount(base) == before  # the capsule has let go


def test_device_arrays_by_dlpack_make_a_layout(runtime):
    cache = KvCache(runtime)
    before = cache.read()
    step = 64 * 4096
    arrays = [OfDevice(cache.memory.data + p * step, (64, 8, 512)) for p in range(4)]
    with Layout.from_arrays(arrays) as layout:
        assert (layout.layers, layout.block_count, layout.plane_block_bytes) == (4, 64, 4096)
        tensor = runtime.allocate(layout.packed_bytes(3))
        runtime.offload(layout, [1, 2, 3], tensor)
        runtime.fetch(tensor, layout, [4, 5, 6]).wait()
    assert same(cache.read(), [4, 5, 6], before, [1, 2, 3])


def test_strides_and_read_only_are_seen():
    span = device_span(OfDevice(4096, (4, 8), strides=(16, 1), read_only=True), "array")
    assert span.strides == (16, 1) and span.read_only and not span.contiguous


def test_dlpack_that_is_of_no_use():
    with pytest.raises(TypeError, match="not in device memory"):
        device_span(OfDevice(4096, (4,), device=_dlpack.CPU), "array")
    with pytest.raises(TypeError, match="not in host memory"):
        host_span(OfDevice(4096, (4,)), "array", writable=False)
    with pytest.raises(TypeError, match="version 2"):
        device_span(OfDevice(4096, (4,), major=2), "array")

    class Odd(OfDevice):
        def __dlpack__(self, *, max_version=None):
            return object()

    with pytest.raises(TypeError, match="no usable DLPack"):
        device_span(Odd(4096, (4,)), "array")


def test_masked_arrays_are_refused():
    class Masked:
        __array_interface__ = {
            "version": 3, "data": (4096, False), "shape": (1,), "typestr": "|u1", "mask": object(),
        }

    with pytest.raises(ValueError, match="masked"):
        host_span(Masked(), "array", writable=False)


def test_streams_are_taken_by_number_or_by_object(runtime):
    tensor = runtime.allocate(16)

    class Torch:
        cuda_stream = 0

    class Core:
        def __cuda_stream__(self):
            return (0, 0)

    with emulated.create_stream(runtime) as own:
        for stream in (0, own, own.native, Torch(), Core()):
            tensor.pin(stream=stream).close()
        with tensor.pin() as pin:
            pin.release(own)
            assert pin.closed
            pin.release(own)
