# SPDX-License-Identifier: Apache-2.0
"""ElasticPool: an engine's KV cache whose tail can be lent and taken back while every pointer
stays valid. Memory leaves and returns in quanta: one slab of every plane, at the same offset,
from the high end."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from ._errors import raise_error
from ._library import lib
from ._numbers import Stream, native_stream, size
from ._owned import Owned
from ._c.structs import CPoolInfo, CPoolOptions, PoolHandle
from .device import DeviceBytes

if TYPE_CHECKING:
    from .runtime import Runtime


class PoolPlane(DeviceBytes):
    """One plane. Its upper part may be lent: ElasticPool.usable_bytes_per_plane."""

    def __init__(self, pool: "ElasticPool", data: int, length: int) -> None:
        self._pool = pool
        self._data = data
        self._bytes = length


class ElasticPool(Owned):
    """No work of a GPU may be in flight on it when it is closed (an emulated GPU's is waited for);
    reclaim first what is lent of it."""

    __slots__ = ("_runtime", "_plane_bytes")
    _free = lib.aqua_pool_free
    _settles = True

    def __init__(self, runtime: "Runtime", handle: PoolHandle, plane_bytes: int) -> None:
        super().__init__(handle, runtime._state.pools)
        self._runtime = runtime
        self._plane_bytes = plane_bytes

    def _settle(self) -> bool:
        return self._runtime._state.settle()

    @classmethod
    def create(
        cls,
        runtime: "Runtime",
        *,
        planes: int,
        plane_bytes: int,
        slab_bytes: int = 0,
        filler: bool = False,
    ) -> "ElasticPool":
        """Takes and maps all of it. `planes`: layers times two, or times one where keys and values
        share. `plane_bytes`: when nothing is lent; a multiple of slab_bytes (0: 2 MiB). `filler`:
        a slab stands in where memory is lent, for stray reads."""
        options = CPoolOptions(
            planes=size(planes, "planes"),
            plane_bytes=size(plane_bytes, "plane_bytes"),
            slab_bytes=size(slab_bytes, "slab_bytes"),
            filler=int(filler),
        )
        handle = PoolHandle()
        error = lib.aqua_pool_create(runtime._handle, options, handle)
        if error:
            raise_error(error)
        return cls(runtime, handle, plane_bytes)

    def plane(self, number: int) -> PoolPlane:
        """Its address is fixed for the pool's life."""
        address = ctypes.c_void_p()
        error = lib.aqua_pool_get_plane(self._handle, size(number, "number"), address)
        if error:
            raise_error(error)
        return PoolPlane(self, address.value or 0, self._plane_bytes)

    @property
    def planes(self) -> int:
        return int(self._info().planes)

    @property
    def quantum_bytes(self) -> int:
        return int(self._info().quantum_bytes)

    @property
    def total_quanta(self) -> int:
        return int(self._info().total_quanta)

    @property
    def lent_quanta(self) -> int:
        return int(self._info().lent_quanta)

    @property
    def usable_bytes_per_plane(self) -> int:
        """From each plane's base on; falls at once with a loan."""
        return int(self._info().usable_bytes_per_plane)

    def lend(self, quanta: int, stream: Stream = 0) -> None:
        """The engine starts nothing more in the highest `quanta` usable ones; once `stream` has
        come to this point they are offered. Get them back by Runtime.reclaim(). RESOURCE_EXHAUSTED:
        more than are usable; FAILED_PRECONDITION: the loan before this one has not been unmapped
        yet, call again."""
        error = lib.aqua_pool_lend(self._handle, size(quanta, "quanta"), native_stream(stream))
        if error:
            raise_error(error)

    def _info(self) -> Any:
        info = CPoolInfo()
        error = lib.aqua_pool_get_info(self._handle, info)
        if error:
            raise_error(error)
        return info
