# SPDX-License-Identifier: Apache-2.0
"""Streamer: KV of sequences from one pipeline to another whose stages, ranks, blocks and order of
heads may all differ; aqua-keeper has what is on its way.

    prefill = aqua_kv.Streamer.open(rt, layout, "smollm2", aqua_kv.StreamGroup("prefill", shape),
                                    others=[decode_group])
    with prefill.stream_out(7, blocks, "decode", tokens=120) as out:
        while not out.ready():                      # room there, before prefill begins
            prefill.wait(1000)
        for layer in range(layout.layers):
            launch_layer(layer, stream)
            out.layer(layer, stream)                # behind the kernel
        out.finish(b"pending token", stream)        # out.copied(): the blocks are free for others

    decode.admit("prefill", 4)                      # in a process of the other pipeline
    for each in decode.arrived():                   # none yet: decode.wait(1000), and again
        with decode.stream_in(each.sequence, own_blocks, stream) as incoming:
            for layer in range(layout.layers):
                incoming.stream_wait(stream, layer)
                launch_attention(layer, stream)
            incoming.wait()
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence

from .. import _callbacks
from .._blocks import BlockList, to_uint32
from .._c.streamer_structs import (
    CArrived,
    CCutOff,
    CStreamerOptions,
    CStreamerStatus,
    CStreamGroup,
    CStreamOutOptions,
    StreamerHandle,
    StreamInHandle,
    StreamOutHandle,
    WantedFunction,
)
from .._errors import raise_error
from .._library import lib
from .._locked import Locked
from .._numbers import Stream, native_stream, size, text, uint32
from ..layout import Layout
from .shape import StreamGroup
from .streams import StreamIn, StreamOut

if TYPE_CHECKING:
    from ..runtime import Runtime

_UINT64 = 2**64 - 1


@dataclass(frozen=True)
class Arrived:
    """A sequence of which everything for this rank is there to be taken."""

    sequence: int
    attempt: int
    tokens: int
    words: bytes  # the sender's

    @classmethod
    def _from_c(cls, c: CArrived) -> "Arrived":
        words = ctypes.string_at(c.words, c.words_bytes) if c.words_bytes else b""
        return cls(int(c.sequence), int(c.attempt), int(c.tokens), words)


@dataclass(frozen=True)
class CutOff:
    """An attempt that does not come any more: not all of its ranks have streamed it to the end."""

    sequence: int
    attempt: int


@dataclass(frozen=True)
class StreamerStatus:
    connected: bool  # to the keeper. Once False it stays so, and nothing is carried any more
    keeper_error: str  # why not, or what the keeper refused last
    refused: int  # parcels that cannot be; none of their bytes landed
    error: str  # why the last one was
    giving: int  # parcels on their way out
    taken: int  # parcels that have come, and whose sequences are not finished
    ready: int  # segments at hand for parcels to be opened
    arrived: int  # attempts that arrived() has told of
    cut_off: int  # ... and cut_off()


class Streamer(Locked):
    """Closing it waits until what was posted so far has ended, and what was finished is the
    keeper's; it goes with the last of its streams. Sequences that were not finished come to the next
    streamer of this rank. In a callback or kernel closing does nothing."""

    __slots__ = ("_layout", "_untold")
    _free = lib.aqua_streamer_free

    def __init__(self, runtime: "Runtime", handle: StreamerHandle, layout: Layout) -> None:
        super().__init__(runtime, handle, runtime._state.streamers, layout)
        self._layout = layout  # keeps its arrays
        self._untold: List[Arrived] = []

    @classmethod
    def open(
        cls,
        runtime: "Runtime",
        layout: Layout,
        name: str,
        group: StreamGroup,
        rank: int = 0,
        *,
        others: Sequence[StreamGroup],
        parcel_bytes: int = 64 << 20,
        ready: int = 2,
        keeper: str = "",
    ) -> "Streamer":
        """`name`: of those who stream to each other. `group`, `rank`: this process's pipeline, and
        its place there. `others`: pipelines that stream here or are streamed to. `parcel_bytes`: of
        the largest part of a sequence that one rank sends to another. `ready`: segments to have here
        ahead of need; who only takes needs none. `keeper`: its socket; else $AQUA_KEEPER, else where
        aqua-keeper puts it. INVALID_ARGUMENT: what cannot be, or a layout that is not the rank's;
        FAILED_PRECONDITION: another group's shape is of another model; UNAVAILABLE: no keeper
        listens; RESOURCE_EXHAUSTED: no room for the segments."""
        own = group._to_c()
        given = [ctypes.pointer(other._to_c()) for other in others]
        options = CStreamerOptions(
            group=own.name,
            shape=own.shape,
            parallelism=own.parallelism,
            others=(ctypes.POINTER(CStreamGroup) * len(given))(*given),
            other_count=len(given),
            name=text(name),
            keeper=text(keeper),
            parcel_bytes=size(parcel_bytes, "parcel_bytes"),
            rank=uint32(rank, "rank"),
            ready=uint32(ready, "ready"),
        )
        handle = StreamerHandle()
        error = lib.aqua_streamer_open(runtime._handle, layout._handle, options, handle)
        if error:
            raise_error(error)
        return cls(runtime, handle, layout)

    def stream_out(
        self, sequence: int, blocks: BlockList, to: str, *, tokens: int, attempt: int = 1
    ) -> StreamOut:
        """Asks each receiver in the group `to` for room. Nothing has to be computed yet. `blocks`: the
        sequence's, in the order of its tokens; none: StreamOut.set_blocks() gets them. `attempt`: 1 to 2**25, higher than each before it
        for this sequence; StreamOut.ready() raises ABORTED for one that was made before."""
        keep, address, count = to_uint32(blocks)
        options = CStreamOutOptions(
            sequence=size(sequence, "sequence", _UINT64),
            to=text(to),
            blocks=address,
            block_count=count,
            tokens=uint32(tokens, "tokens"),
            attempt=uint32(attempt, "attempt"),
        )
        handle = StreamOutHandle()
        self._call(lib.aqua_streamer_stream_out, options, handle)
        del keep
        return StreamOut(self, handle)

    def admit(self, group: str, sequences: int) -> None:
        """There is room for so many more sequences of this group: to be said anew for each of which
        finish() has returned True. A later attempt of a sequence has the room of the first."""
        self._call(lib.aqua_streamer_admit, text(group), uint32(sequences, "sequences"))

    def arrived(self, wanted: Optional[Callable[[int], bool]] = None) -> List[Arrived]:
        """Sequences that have come since the last call. One that is told again is of a higher
        attempt: what was streamed in of the earlier one is of no use any more.

        `wanted` is asked of each sequence that is not told yet, also where only a part of it has
        come; what is not wanted is given up, and there is room for another in its place. It may make
        no call on this streamer. What it raises is raised here, after which the next call tells what
        this one would have."""
        raised: List[BaseException] = []

        def ask(_: Any, sequence: int) -> int:
            if raised or wanted is None:
                return 1
            try:
                with _callbacks.being_called():
                    return int(bool(wanted(sequence)))
            except BaseException as error:  # ctypes would answer 0: not wanted
                raised.append(error)
                return 1

        rows: Any = ctypes.POINTER(ctypes.POINTER(CArrived))()
        count = ctypes.c_size_t()
        function = WantedFunction(ask) if wanted is not None else WantedFunction(0)  # NULL
        with self._lock:
            self._call(lib.aqua_streamer_arrived, function, None, rows, count)
            self._untold += [Arrived._from_c(rows[i].contents) for i in range(count.value)]
            if raised:
                raise raised[0]
            told, self._untold = self._untold, []
            return told

    def stream_in(self, sequence: int, blocks: BlockList, stream: Stream = 0) -> StreamIn:
        """Moves a sequence that has arrived into blocks of this process, behind the work posted to
        `stream` so far. NOT_FOUND: it has not arrived; RESOURCE_EXHAUSTED, UNAVAILABLE: a segment
        cannot be mapped here now, call again."""
        keep, address, count = to_uint32(blocks)
        handle = StreamInHandle()
        self._call(
            lib.aqua_streamer_stream_in, size(sequence, "sequence", _UINT64), address, count,
            native_stream(stream), handle,
        )
        del keep
        return StreamIn(self, handle)

    def finish(self, sequence: int, stream: Stream = 0) -> bool:
        """The sequence is needed no more, once the work posted to `stream` so far has ended; nobody
        gets it again. True: arrived() had told of it. False: it had not, of its highest attempt;
        what has come of that is given up, and there is room for another in its place already."""
        arrived = ctypes.c_int()
        self._call(
            lib.aqua_streamer_finish, size(sequence, "sequence", _UINT64), native_stream(stream),
            arrived,
        )
        return arrived.value != 0

    def superseded(self) -> List[int]:
        """Sequences that arrived and count no more since the last call, as another attempt began:
        finish() them."""
        sequences = ctypes.POINTER(ctypes.c_uint64)()
        count = ctypes.c_size_t()
        with self._lock:
            self._call(lib.aqua_streamer_superseded, sequences, count)
            return sequences[: count.value]

    def cut_off(self) -> List[CutOff]:
        """Attempts that do not come, since the last call, each once: a rank that streams them ended,
        or took back what it had not finished. What comes of them is given up, and there is room for
        another in their place. No earlier attempt comes any more, a later one may be on its way; and
        one may be told of whose sequence has ended here."""
        rows: Any = ctypes.POINTER(ctypes.POINTER(CCutOff))()
        count = ctypes.c_size_t()
        with self._lock:
            self._call(lib.aqua_streamer_cut_off, rows, count)
            each = [rows[i].contents for i in range(count.value)]
            return [CutOff(one.sequence, one.attempt) for one in each]

    def wait(self, patience_ms: int) -> bool:
        """Waits, without the GIL, until there is news since the last call: room, something that
        arrived, landed, is superseded or cut off, or the keeper's end. False: none came within that
        time. A streamer that is closed meanwhile goes when this returns, and until then its runtime
        cannot be closed."""
        news = ctypes.c_int()
        error = lib.aqua_streamer_wait(self._handle, uint32(patience_ms, "patience_ms"), news)
        if error:
            raise_error(error)
        return bool(news.value)

    def status(self) -> StreamerStatus:
        c: Any = CStreamerStatus()
        self._call(lib.aqua_streamer_get_status, c)
        return StreamerStatus(
            connected=bool(c.connected), keeper_error=c.keeper_error.decode("utf-8", "replace"),
            refused=int(c.refused), error=c.error.decode("utf-8", "replace"),
            giving=int(c.giving), taken=int(c.taken), ready=int(c.ready),
            arrived=int(c.arrived), cut_off=int(c.cut_off),
        )
