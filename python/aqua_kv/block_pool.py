# SPDX-License-Identifier: Apache-2.0
"""BlockPool: an engine's free list of KV blocks, whose size changes while the engine runs. A block
has the same number in every layer, and low numbers are handed out first."""

from __future__ import annotations

import ctypes
from typing import Any, List, NamedTuple

from ._errors import raise_error
from ._library import lib
from ._numbers import size, uint32
from ._owned import Owned
from ._c.pool_structs import BlockPoolHandle, CBlockMove, CBlockPoolInfo

_MOST = 2**64 - 1


class BlockMove(NamedTuple):
    """A block of a sequence that goes to another number."""

    sequence: int
    from_: int
    to: int

    @classmethod
    def from_c(cls, move: Any) -> "BlockMove":
        return cls(move.sequence, getattr(move, "from"), move.to)


class BlockPool(Owned):
    """Numbers only: it belongs to no runtime. LayerPool.resize() and adapt() change its size
    together with the frames, and do all that resize(), take_moves(), moved() and layer_ready() are
    for: those serve engines whose memory grows and shrinks by other means.

    Threads: calls on one list come one after the other.
    """

    __slots__ = ()
    _free = lib.aqua_block_pool_free

    @classmethod
    def create(cls, layers: int, blocks: int) -> "BlockPool":
        """INVALID_ARGUMENT: no layers, or no blocks."""
        handle = BlockPoolHandle()
        error = lib.aqua_block_pool_create(
            uint32(layers, "layers"), uint32(blocks, "blocks"), handle)
        if error:
            raise_error(error)
        return cls(handle, None)

    def allocate(self, sequence: int, count: int) -> List[int]:
        """Appends `count` blocks to those of a sequence, and answers them. RESOURCE_EXHAUSTED: so
        many are not free, or are kept for moves; FAILED_PRECONDITION: the sequence is to be
        preempted."""
        of = size(sequence, "sequence", _MOST)
        if uint32(count, "count") > self.usable_blocks:
            count = self.usable_blocks + 1  # refused alike, and no array of any size is made
        blocks = (ctypes.c_uint32 * count)()
        error = lib.aqua_block_pool_allocate(self._handle, of, count, blocks)
        if error:
            raise_error(error)
        return list(blocks)

    def release(self, sequence: int) -> None:
        """Takes all blocks of a sequence back. Copies of its moves are over, or have not begun.
        NOT_FOUND: it has none."""
        error = lib.aqua_block_pool_release(self._handle, size(sequence, "sequence", _MOST))
        if error:
            raise_error(error)

    def blocks_of(self, sequence: int) -> List[int]:
        """In the order of the sequence's tokens; of an unknown sequence none."""
        of = size(sequence, "sequence", _MOST)
        count = ctypes.c_size_t()
        room = 64
        while True:
            blocks = (ctypes.c_uint32 * room)()
            error = lib.aqua_block_pool_get_blocks(self._handle, of, blocks, room, count)
            if error:
                raise_error(error)
            if count.value <= room:
                return list(blocks[: count.value])
            room = count.value

    def sequences(self) -> List[int]:
        """Those that hold blocks, by number: what has lost its KV when a LayerPool says
        DATA_LOSS."""
        count = ctypes.c_size_t()
        room = 64
        while True:
            sequences = (ctypes.c_uint64 * room)()
            error = lib.aqua_block_pool_get_sequences(self._handle, sequences, room, count)
            if error:
                raise_error(error)
            if count.value <= room:
                return list(sequences[: count.value])
            room = count.value

    def resize(self, blocks: int) -> List[int]:
        """Changes the size, and names the sequences to preempt, last come first. A growth that is
        not complete may be followed by another size. INVALID_ARGUMENT: to no blocks;
        FAILED_PRECONDITION: blocks are leaving for an earlier call."""
        wanted = uint32(blocks, "blocks")
        room = self.usable_blocks
        preempt, count = (ctypes.c_uint64 * room)(), ctypes.c_size_t()
        error = lib.aqua_block_pool_resize(self._handle, wanted, preempt, room, count)
        if error:
            raise_error(error)
        return list(preempt[: count.value])

    def take_moves(self) -> List[BlockMove]:
        """The moves that have a place to go, each answered once; those that wait for a preempted
        sequence's blocks follow after its release()."""
        room = self.usable_blocks
        moves, count = (CBlockMove * room)(), ctypes.c_size_t()
        error = lib.aqua_block_pool_take_moves(self._handle, moves, room, count)
        if error:
            raise_error(error)
        return [BlockMove.from_c(moves[i]) for i in range(count.value)]

    def moved(self, from_: int) -> None:
        """Says that a block was copied in every layer. NOT_FOUND: no such move was taken."""
        error = lib.aqua_block_pool_moved(self._handle, uint32(from_, "from_"))
        if error:
            raise_error(error)

    def layer_ready(self, layer: int) -> None:
        """Says that a layer has the memory of the new size. FAILED_PRECONDITION: no resize is under
        way, or blocks past its end are held; INVALID_ARGUMENT: no such layer, or twice."""
        error = lib.aqua_block_pool_layer_ready(self._handle, uint32(layer, "layer"))
        if error:
            raise_error(error)

    @property
    def layers(self) -> int:
        return int(self._info().layers)

    @property
    def usable_blocks(self) -> int:
        """Blocks that sequences may have: the lesser of the old size and the new."""
        return int(self._info().usable_blocks)

    @property
    def target_blocks(self) -> int:
        """The new size."""
        return int(self._info().target_blocks)

    @property
    def free_blocks(self) -> int:
        """That allocate() would give."""
        return int(self._info().free_blocks)

    @property
    def resizing(self) -> bool:
        """Not every layer has the new size."""
        return bool(self._info().resizing)

    @property
    def vacated(self) -> bool:
        """No block past usable_blocks is held."""
        return bool(self._info().vacated)

    def _info(self) -> Any:
        info = CBlockPoolInfo()
        error = lib.aqua_block_pool_get_info(self._handle, info)
        if error:
            raise_error(error)
        return info
