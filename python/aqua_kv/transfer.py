# SPDX-License-Identifier: Apache-2.0
"""Tickets tell how far a move of KV blocks is."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Optional

from ._errors import raise_error
from ._library import lib
from ._numbers import Stream, native_stream, uint32
from ._owned import Owned
from ._c.structs import TicketHandle

if TYPE_CHECKING:
    from .layout import Layout


class Ticket(Owned):
    """Made by offload() and fetch() of a Runtime and of a LayerPool, where layer 0 is all of it.
    Dropping or closing it cancels nothing; while it is kept, so are the layout's arrays. It may be
    asked after its runtime is closed."""

    __slots__ = ("_layout",)
    _free = lib.aqua_ticket_free

    def __init__(self, handle: TicketHandle, layout: Optional["Layout"] = None) -> None:
        super().__init__(handle, None)
        self._layout = layout

    def done(self) -> bool:
        """True once every byte has arrived, False while work is queued or running. Raises
        DATA_LOSS when source or destination died (recompute the blocks), CANCELLED after cancel();
        any other code that is not repeated by the next call: ask again."""
        done = ctypes.c_int()
        error = lib.aqua_ticket_done(self._handle, done)
        if error:
            raise_error(error)
        return done.value != 0

    def wait(self) -> None:
        """Blocks this thread, without the GIL, until it is over; raises as done() does. Signals
        (Ctrl-C) are seen when it returns."""
        error = lib.aqua_ticket_wait(self._handle)
        if error:
            raise_error(error)

    def layer_done(self, layer: int) -> bool:
        """Whether this layer's bytes have all arrived. Layers arrive in order."""
        done = ctypes.c_int()
        error = lib.aqua_ticket_layer_done(self._handle, uint32(layer, "layer"), done)
        if error:
            raise_error(error)
        return done.value != 0

    def stream_wait(self, stream: Stream, layer: int) -> None:
        """Work posted to `stream` after this call runs after this layer's bytes have arrived; no
        host thread waits. Of a transfer that fails or is cancelled meanwhile the stream goes on all
        the same: ask done() before what the work made of the bytes is used. Raises INVALID_ARGUMENT
        for a layer not in the layout, FAILED_PRECONDITION while the stream is being captured."""
        error = lib.aqua_ticket_stream_wait(
            self._handle, native_stream(stream), uint32(layer, "layer"))
        if error:
            raise_error(error)

    def cancel(self) -> None:
        """Skips what has not started; the destination's bytes are undefined afterwards."""
        error = lib.aqua_ticket_cancel(self._handle)
        if error:
            raise_error(error)

    @property
    def bytes(self) -> int:
        """What the transfer moves in all."""
        out = ctypes.c_size_t()
        error = lib.aqua_ticket_get_bytes(self._handle, out)
        if error:
            raise_error(error)
        return out.value
