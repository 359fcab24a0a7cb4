# SPDX-License-Identifier: Apache-2.0
"""Sequences on their way out of a Streamer and into it."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Optional

from .. import _callbacks
from .._blocks import BlockList, to_uint32
from .._c.streamer_structs import StreamInHandle, StreamOutHandle
from .._errors import raise_error
from .._library import lib
from .._numbers import Stream, native_stream, uint32
from .._owned import Belongings, Owned

if TYPE_CHECKING:
    from .streamer import Streamer


class _OfStreamer(Owned):
    """Keeps its streamer, which goes with the last of its streams."""

    __slots__ = ("_streamer",)
    _settles = True

    def __init__(self, streamer: "Streamer", handle: Any, among: Belongings) -> None:
        super().__init__(handle, among)
        self._streamer = streamer

    def _settle(self) -> bool:
        if _callbacks.inside():
            return False
        return not self._streamer.closed or self._streamer._settle()

    def _ask(self, answer: Callable[..., Optional[int]], *more: int) -> bool:
        told = ctypes.c_int()
        error = answer(self._handle, *more, told)
        if error:
            raise_error(error)
        return told.value != 0


class StreamOut(_OfStreamer):
    """A sequence on its way out. Closing it cancels it, unless it is finished."""

    __slots__ = ()
    _free = lib.aqua_stream_out_free

    def __init__(self, streamer: "Streamer", handle: StreamOutHandle) -> None:
        super().__init__(streamer, handle, streamer._runtime._state.stream_outs)

    def ready(self) -> bool:
        """Whether all receivers have room: before that nothing can be streamed. Any error: it cannot
        be streamed any more; stream it again as another attempt."""
        return self._ask(lib.aqua_stream_out_ready)

    def set_blocks(self, blocks: BlockList) -> None:
        """Of a sequence that stream_out() was given no blocks of: its blocks, which all of its tokens
        fit. FAILED_PRECONDITION: it has blocks."""
        keep, address, count = to_uint32(blocks)
        error = lib.aqua_stream_out_set_blocks(self._handle, address, count)
        del keep
        if error:
            raise_error(error)

    def layer(self, layer: int, stream: Stream = 0) -> None:
        """The layer's keys and values of all tokens are written by the work posted to `stream` so
        far: copies them behind it. Each layer once, in any order. FAILED_PRECONDITION: not ready(),
        or finished."""
        error = lib.aqua_stream_out_layer(
            self._handle, uint32(layer, "layer"), native_stream(stream)
        )
        if error:
            raise_error(error)

    def finish(self, words: bytes = b"", stream: Stream = 0) -> None:
        """All layers were given. `words` are the engine's to whoever takes the sequence, at most
        3,072 bytes, the same of all ranks. FAILED_PRECONDITION: a layer is missing, or it was called
        before."""
        said = ctypes.create_string_buffer(words, len(words)) if words else None
        error = lib.aqua_stream_out_finish(
            self._handle, said, len(words), native_stream(stream)
        )
        if error:
            raise_error(error)

    def copied(self) -> bool:
        """Whether the copies have left the blocks, which are free for others then, however slow a
        receiver is."""
        return self._ask(lib.aqua_stream_out_copied)

    def kept(self) -> bool:
        """Whether the receivers get it also if this process ends now."""
        return self._ask(lib.aqua_stream_out_kept)

    def landed(self) -> bool:
        """Whether the receivers have all of it where they need it. FAILED_PRECONDITION: one has refused
        it (its status says why), or does not want it any more."""
        return self._ask(lib.aqua_stream_out_landed)

    def cancel(self) -> None:
        """Takes back what no receiver has taken. All else but copied() raises CANCELLED then."""
        error = lib.aqua_stream_out_cancel(self._handle)
        if error:
            raise_error(error)


class StreamIn(_OfStreamer):
    """A sequence whose bytes come into this process's blocks. Closing it cancels nothing."""

    __slots__ = ()
    _free = lib.aqua_stream_in_free

    def __init__(self, streamer: "Streamer", handle: StreamInHandle) -> None:
        super().__init__(streamer, handle, streamer._runtime._state.stream_ins)

    def done(self) -> bool:
        """As that of a Ticket. Once it is True the senders are told."""
        return self._ask(lib.aqua_stream_in_done)

    def wait(self) -> None:
        """Blocks this thread, without the GIL, until done() is True or raises."""
        error = lib.aqua_stream_in_wait(self._handle)
        if error:
            raise_error(error)

    def layer_done(self, layer: int) -> bool:
        """Whether this layer's bytes have all arrived."""
        return self._ask(lib.aqua_stream_in_layer_done, uint32(layer, "layer"))

    def stream_wait(self, stream: Stream, layer: int) -> None:
        """Work posted to `stream` after this call runs after this layer's bytes have arrived; no
        host thread waits. Ask done() before what that made of the bytes is used."""
        error = lib.aqua_stream_in_stream_wait(
            self._handle, native_stream(stream), uint32(layer, "layer")
        )
        if error:
            raise_error(error)
