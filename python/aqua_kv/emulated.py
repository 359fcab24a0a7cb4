# SPDX-License-Identifier: Apache-2.0
"""What stands in for the CUDA runtime on an emulated GPU ("emu:N"): device memory, streams,
kernels. For tests and machines without a GPU. Every call raises UNIMPLEMENTED when the runtime's
device is not emulated."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any, Callable, Dict, Union

from ._c import structs as s
from ._callbacks import being_called
from ._errors import raise_error
from ._library import lib
from ._numbers import Stream as AnyStream
from ._numbers import native_stream, size
from ._owned import Owned, ignore_not_found
from .arrays import device_span, host_span
from .device import DeviceArray, DeviceBytes
from .runtime import Runtime

__all__ = [
    "Memory", "Stream", "allocate", "create_stream", "launch", "read", "synchronize", "view", "write",
]

# A device address, or an array in device memory.
Device = Union[int, DeviceBytes, DeviceArray, Any]


class Memory(Owned, DeviceBytes):
    """Device memory. Closing it waits for the work posted so far; in a kernel it does nothing."""

    __slots__ = ("_runtime", "_data", "_bytes")
    _free = lib.aqua_emulated_free
    _settles = True

    def __init__(self, runtime: Runtime, handle: s.MemoryHandle, data: int, length: int) -> None:
        super().__init__(handle, runtime._state.memories)
        self._runtime = runtime
        self._data = data
        self._bytes = length

    def _settle(self) -> bool:
        return self._runtime._state.settle()


class Stream:
    """Closing it waits for its work. Must be closed before its runtime, or with it."""

    def __init__(self, runtime: Runtime, native: int) -> None:
        self._runtime = runtime
        self.native = native
        self._open = True

    def close(self) -> None:
        if self._open:
            self._open = False
            self._runtime._state.emulated_streams.discard(self.native)
            error = lib.aqua_emulated_stream_destroy(self._runtime._handle, self.native)
            if error:
                ignore_not_found(error)

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def allocate(runtime: Runtime, bytes: int) -> Memory:
    """RESOURCE_EXHAUSTED when the device has less free."""
    handle = s.MemoryHandle()
    data = ctypes.c_void_p()
    error = lib.aqua_emulated_allocate(runtime._handle, size(bytes, "bytes"), handle, data)
    if error:
        raise_error(error)
    return Memory(runtime, handle, data.value or 0, bytes)


def create_stream(runtime: Runtime) -> Stream:
    native = ctypes.c_size_t()
    error = lib.aqua_emulated_stream_create(runtime._handle, native)
    if error:
        raise_error(error)
    runtime._state.emulated_streams.add(native.value)
    return Stream(runtime, native.value)


def synchronize(runtime: Runtime, stream: AnyStream = 0) -> None:
    """Blocks this thread, without the GIL, until the work posted to `stream` so far is done."""
    error = lib.aqua_emulated_synchronize(runtime._handle, native_stream(stream))
    if error:
        raise_error(error)


def write(runtime: Runtime, to_device: Device, from_host: Any, stream: AnyStream = 0) -> None:
    """Writes a contiguous host array to the device, in stream order. Its bytes are copied before
    it returns. An address is taken on trust; an array must be writable and as large."""
    source = host_span(from_host, "from_host", writable=False)
    address = _address(to_device, source.bytes, "to_device", written=True)
    error = lib.aqua_emulated_write(
        runtime._handle, native_stream(stream), address, source.address, source.bytes
    )
    if error:
        raise_error(error)


def read(runtime: Runtime, from_device: Device, to_host: Any, stream: AnyStream = 0) -> None:
    """Reads into a contiguous writable host array, in stream order, and waits until it is there."""
    target = host_span(to_host, "to_host", writable=True)
    address = _address(from_device, target.bytes, "from_device", written=False)
    native = native_stream(stream)
    error = lib.aqua_emulated_read(
        runtime._handle, native, address, target.address, target.bytes
    )
    if error:
        raise_error(error)
    synchronize(runtime, native)


def launch(runtime: Runtime, kernel: Callable[[], None], stream: AnyStream = 0) -> None:
    """Runs kernel() on the stream, in order, on a thread of the device's. Inside it, and only
    there, view() follows device addresses. An exception goes to sys.unraisablehook."""
    key = next(_keys)
    _kernels[key] = kernel
    error = lib.aqua_emulated_launch(runtime._handle, native_stream(stream), _trampoline, key)
    if error:
        _kernels.pop(key, None)
        raise_error(error)


def view(address: int, bytes: int) -> memoryview:
    """Device memory as a kernel sees it. Not for use after the kernel."""
    followed: int = lib.aqua_emulated_view(size(address, "address", 2**64 - 1))
    return memoryview((ctypes.c_char * size(bytes, "bytes")).from_address(followed)).cast("B")


def _address(place: Device, wanted: int, what: str, *, written: bool) -> int:
    if isinstance(place, int):
        return size(place, what, 2**64 - 1)
    span = device_span(place, what)
    if not span.contiguous:
        raise ValueError(f"{what} is not contiguous (shape {span.shape}, strides {span.strides})")
    if written and span.read_only:
        raise ValueError(f"{what} is read-only and would be written")
    if span.bytes < wanted:
        raise ValueError(f"{what} has {span.bytes} bytes, {wanted} are wanted")
    return span.address


_keys = itertools.count(1)
_kernels: Dict[int, Callable[[], None]] = {}


def _run(key: int) -> None:
    kernel = _kernels.pop(key, None)
    if kernel is not None:
        with being_called("kernel"):
            kernel()


_trampoline = s.KernelFunction(_run)  # one for all, so that none is freed while it runs
