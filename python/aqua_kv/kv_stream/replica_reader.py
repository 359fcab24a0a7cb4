# SPDX-License-Identifier: Apache-2.0
"""ReplicaReader: for the process that takes a dead stage's place. It finds what the keeper has of
that stage's KV, says how far each sequence is replicated, and reads it into this process's cache.

    # The term is raised, and all members have sealed.
    with aqua_kv.ReplicaReader.open(rt, owner, "llama-3-8b, bf16", term=2) as reader:
        mark = reader.watermark(7, known_ids, room)          # prompt, then what the client has
        reader.restore(7, known_ids, mark, layout, blocks, stream)
        replicator.adopt(reader, 7)                          # one of term 2
        reader.finish(stream)                                # what was not restored is dropped
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, List, Optional

from .._blocks import BlockList, to_uint32
from .._c.replica_structs import (
    MAX_SAMPLER_BYTES,
    CReplicaReaderOptions,
    CReplicaReaderStatus,
    CRestoreOptions,
    ReplicaReaderHandle,
)
from .._c.structs import TicketHandle
from .._errors import raise_error
from .._library import lib
from .._locked import Locked
from .._numbers import Stream, native_stream, size, text, uint32
from ..layout import Layout
from ..transfer import Ticket
from .replicator import ReplicaOwner

if TYPE_CHECKING:
    from ..runtime import Runtime

_UINT64 = 2**64 - 1


@dataclass(frozen=True)
class SamplerState:
    """The state of a sampler behind so many tokens."""

    tokens: int
    state: bytes


@dataclass(frozen=True)
class ReplicaReaderStatus:
    packs: int  # of the owner, that are read
    refused: int  # of the owner, of another shape, or whose digest is wrong
    # Segments that could not be opened, as where there is no memory to map them: watermarks may be
    # lower than they need be. finish() tries again.
    unopened: int
    error: str  # why the last of those refused or unopened was
    other_lives: int  # packs of the owner's place in other lives of its group: not read


class ReplicaReader(Locked):
    """Closing it waits until what was posted so far has ended. What was not dropped stays with the
    keeper. In a callback or kernel closing does nothing.

    Threads: calls on one reader come one after the other. They may block for the keeper, but those
             that ask or restore.
    """

    __slots__ = ()
    _free = lib.aqua_replica_reader_free

    def __init__(self, runtime: "Runtime", handle: ReplicaReaderHandle) -> None:
        super().__init__(runtime, handle, runtime._state.replica_readers)

    @classmethod
    def open(
        cls,
        runtime: "Runtime",
        owner: ReplicaOwner,
        shape: str,
        *,
        term: int,
        keeper: str = "",
        patience_ms: int = 10_000,
    ) -> "ReplicaReader":
        """Lists what the keeper has committed; only that is ever read here. `owner`: the dead one, whose
        place this process has. `shape`: as its Replicator's. `term`: the one that was raised.
        `patience_ms`: how long the keeper may take to open what it has. ABORTED: the keeper has
        packs of a higher term, this one is over; UNAVAILABLE: it is away, or silent for longer."""
        options = CReplicaReaderOptions(
            owner=ctypes.pointer(owner._to_c()),
            shape=text(shape),
            keeper=text(keeper),
            term=size(term, "term", _UINT64),
            patience_ms=uint32(patience_ms, "patience_ms"),
        )
        handle = ReplicaReaderHandle()
        error = lib.aqua_replica_reader_open(runtime._handle, options, handle)
        if error:
            raise_error(error)
        return cls(runtime, handle)

    def sequences(self) -> List[int]:
        """Of which the owner's packs have anything, in ascending order. Nobody has compared ids yet, and
        some of them may have ended elsewhere in the pipeline."""
        sequences = ctypes.POINTER(ctypes.c_uint64)()
        count = ctypes.c_size_t()
        with self._lock:
            self._call(lib.aqua_replica_reader_sequences, sequences, count)
            return sequences[: count.value]

    def watermark(self, sequence: int, ids: BlockList, room: int) -> int:
        """How many tokens can be restored, from the first on, into blocks that have room for `room`
        tokens: at most as many as there are ids, which are all that are known of the sequence.
        Pieces are read as they were written, which may reach behind the last token that counts: a
        few tokens' room more than ids is well spent."""
        keep, address, count = to_uint32(ids, "ids")
        tokens = ctypes.c_uint32()
        self._call(
            lib.aqua_replica_reader_get_watermark, size(sequence, "sequence", _UINT64), address,
            count, uint32(room, "room"), tokens,
        )
        del keep
        return tokens.value

    def sampler(self, sequence: int, ids: BlockList) -> Optional[SamplerState]:
        """The latest state of the sampler that was replicated behind ids that are known; it may be some
        tokens back. None where there is none."""
        keep, address, count = to_uint32(ids, "ids")
        state = ctypes.create_string_buffer(MAX_SAMPLER_BYTES)
        state_bytes = ctypes.c_size_t()
        tokens = ctypes.c_uint32()
        self._call(
            lib.aqua_replica_reader_get_sampler, size(sequence, "sequence", _UINT64), address,
            count, state, MAX_SAMPLER_BYTES, state_bytes, tokens,
        )
        del keep
        if tokens.value == 0:
            return None
        return SamplerState(tokens.value, state.raw[: state_bytes.value])

    def restore(
        self,
        sequence: int,
        ids: BlockList,
        tokens: int,
        layout: Layout,
        blocks: BlockList,
        stream: Stream = 0,
    ) -> Ticket:
        """Reads KV of the first `tokens`, at most watermark(), into these blocks, behind the work posted
        to `stream` so far and before what is posted afterwards. What the blocks have behind them is
        undefined then. INVALID_ARGUMENT, and nothing has changed: more tokens than that, blocks, a
        layout or a stream that do not fit. After any other error than that and FAILED_PRECONDITION
        the blocks are undefined, and the sequence is to be restored again."""
        ids_kept, id_address, id_count = to_uint32(ids, "ids")
        blocks_kept, address, count = to_uint32(blocks)
        options = CRestoreOptions(
            sequence=size(sequence, "sequence", _UINT64), ids=id_address, id_count=id_count,
            blocks=address, block_count=count, tokens=uint32(tokens, "tokens"),
        )
        ticket = TicketHandle()
        self._call(
            lib.aqua_replica_reader_restore, layout._handle, options, native_stream(stream),
            ticket,
        )
        del ids_kept, blocks_kept
        return Ticket(ticket, layout)

    def finish(self, stream: Stream = 0) -> None:
        """Drops all of the owner's packs of older terms of which this reader has restored nothing, those
        too that came late, and lets go of the others once the work posted to `stream` so far has
        ended. Nothing is restored afterwards. A second reader of a term restores each sequence again
        that was adopted, before this. Where it fails call it again: it goes on with what is left.
        ABORTED: the keeper has packs of a higher term, this one is over."""
        self._call(lib.aqua_replica_reader_finish, native_stream(stream))

    def drop_other_lives(self) -> None:
        """Drops the packs that other lives of the group have left of the owner's place, as open() and
        finish() found them. Those lives are over by then."""
        self._call(lib.aqua_replica_reader_drop_other_lives)

    def status(self) -> ReplicaReaderStatus:
        c: Any = CReplicaReaderStatus()
        self._call(lib.aqua_replica_reader_get_status, c)
        return ReplicaReaderStatus(
            packs=int(c.packs), refused=int(c.refused), unopened=int(c.unopened),
            error=c.error.decode("utf-8", "replace"), other_lives=int(c.other_lives),
        )
