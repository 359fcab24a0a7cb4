# SPDX-License-Identifier: Apache-2.0
"""Replicator: copies of a pipeline stage's KV with the keeper beside the next stage, which outlive
the stage.

    owner = aqua_kv.ReplicaOwner("decode", stage=1)
    replicator = aqua_kv.Replicator.create(rt, layout, owner, "llama-3-8b, bf16", term=1)
    written = aqua_kv.WrittenTokens(7, blocks, ids=prompt)   # later a token a step, `first` behind it
    replicator.step([written], stream)                       # behind its kernels; asks nobody
    replicator.unprotected()                                 # of which too much would be lost
    replicator.finish(7)                                     # its answer is complete

Whoever takes a dead stage's place reads it with a ReplicaReader. The guide is
docs/engine/replicas.md.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, List, Sequence

from .._blocks import BlockList, to_uint32
from .._c.replica_structs import (
    CReplicaOwner,
    CReplicatorOptions,
    CReplicatorStatus,
    CWrittenTokens,
    ReplicatorHandle,
)
from .._c.structs import TicketHandle
from .._errors import raise_error
from .._library import lib
from .._locked import Locked
from .._numbers import Stream, native_stream, size, text, uint32
from ..layout import Layout
from ..transfer import Ticket

if TYPE_CHECKING:
    from ..runtime import Runtime
    from .replica_reader import ReplicaReader

_UINT64 = 2**64 - 1


@dataclass(frozen=True)
class ReplicaOwner:
    """Whose KV it is: a rank of a stage of a pipeline. `life`: which life of the group; terms of two
    lives are not compared, and packs of another life are not read. Empty: lives are not told
    apart."""

    group: str  # 1 to 64 letters, digits, '-' and '_'
    stage: int = 0
    rank: int = 0
    life: str = ""  # of the same characters

    def _to_c(self) -> CReplicaOwner:
        return CReplicaOwner(
            group=text(self.group), life=text(self.life),
            stage=uint32(self.stage, "owner.stage"), rank=uint32(self.rank, "owner.rank"),
        )


@dataclass(frozen=True)
class WrittenTokens:
    """What a step has computed of one sequence. The blocks are its own until finish(),
    without_blocks() or the next step() that names others."""

    sequence: int  # names one request for as long as the group lives
    blocks: BlockList  # of the sequence, in the order of its tokens
    ids: BlockList  # of the tokens; one or more
    first: int = 0  # position of the first token
    sampler: bytes = b""  # the state behind them, at most 4,096 bytes


@dataclass(frozen=True)
class ReplicatorStatus:
    connected: bool  # to the keeper. Once False it stays so until reconnect()
    error: str  # why something is not protected, or was not once; empty: it all was
    sequences: int  # that are known: given, and not finished
    unprotected: int  # ... of which so many are not
    most_lag: int  # tokens that are written and not held, of the sequence with the most
    copied_bytes: int  # of KV, since it was created, ...
    rewritten_bytes: int  # ... of which so many had been copied before
    packs_committed: int
    packs_failed: int
    steps_unprotected: int  # times that a step left a sequence unprotected
    packs_kept: int  # at the keeper now
    kept_bytes: int


class Replicator(Locked):
    """Closing it waits until what was posted so far has ended. What was committed stays with the
    keeper, for a reader; flush() comes first where the rest is to be. In a callback or kernel
    closing does nothing.

    Threads: calls on one replicator come one after the other, but wait(): while one is under way the
             runtime cannot be closed.
    """

    __slots__ = ("_layout",)
    _free = lib.aqua_replicator_free

    def __init__(self, runtime: "Runtime", handle: ReplicatorHandle, layout: Layout) -> None:
        super().__init__(runtime, handle, runtime._state.replicators, layout)
        self._layout = layout  # keeps its arrays

    @classmethod
    def create(
        cls,
        runtime: "Runtime",
        layout: Layout,
        owner: ReplicaOwner,
        shape: str,
        *,
        term: int,
        lag_tokens: int = 64,
        pack_steps: int = 8,
        pack_bytes: int = 8 << 20,
        max_bytes: int = 1 << 30,
        background_bytes: int = 16 << 20,
        digest: bool = False,
        keeper: str = "",
    ) -> "Replicator":
        """`owner`: this process's place. `shape`: model, dtype and the owner's part of the KV, which who
        reads it says, too. `term`: of the group, in which this process has its place: 1 at first, and a
        successor's is its ReplicaReader's, whose finish() drops what is committed in older ones.
        `lag_tokens`: beyond which a sequence is not protected. A pack is committed once `pack_steps` (at most
        lag_tokens) have gone into it, or `pack_bytes`. `max_bytes`: of all packs, at the keeper.
        `background_bytes`: what a step copies at most in addition to what it has computed. `digest`:
        a reader checks all bytes. `keeper`: the socket of the one beside the next stage; else
        $AQUA_KEEPER, else where aqua-keeper puts it. INVALID_ARGUMENT: what cannot be; UNAVAILABLE:
        no keeper listens; RESOURCE_EXHAUSTED: no room for the first packs."""
        options = CReplicatorOptions(
            owner=ctypes.pointer(owner._to_c()),
            shape=text(shape),
            keeper=text(keeper),
            term=size(term, "term", _UINT64),
            pack_bytes=size(pack_bytes, "pack_bytes"),
            max_bytes=size(max_bytes, "max_bytes"),
            background_bytes=size(background_bytes, "background_bytes"),
            lag_tokens=uint32(lag_tokens, "lag_tokens"),
            pack_steps=uint32(pack_steps, "pack_steps"),
            digest=int(digest),
        )
        handle = ReplicatorHandle()
        error = lib.aqua_replicator_create(runtime._handle, layout._handle, options, handle)
        if error:
            raise_error(error)
        return cls(runtime, handle, layout)

    def step(self, written: Sequence[WrittenTokens], stream: Stream = 0) -> Ticket:
        """The work posted to `stream` so far has written KV of these tokens; copies it behind that work:
        in this call, or in a later step() or flush(), whose stream the caller has ordered behind
        it. The ticket is of the copies that this call has posted. After finish() or without_blocks()
        none are posted any more: work behind those may write the blocks at once. KV from `first` on
        that was there before is no more. Where something cannot be copied this is no error: status()
        tells. INVALID_ARGUMENT, and nothing has changed: no ids, tokens missing before `first`,
        blocks without room, a sequence named twice."""
        kept: List[object] = []
        rows = []
        for each in written:
            blocks_kept, blocks, block_count = to_uint32(each.blocks)
            ids_kept, ids, id_count = to_uint32(each.ids, "ids")
            kept += (blocks_kept, ids_kept)
            rows.append(ctypes.pointer(CWrittenTokens(
                sequence=size(each.sequence, "sequence", _UINT64),
                blocks=blocks, block_count=block_count, ids=ids, id_count=id_count,
                sampler=each.sampler, sampler_bytes=len(each.sampler),
                first=uint32(each.first, "first"),
            )))
        ticket = TicketHandle()
        self._call(
            lib.aqua_replicator_step, (ctypes.POINTER(CWrittenTokens) * len(rows))(*rows),
            len(rows), native_stream(stream), ticket,
        )
        del kept
        return Ticket(ticket, self._layout)

    def flush(self, stream: Stream = 0) -> None:
        """Commits what has been copied so far, however little it is: before the engine rests. Also
        copies what is missing, up to background_bytes of it."""
        self._call(lib.aqua_replicator_flush, native_stream(stream))

    def without_blocks(self, sequence: int) -> None:
        """The sequence has given its blocks away and may get others; its replica stays."""
        self._call(lib.aqua_replicator_without_blocks, size(sequence, "sequence", _UINT64))

    def finish(self, sequence: int) -> None:
        """Nobody needs the sequence any more: its replica goes."""
        self._call(lib.aqua_replicator_finish, size(sequence, "sequence", _UINT64))

    def seal(self) -> None:
        """The group is in another term, and this process has not resumed in it: nothing is copied or
        committed until it does. Terms are counted by whoever replaces the dead."""
        self._call(lib.aqua_replicator_seal)

    def resume(self, term: int) -> None:
        self._call(lib.aqua_replicator_resume, size(term, "term", _UINT64))

    def adopt(self, reader: "ReplicaReader", sequence: int) -> None:
        """The sequence goes on here as the reader has last restored it, in the blocks that were given
        there. The dead owner's packs are its replica from now on, and nothing is copied again. Where
        the reader's owner, shape or keeper (as one that was started again) is not this one's,
        everything is copied anew, background_bytes a step. Another reader that finishes drops those
        packs unless it has restored the sequence, too. NOT_FOUND: the reader has restored nothing of
        it; INVALID_ARGUMENT: it was restored into another cache; ALREADY_EXISTS: it is known here;
        FAILED_PRECONDITION: the reader is of this owner, and of another term."""
        self._call(lib.aqua_replicator_adopt, reader._handle, size(sequence, "sequence", _UINT64))

    def reconnect(self) -> None:
        """Where the keeper has ended (status().connected), connects to the one that listens now; else
        does nothing. What of this replicator's packs that one has, as a keeper that had written them
        to its disk, is the replica still, but for copies of another server's; all else that it has of
        this replicator is dropped there. What is missing is copied again, background_bytes a step, out
        of the blocks that sequences have then. It comes before a reader is opened at that keeper.
        Waits, without the GIL, for the keeper and until what was posted so far has ended: no kernel
        may be in a call on the replicator meanwhile. UNAVAILABLE: no keeper listens yet."""
        self._call(lib.aqua_replicator_reconnect)

    def poll(self) -> None:
        """Takes up what the keeper has committed since the last call. Never waits. step() does so, too."""
        self._call(lib.aqua_replicator_poll)

    def wait(self, patience_ms: int) -> bool:
        """Waits, without the GIL, until there is something for poll() to take up. False: nothing came within that
        time. A replicator that is closed meanwhile goes when this returns, and until then its runtime
        cannot be closed. FAILED_PRECONDITION in a callback or kernel."""
        news = ctypes.c_int()
        error = lib.aqua_replicator_wait(self._handle, uint32(patience_ms, "patience_ms"), news)
        if error:
            raise_error(error)
        return bool(news.value)

    def watermark(self, sequence: int) -> int:
        """How many tokens are held, from the first on, as far as is known here."""
        tokens = ctypes.c_uint32()
        self._call(lib.aqua_replicator_get_watermark, size(sequence, "sequence", _UINT64), tokens)
        return tokens.value

    def unprotected(self) -> List[int]:
        """Sequences of which more than lag_tokens are written and not held."""
        sequences = ctypes.POINTER(ctypes.c_uint64)()
        count = ctypes.c_size_t()
        with self._lock:
            self._call(lib.aqua_replicator_unprotected, sequences, count)
            return sequences[: count.value]

    def status(self) -> ReplicatorStatus:
        c: Any = CReplicatorStatus()
        self._call(lib.aqua_replicator_get_status, c)
        return ReplicatorStatus(
            connected=bool(c.connected), error=c.error.decode("utf-8", "replace"),
            sequences=int(c.sequences), unprotected=int(c.unprotected), most_lag=int(c.most_lag),
            copied_bytes=int(c.copied_bytes), rewritten_bytes=int(c.rewritten_bytes),
            packs_committed=int(c.packs_committed), packs_failed=int(c.packs_failed),
            steps_unprotected=int(c.steps_unprotected), packs_kept=int(c.packs_kept),
            kept_bytes=int(c.kept_bytes),
        )
