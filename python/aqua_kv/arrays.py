# SPDX-License-Identifier: Apache-2.0
"""What libaqua takes as memory: any array that says where it lies. Bytes are never copied here.

On the device: objects with __cuda_array_interface__ (PyTorch, CuPy, Numba, what this package
hands out for emulated GPUs) or DLPack. On the host: __array_interface__ (NumPy), DLPack, or the
buffer protocol.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Mapping, Tuple

from . import _dlpack


@dataclass(frozen=True)
class Span:
    """Where an array lies. `keep` is what keeps the memory alive."""

    address: int
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]  # in bytes
    item_bytes: int
    read_only: bool
    keep: object

    @property
    def bytes(self) -> int:
        count = self.item_bytes
        for size in self.shape:
            count *= size
        return count

    @property
    def contiguous(self) -> bool:
        return dense_from(self, 0)


def dense_from(span: Span, first: int) -> bool:
    """Whether indices from `first` on run over one piece of memory, in C order."""
    step = span.item_bytes
    for size, stride in zip(reversed(span.shape[first:]), reversed(span.strides[first:])):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def device_span(array: Any, what: str) -> Span:
    """An array in device memory. `what` names it in errors."""
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is not None:
        return _of_interface(interface, array)
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        kind = int(array.__dlpack_device__()[0])
        if kind in (_dlpack.CUDA, _dlpack.CUDA_HOST, _dlpack.CUDA_MANAGED):
            return _of_dlpack(array)
        raise TypeError(f"{what} is not in device memory (DLPack device type {kind})")
    if hasattr(array, "__array_interface__"):
        raise TypeError(f"{what} is in host memory; a KV cache is in the device's")
    raise TypeError(
        f"{what}: a {type(array).__name__} has neither __cuda_array_interface__ nor __dlpack__"
    )


def host_span(array: Any, what: str, *, writable: bool) -> Span:
    """A contiguous array in host memory; ValueError when it is read-only and is to be written."""
    span = _host_span(array, what)
    if writable and span.read_only:
        raise ValueError(f"{what} is read-only and would be written")
    if not span.contiguous:
        raise ValueError(f"{what} is not contiguous (shape {span.shape}, strides {span.strides})")
    return span


def _host_span(array: Any, what: str) -> Span:
    interface = getattr(array, "__array_interface__", None)
    if interface is not None and interface.get("data") is not None:
        return _of_interface(interface, array)
    if hasattr(array, "__dlpack_device__"):
        kind = int(array.__dlpack_device__()[0])
        if kind not in (_dlpack.CPU, _dlpack.CUDA_HOST):
            raise TypeError(f"{what} is not in host memory (DLPack device type {kind})")
        return _of_dlpack(array)
    if hasattr(array, "__cuda_array_interface__"):
        raise TypeError(f"{what} is in device memory; the host's is wanted")
    try:
        view = memoryview(array)
    except TypeError:
        raise TypeError(f"{what}: a {type(array).__name__} is no array and no buffer") from None
    shape, strides = tuple(view.shape or ()), tuple(view.strides or ())
    return Span(_address(view, array, what), shape, strides, view.itemsize, view.readonly, view)


def _address(view: memoryview, array: Any, what: str) -> int:
    if view.nbytes == 0:
        return 0
    if not view.readonly:
        if not view.c_contiguous:
            raise ValueError(f"{what} is not contiguous (strides {view.strides})")
        return ctypes.addressof(ctypes.c_char.from_buffer(view))
    if isinstance(array, bytes):
        return ctypes.cast(ctypes.c_char_p(array), ctypes.c_void_p).value or 0
    raise ValueError(f"{what} is a read-only buffer; pass bytes or a NumPy array")


def _of_interface(interface: Mapping[str, Any], array: Any) -> Span:
    if interface.get("mask") is not None:
        raise ValueError("masked arrays are not taken")
    address, read_only = interface["data"]
    shape = tuple(int(size) for size in interface["shape"])
    item_bytes = int(interface["typestr"][2:])
    strides = interface.get("strides")
    if strides is None:
        strides = _dlpack.c_order(shape, item_bytes)
    return Span(int(address or 0), shape, tuple(strides), item_bytes, bool(read_only), array)


def _of_dlpack(array: Any) -> Span:
    told = _dlpack.describe(array)
    return Span(
        told.address, told.shape, told.strides, told.item_bytes, told.read_only,
        (array, told.capsule),
    )
