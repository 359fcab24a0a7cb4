# SPDX-License-Identifier: Apache-2.0
"""Tensors: elastic handles to N bytes, which live in a neighbour's lent memory while it can spare
it and in host DRAM otherwise. A pin holds their address still."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Optional

from ._errors import raise_error
from ._library import lib
from ._numbers import Stream, native_stream, size
from ._owned import Belongings, Owned
from ._c.structs import WHOLE_TENSOR, CPinInfo, CTensorInfo, PinHandle, TensorHandle
from ._types import TIERS, Access, Tier
from .device import DeviceBytes

if TYPE_CHECKING:
    from .runtime import Runtime


class Pin(Owned, DeviceBytes):
    """Holds part of a tensor where it is. Keep it short: a reclaim waits for it, up to its
    deadline. Arrays over it (PyTorch and CuPy take the pin itself) must not be used after it."""

    __slots__ = ("_tensor", "_data", "_bytes", "_access")
    _free = lib.aqua_pin_release

    def __init__(
        self, tensor: "AquaTensor", handle: PinHandle, data: int, length: int, access: int
    ) -> None:
        super().__init__(handle, tensor._pins)
        self._tensor = tensor  # so that it is not freed before
        self._data = data
        self._bytes = length
        self._access = access

    @property
    def read_only(self) -> bool:
        return self._access == Access.READ

    @property
    def tier(self) -> Tier:
        info: Any = CPinInfo()
        error = lib.aqua_pin_get_info(self._handle, info)
        if error:
            raise_error(error)
        return TIERS[int(info.tier)]

    def release(self, last_use: Optional[Stream] = None) -> None:
        """Ends the pin. The work posted so far to its stream, or to `last_use`, was the last use.
        Does nothing when it is released."""
        if last_use is None:
            self.close()
            return
        stream = native_stream(last_use)
        if not self._open:
            return
        error = lib.aqua_pin_release_on(self._handle, stream)
        if error:
            raise_error(error)  # and is held still
        self._open = False
        self._tensor._pins.discard(self._handle)


class AquaTensor(Owned):
    """Made by Runtime.allocate()."""

    __slots__ = ("_runtime", "_pins", "_bytes")
    _free = lib.aqua_tensor_free

    def __init__(self, runtime: "Runtime", handle: TensorHandle, length: int) -> None:
        super().__init__(handle, runtime._state.tensors)
        self._runtime: "Runtime" = runtime
        self._pins: Belongings = runtime._state.pins
        self._bytes = length

    @property
    def bytes(self) -> int:
        return self._bytes

    @property
    def tier(self) -> Tier:
        """Where the bytes are. May be out of date when it returns, unless pinned."""
        tier = ctypes.c_uint32()
        error = lib.aqua_tensor_get_tier(self._handle, tier)
        if error:
            raise_error(error)
        return TIERS[tier.value]

    @property
    def id(self) -> int:
        """Unique in its runtime; for logs and callbacks."""
        return int(self._info().tensor_id)

    @property
    def name(self) -> str:
        """Cut off after 63 bytes."""
        return bytes(self._info().name).decode("utf-8", "replace")

    @property
    def lost(self) -> bool:
        """True once the bytes are gone: pins and transfers answer DATA_LOSS from then on."""
        return bool(self._info().lost)

    def pin(
        self,
        access: Access = Access.READ,
        stream: Stream = 0,
        offset: int = 0,
        bytes: Optional[int] = None,
    ) -> Pin:
        """Holds `bytes` bytes (None: all there are) from `offset` on where they are. `stream` will
        wait for earlier writes of other streams; a write pin also for reads.

        Blocks only as a write pin at the end of a move, without the GIL. A thread that holds a
        read pin of a tensor must not ask for a write pin of it: it would wait for itself.
        """
        start = size(offset, "offset")
        length = WHOLE_TENSOR if bytes is None else size(bytes, "bytes")
        handle = PinHandle()
        data = ctypes.c_void_p()
        error = lib.aqua_tensor_pin(
            self._handle, access, native_stream(stream), start, length, handle, data
        )
        if error:
            raise_error(error)
        if bytes is None:
            length = self._bytes - start
        return Pin(self, handle, data.value or 0, length, access)

    def _info(self) -> Any:
        info = CTensorInfo()
        error = lib.aqua_tensor_get_info(self._handle, info)
        if error:
            raise_error(error)
        return info
