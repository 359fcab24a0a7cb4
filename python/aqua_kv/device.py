# SPDX-License-Identifier: Apache-2.0
"""Device memory that this package hands out, as arrays that others take."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Tuple

from . import _dlpack


class DeviceBytes:
    """Memory of the device at a fixed address, which arrays can be laid over: it shows itself as
    bytes by __cuda_array_interface__, so PyTorch and CuPy take it as it is."""

    __slots__ = ()
    _data: int
    _bytes: int

    @property
    def data(self) -> int:
        """Device address; a host thread must not follow it."""
        return self._data

    @property
    def bytes(self) -> int:
        return self._bytes

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
