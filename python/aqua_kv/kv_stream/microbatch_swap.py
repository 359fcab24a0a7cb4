# SPDX-License-Identifier: Apache-2.0
"""MicrobatchSwap: of the microbatches of a pipeline stage that take turns only the one that is
computed and the one that comes next have their KV on the device.

    swap = aqua_kv.MicrobatchSwap.create(rt, [layout_a, layout_b], microbatches=4)
    for m in range(4):                          # microbatches take turns, again and again
        buffer = swap.begin_turn(m, stream)     # the stream waits for its KV, the host does not
        launch_step(m, buffer)                  # kernels of yours
        turn = swap.end_turn(writes)            # the blocks that they wrote; turn_done(turn)

The guide is docs/engine/microbatch_swap.md.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Sequence, Tuple

from .._blocks import BlockList, to_uint32
from .._c.microbatch_structs import (
    NEXT_IN_ORDER,
    CMicrobatchSwapOptions,
    CMicrobatchSwapStatus,
    MicrobatchSwapHandle,
)
from .._c.structs import LayoutHandle
from .._errors import raise_error
from .._library import lib
from .._locked import Locked
from .._numbers import Stream, native_stream, size, text, uint32
from ..layout import Layout

if TYPE_CHECKING:
    from ..runtime import Runtime


@dataclass(frozen=True)
class MicrobatchSwapStatus:
    turns: int  # ended
    foreseen: int  # of those begun: the KV was in a buffer, or on its way
    unforeseen: int  # it had to be asked for then, as of a turn out of order
    fetched_bytes: int  # copies posted so far, in ...
    written_bytes: int  # ... and out
    away_bytes: int  # reserved away from the device
    away_peer_bytes: int  # ... of which in lent memory


class MicrobatchSwap(Locked):
    """A block is held once a turn has written it, until it is dropped: a turn's kernels read blocks
    that are held, and may write any. Closing it waits for its copies; the kernels that use it have
    ended (an emulated GPU's are waited for). In a callback or kernel closing does nothing.

    Threads: calls on one swap come one after the other. None waits for a copy or for the device.
    """

    __slots__ = ("_buffers",)
    _free = lib.aqua_microbatch_swap_free

    def __init__(
        self, runtime: "Runtime", handle: MicrobatchSwapHandle, buffers: Tuple[Layout, ...]
    ) -> None:
        super().__init__(runtime, handle, runtime._state.microbatch_swaps, buffers)
        self._buffers = buffers  # for as long as a call on it lasts, too

    @classmethod
    def create(
        cls, runtime: "Runtime", buffers: Sequence[Layout], *, microbatches: int, name: str = ""
    ) -> "MicrobatchSwap":
        """`buffers`: two, or one for two microbatches; alike but for their addresses, with no byte in
        common. `microbatches`: that take turns, 2 to 1024. `name`: of its tensors, for people.
        RESOURCE_EXHAUSTED: host memory has no room for the exits of what is to be away."""
        given = tuple(buffers)
        options = CMicrobatchSwapOptions(
            buffers=(LayoutHandle * len(given))(*(each._handle for each in given)),
            buffer_count=len(given),
            name=text(name),
            microbatches=uint32(microbatches, "microbatches"),
        )
        handle = MicrobatchSwapHandle()
        error = lib.aqua_microbatch_swap_create(runtime._handle, options, handle)
        if error:
            raise_error(error)
        return cls(runtime, handle, given)

    def begin_turn(self, microbatch: int, stream: Stream = 0, next: Optional[int] = None) -> int:
        """Has `stream`, on which the turn's kernels are launched, wait until the held blocks of the
        microbatch are in a buffer, whose number it returns; and has those of the `next` one come in.
        None: the next higher number that holds blocks, after the last one the first. Name it where
        one that holds nothing has its turn next. DATA_LOSS: clear() it."""
        buffer = ctypes.c_uint32()
        self._call(
            lib.aqua_microbatch_swap_begin_turn, native_stream(stream),
            uint32(microbatch, "microbatch"),
            NEXT_IN_ORDER if next is None else uint32(next, "next"), buffer,
        )
        return buffer.value

    def end_turn(self, writes: BlockList) -> int:
        """The kernels are launched, and write these blocks, which are held from now on. Returns the
        turn's number, from 1 on. DATA_LOSS: the turn has ended without a number, clear() the
        microbatch."""
        keep, address, count = to_uint32(writes, "writes")
        turn = ctypes.c_uint64()
        self._call(lib.aqua_microbatch_swap_end_turn, address, count, turn)
        del keep
        return turn.value

    def turn_done(self, turn: int) -> bool:
        """True once everything that the turn's kernels read has come in whole, and what they wrote is
        safe. DATA_LOSS: use nothing that the turn computed."""
        done = ctypes.c_int()
        self._call(lib.aqua_microbatch_swap_turn_done, size(turn, "turn", 2**64 - 1), done)
        return done.value != 0

    def drop(self, microbatch: int, blocks: BlockList) -> None:
        """These blocks are not held any more, as those of a request that ended before the others."""
        keep, address, count = to_uint32(blocks)
        self._call(lib.aqua_microbatch_swap_drop, uint32(microbatch, "microbatch"), address, count)
        del keep

    def clear(self, microbatch: int) -> None:
        """The microbatch has ended, or is lost: it holds nothing, and its next turn is that of a new
        one."""
        self._call(lib.aqua_microbatch_swap_clear, uint32(microbatch, "microbatch"))

    def status(self) -> MicrobatchSwapStatus:
        c: Any = CMicrobatchSwapStatus()
        self._call(lib.aqua_microbatch_swap_get_status, c)
        return MicrobatchSwapStatus(
            turns=int(c.turns), foreseen=int(c.foreseen), unforeseen=int(c.unforeseen),
            fetched_bytes=int(c.fetched_bytes), written_bytes=int(c.written_bytes),
            away_bytes=int(c.away_bytes), away_peer_bytes=int(c.away_peer_bytes),
        )
