# SPDX-License-Identifier: Apache-2.0
"""The device that tests run on: an emulated GPU, or the one that AQUA_TEST_DEVICE names ("cuda:0").

On a CUDA device, what aqua_kv.emulated offers tests (memory, streams, copies) is done by calls of
the driver. Kernels cannot be: `-m "not emulated"` leaves out the tests that launch some.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from typing import Any

from aqua_kv import emulated
from aqua_kv._numbers import native_stream
from aqua_kv.arrays import host_span
from aqua_kv.device import DeviceBytes

DEVICE = os.environ.get("AQUA_TEST_DEVICE", "emu:0")


@functools.lru_cache(maxsize=None)
def _entry(name: str) -> Any:
    """A call of the driver, in the form that it had in CUDA 12."""
    entry, found = ctypes.c_void_p(), ctypes.c_int()
    error = ctypes.CDLL("libcuda.so.1").cuGetProcAddress_v2(
        name.encode(), ctypes.byref(entry), 12000, ctypes.c_uint64(0), ctypes.byref(found)
    )
    assert error == 0 and entry.value, f"the driver has no {name}: CUDA error {error}"
    return ctypes.CFUNCTYPE(ctypes.c_int)(entry.value)


@functools.lru_cache(maxsize=None)
def _enter_context(_thread: int) -> None:
    """The device's primary context, which is the library's: current in this thread from now on."""
    device, context = ctypes.c_int(), ctypes.c_void_p()
    for error in (
        _entry("cuInit")(ctypes.c_uint(0)),
        _entry("cuDeviceGet")(ctypes.byref(device), ctypes.c_int(int(DEVICE.partition(":")[2] or 0))),
        _entry("cuDevicePrimaryCtxRetain")(ctypes.byref(context), device),
        _entry("cuCtxPushCurrent")(context),
    ):
        assert error == 0, f"CUDA error {error}"


def _call(name: str, *arguments: Any) -> None:
    _enter_context(threading.get_ident())
    error = _entry(name)(*arguments)
    assert error == 0, f"{name}: CUDA error {error}"


class _Memory(DeviceBytes):
    """Given back with the process."""

    def __init__(self, length: int) -> None:
        address = ctypes.c_uint64()
        _call("cuMemAlloc", ctypes.byref(address), ctypes.c_size_t(length))
        self._data, self._bytes = address.value, length


class _Stream:
    def __init__(self) -> None:
        made = ctypes.c_void_p()
        _call("cuStreamCreate", ctypes.byref(made), ctypes.c_uint(0))
        self.native = made.value

    def close(self) -> None:
        _call("cuStreamDestroy", ctypes.c_void_p(self.native))

    def __enter__(self) -> "_Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _copy(to: int, source: int, length: int, stream: Any) -> None:
    _call(
        "cuMemcpyAsync", ctypes.c_uint64(to), ctypes.c_uint64(source), ctypes.c_size_t(length),
        ctypes.c_void_p(native_stream(stream)),
    )


def _synchronize(_runtime: object, stream: Any = 0) -> None:
    _call("cuStreamSynchronize", ctypes.c_void_p(native_stream(stream)))


def _write(_runtime: object, to_device: Any, from_host: Any, stream: Any = 0) -> None:
    source = host_span(from_host, "from_host", writable=False)
    to = emulated._address(to_device, source.bytes, "to_device", written=True)
    _copy(to, source.address, source.bytes, stream)
    _synchronize(None, stream)  # so that the host's bytes are its owner's again


def _read(_runtime: object, from_device: Any, to_host: Any, stream: Any = 0) -> None:
    target = host_span(to_host, "to_host", writable=True)
    source = emulated._address(from_device, target.bytes, "from_device", written=False)
    _copy(target.address, source, target.bytes, stream)
    _synchronize(None, stream)


if not DEVICE.startswith("emu:"):
    for name, instead in {
        "allocate": lambda _runtime, length: _Memory(length),
        "create_stream": lambda _runtime: _Stream(),
        "synchronize": _synchronize,
        "write": _write,
        "read": _read,
    }.items():
        setattr(emulated, name, instead)
