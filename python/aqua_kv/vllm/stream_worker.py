# SPDX-License-Identifier: Apache-2.0
"""AquaConnector in vLLM's workers: sequences that are streamed out, and those that come in."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Callable, Dict, List, Optional, Set

from .._errors import Code, Error
from ..kv_stream import Arrived, Streamer, StreamIn, StreamOut
from .stream_scheduler import Ask, Receive, Send

logger = logging.getLogger(__name__)

_REMEMBERED = 65536  # sequences that have ended


@dataclass
class _Outgoing:
    out: StreamOut
    send: Optional[Send] = None  # none: its last tokens are still to be computed
    deadline: float = 0.0  # for room at the other end
    layers: int = 0  # that were given
    finished: bool = False


class Sender:
    """Of a worker that computes prompts. No call waits: what a receiver has no room for yet is
    streamed by a later call, from blocks that vLLM keeps until finished() names their request. What
    has no room in time is not sent."""

    def __init__(
        self, streamer: Streamer, to: str, layers: int, patience_s: float,
        stream: Callable[[], int],
    ) -> None:
        self._streamer, self._to, self._layers, self._stream = streamer, to, layers, stream
        self._patience = patience_s
        self._outgoing: Dict[str, _Outgoing] = {}
        self._asked: Set[str] = set()  # by vLLM, whether they are sent
        self._sent: Set[str] = set()

    def begin(self, asks: List[Ask], sends: List[Send]) -> None:
        for ask in asks:
            try:
                out = self._streamer.stream_out(ask.sequence, (), self._to, tokens=ask.tokens)
            except Error as error:  # asked for again when it is sent
                logger.debug("request %s has no room yet: %s", ask.request, error)
                continue
            self._outgoing[ask.request] = _Outgoing(out)
        for send in sends:
            try:
                # As the same attempt: other ranks may have begun it, and attempts never mix.
                if send.request not in self._outgoing:
                    self._outgoing[send.request] = _Outgoing(
                        self._streamer.stream_out(send.sequence, (), self._to, tokens=send.tokens)
                    )
                outgoing = self._outgoing[send.request]
                outgoing.out.set_blocks(send.blocks)
            except Error as error:
                if send.request in self._outgoing:
                    self._end(send.request)
                self._fail(send, error)
                continue
            outgoing.send, outgoing.deadline = send, time.monotonic() + self._patience

    def cancel(self, requests: List[str]) -> None:
        for request in requests:
            self._sent.discard(request)
            if request in self._outgoing:
                self._end(request)

    def give(self, layers: int) -> None:
        """The first so many layers are written by what the engine has posted so far."""
        for request, outgoing in list(self._outgoing.items()):
            if outgoing.finished or outgoing.send is None:
                continue
            try:
                if not outgoing.out.ready():
                    if time.monotonic() > outgoing.deadline:
                        raise Error(Code.UNAVAILABLE, "no receiver has room for it in time")
                    continue
                while outgoing.layers < layers:
                    outgoing.out.layer(outgoing.layers, self._stream())
                    outgoing.layers += 1
                if outgoing.layers == self._layers:
                    outgoing.out.finish(b"", self._stream())
                    outgoing.finished = True
            except Error as error:
                self._end(request)
                self._fail(outgoing.send, error)

    def finished(self, asked: Set[str]) -> Set[str]:
        """Requests whose blocks are read no more. A draft model may still be to compute its layers."""
        self._asked |= asked
        for request, outgoing in list(self._outgoing.items()):
            if outgoing.send is None:
                continue
            try:
                if not outgoing.out.copied():
                    continue
                self._sent.add(request)
            except Error as error:
                self._fail(outgoing.send, error)
            self._end(request)
        told = self._sent & self._asked
        self._sent -= told
        self._asked &= set(self._outgoing) | self._sent
        return told

    def begin_anew(self, streamer: Streamer) -> None:
        """Its keeper has ended, and with it what was on its way."""
        for request, outgoing in list(self._outgoing.items()):
            self._end(request)
            if outgoing.send is not None:
                self._fail(outgoing.send, "its keeper has ended")
        self._streamer = streamer

    def close(self) -> None:
        for request in list(self._outgoing):
            self._end(request)

    def _end(self, request: str) -> None:
        self._outgoing.pop(request).out.close()

    def _fail(self, send: Send, error: object) -> None:
        """Who waits for it computes it."""
        logger.warning("request %s is not sent: %s", send.request, error)
        self._sent.add(send.request)


@dataclass
class _Incoming:
    receive: Receive
    deadline: float
    stream_in: Optional[StreamIn] = None


class Receiver:
    """Of a worker that goes on. What does not come, or not whole, is told: its blocks are
    load_errors(), and vLLM computes them."""

    def __init__(
        self, streamer: Streamer, of: str, sequences: int, patience_s: float,
        stream: Callable[[], int],
    ) -> None:
        self._streamer, self._of, self._patience = streamer, of, patience_s
        self._sequences = sequences
        self._stream = stream
        self._incoming: Dict[int, _Incoming] = {}
        self._arrived: Dict[int, Arrived] = {}
        self._unclaimed: "OrderedDict[int, float]" = OrderedDict()  # arrived, by when asked for
        self._in_part: Dict[int, float] = {}  # not asked for; by when all has to be here
        self._ended: "OrderedDict[int, None]" = OrderedDict()
        self._cut_off: "OrderedDict[int, None]" = OrderedDict()
        self._errors: Set[int] = set()
        self._refused: Set[str] = set()  # requests that finished() is to tell
        streamer.admit(of, sequences)

    def begin(self, receives: List[Receive], dropped: List[int]) -> None:
        for receive in receives:
            if receive.sequence in self._incoming:  # n answers to a prompt, or a client's retry
                self._fail(receive, "another request takes it")
                self._refused.add(receive.request)
                continue
            self._unclaimed.pop(receive.sequence, None)
            self._in_part.pop(receive.sequence, None)
            self._incoming[receive.sequence] = _Incoming(
                receive, time.monotonic() + self._patience
            )
        for sequence in dropped:
            if sequence not in self._incoming:
                self._end(sequence)

    def finished(self) -> Set[str]:
        """Requests that have all of their KV, or of which some is a load error."""
        told, self._refused = self._refused, set()
        now = time.monotonic()
        for each in self._streamer.arrived(lambda sequence: self._is_wanted(sequence, now)):
            self._arrived[each.sequence] = each
            self._in_part.pop(each.sequence, None)
            if each.sequence not in self._incoming:
                self._unclaimed[each.sequence] = now + self._patience
        for cut_off in self._streamer.cut_off():
            _remember(self._cut_off, cut_off.sequence)
        for sequence, incoming in list(self._incoming.items()):
            try:
                if not self._advance(incoming, now):
                    continue
            except (Error, _NeverCame) as error:
                self._fail(incoming.receive, error)
            if incoming.stream_in is not None:
                incoming.stream_in.close()
            del self._incoming[sequence]
            self._end(sequence)
            told.add(incoming.receive.request)
        for sequence, deadline in list(self._unclaimed.items()):
            if now > deadline:
                self._end(sequence)
        return told

    def load_errors(self) -> Set[int]:
        told, self._errors = self._errors, set()
        return told

    def begin_anew(self, streamer: Streamer) -> None:
        """Its keeper has ended, and with it what had not landed."""
        for incoming in self._incoming.values():
            self._fail(incoming.receive, "its keeper has ended")
            self._refused.add(incoming.receive.request)
        self.close()
        for sequence in self._arrived:
            _remember(self._cut_off, sequence)
        self._arrived.clear()
        self._unclaimed.clear()
        self._in_part.clear()
        self._streamer = streamer
        try:
            streamer.admit(self._of, self._sequences)
        except Error as error:  # its keeper has ended, too: the next one is followed to
            logger.warning("no room is promised: %s", error)

    def close(self) -> None:
        for incoming in self._incoming.values():
            if incoming.stream_in is not None:
                incoming.stream_in.close()
        self._incoming.clear()

    def _is_wanted(self, sequence: int, now: float) -> bool:
        """Whether to keep what has come of a sequence that is not here whole yet. Where a rank died before it gave its
        part, and nobody asks for the sequence, nothing but the patience ends the other ranks' parts."""
        if sequence in self._incoming:
            return True
        if sequence not in self._ended and now <= self._in_part.setdefault(sequence, now + self._patience):
            return True
        self._in_part.pop(sequence, None)
        _remember(self._ended, sequence)
        return False

    def _advance(self, incoming: _Incoming, now: float) -> bool:
        """True: all has come."""
        if incoming.stream_in is not None:
            return incoming.stream_in.done()
        receive = incoming.receive
        arrived = self._arrived.get(receive.sequence)
        late = now > incoming.deadline
        if receive.sequence in self._ended:
            raise _NeverCame("nobody asked for it in time")
        if arrived is None:
            if receive.sequence in self._cut_off:
                raise _NeverCame("the engine or the keeper that had it has ended, or it was taken back")
            if late or not self._streamer.status().connected:
                raise _NeverCame("the keeper is away" if not late else "it has not arrived in time")
            return False
        if arrived.tokens != receive.tokens:
            raise _NeverCame(f"{arrived.tokens} tokens have come, not {receive.tokens}")
        try:
            incoming.stream_in = self._streamer.stream_in(
                receive.sequence, receive.blocks, self._stream()
            )
        except Error as error:
            if late or error.code not in (Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED):
                raise
        return False

    def _fail(self, receive: Receive, why: object) -> None:
        logger.warning(
            "request %s: its KV does not come, %d blocks are computed here: %s",
            receive.request, len(receive.blocks), why,
        )
        self._errors |= set(receive.blocks)

    def _end(self, sequence: int) -> None:
        self._arrived.pop(sequence, None)
        self._unclaimed.pop(sequence, None)
        self._in_part.pop(sequence, None)
        _remember(self._ended, sequence)
        try:
            if self._streamer.finish(sequence, self._stream()):
                self._streamer.admit(self._of, 1)
        except Error as error:
            logger.warning("sequence %d: %s", sequence, error)


def _remember(sequences: "OrderedDict[int, None]", sequence: int) -> None:
    sequences[sequence] = None
    if len(sequences) > _REMEMBERED:
        sequences.popitem(last=False)


class _NeverCame(Exception):
    pass
