"""What libaqua takes as memory: any array that says where it lies. Bytes are never copied here.

On the device: objects with __cuda_array_interface__ (PyTorch, CuPy, Numba, what this package
hands out for emulated GPUs) or DLPack. On the host: __array_interface__ (NumPy), DLPack, or the
buffer protocol.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Tuple

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


class DeviceBytes:
    """Memory of the device at a fixed address, which arrays can be laid over: it shows itself as
    bytes by __cuda_array_interface__, so PyTorch and CuPy take it as it is."""

    __slots__ = ()

    @property
    def data(self) -> int:
        """Device address."""
        raise NotImplementedError

    @property
    def bytes(self) -> int:
        raise NotImplementedError

    @property
    def read_only(self) -> bool:
        return False

    @property
    def __cuda_array_interface__(self) -> Mapping[str, Any]:
        return _interface(self.data, (self.bytes,), "|u1", None, self.read_only)

    def array(
        self,
        shape: Tuple[int, ...],
        typestr: str = "|u1",
        *,
        offset: int = 0,
        strides: Optional[Tuple[int, ...]] = None,
    ) -> "DeviceArray":
        """An array over part of it. `typestr` as in NumPy's array interface; `strides` in bytes,
        dense without. ValueError when it would reach outside."""
        item_bytes = int(typestr[2:])
        steps = _dlpack.c_order(shape, item_bytes) if strides is None else strides
        last = sum((n - 1) * step for n, step in zip(shape, steps))
        if len(steps) != len(shape) or any(step < 0 for step in steps) or any(n < 1 for n in shape):
            raise ValueError(f"shape {shape} with strides {strides} is not possible")
        if offset < 0 or offset + last + item_bytes > self.bytes:
            raise ValueError(
                f"an array of shape {shape} from byte {offset} on needs "
                f"{offset + last + item_bytes} bytes, there are {self.bytes}"
            )
        return DeviceArray(self, self.data + offset, shape, typestr, steps)


class DeviceArray:
    """An array over DeviceBytes, which it keeps from being collected, not from being closed."""

    def __init__(
        self,
        owner: DeviceBytes,
        data: int,
        shape: Tuple[int, ...],
        typestr: str,
        strides: Tuple[int, ...],
    ) -> None:
        self.owner = owner
        self.data = data
        self.shape = shape
        self.typestr = typestr
        self.strides = strides

    @property
    def __cuda_array_interface__(self) -> Mapping[str, Any]:
        return _interface(self.data, self.shape, self.typestr, self.strides, self.owner.read_only)


def _interface(
    data: int,
    shape: Tuple[int, ...],
    typestr: str,
    strides: Optional[Tuple[int, ...]],
    read_only: bool,
) -> Mapping[str, Any]:
    return {
        "version": 3,
        "data": (data, read_only),
        "shape": shape,
        "typestr": typestr,
        "strides": strides,
    }
