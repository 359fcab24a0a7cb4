# SPDX-License-Identifier: Apache-2.0
"""What a KvPool is made of, and its memory as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Tuple

from .._c.kv_pool_structs import CKvPoolShape
from .._numbers import size, text, uint32
from ..device import DeviceArray, DeviceBytes

if TYPE_CHECKING:
    from .pool import KvPool


@dataclass(frozen=True)
class KvPoolShape:
    """What the members of a pool agree on. `format`: all else that they have to, in their own words."""

    layers: int
    plane_block_bytes: int  # of one block in one plane
    tokens_per_block: int
    blocks: int
    planes_per_layer: int = 2  # keys and values, or 1
    format: str = ""

    def _to_c(self) -> CKvPoolShape:
        return CKvPoolShape(
            layers=uint32(self.layers, "shape.layers"),
            planes_per_layer=uint32(self.planes_per_layer, "shape.planes_per_layer"),
            plane_block_bytes=size(self.plane_block_bytes, "shape.plane_block_bytes"),
            tokens_per_block=uint32(self.tokens_per_block, "shape.tokens_per_block"),
            blocks=uint32(self.blocks, "shape.blocks"),
            format=text(self.format),
        )


class KvPoolPlane(DeviceBytes):
    """One plane, its blocks one after another. Valid until its pool is closed."""

    def __init__(self, pool: "KvPool", data: int) -> None:
        self.pool = pool  # keeps the mapping from being collected
        self._data = data

    @property
    def bytes(self) -> int:
        return self.pool.shape.blocks * self.pool.shape.plane_block_bytes

    def blocks(self, shape: Tuple[int, ...], typestr: str = "|u1") -> DeviceArray:
        """An array whose first axis is blocks and whose others are `shape`. ValueError: these do not
        fill a block."""
        of_block = self.pool.shape.plane_block_bytes
        whole = self.array((self.pool.shape.blocks, *shape), typestr)
        if whole.strides[0] != of_block:
            raise ValueError(f"{shape} of {typestr} takes {whole.strides[0]} bytes, not {of_block}")
        return whole

    def block(self, number: int, shape: Tuple[int, ...], typestr: str = "|u1") -> DeviceArray:
        """An array over one block. ValueError: it would reach outside of it, or there is no such."""
        of_block = self.pool.shape.plane_block_bytes
        if not 0 <= number < self.pool.shape.blocks:
            raise ValueError(f"block {number} of {self.pool.shape.blocks}")
        return KvPoolBlock(self, self._data + number * of_block, of_block).array(shape, typestr)


class KvPoolBlock(DeviceBytes):
    """One block of a plane."""

    def __init__(self, plane: KvPoolPlane, data: int, length: int) -> None:
        self.plane = plane
        self._data = data
        self._bytes = length
