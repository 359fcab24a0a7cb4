# SPDX-License-Identifier: Apache-2.0
"""Moves blocks between a worker's KV cache and the chunks kept in AquaTensors."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Deque, Dict, List, Optional, Sequence, Set

from vllm.v1.kv_offload.base import (
    BlockIDsLoadStoreSpec,
    CanonicalKVCaches,
    GPULoadStoreSpec,
    LoadStoreSpec,
    OffloadingWorker,
    TransferResult,
)

from .._errors import Code, Error
from ..layout import Layout
from ..runtime import Runtime
from ..transfer import Ticket
from .chunks import Chunks
from .groups import Group
from .lanes import Lane
from .pieces import Piece, pieces

_log = logging.getLogger(__name__)


@dataclass
class _Job:
    lane: Lane
    stored: List[int]  # chunks that it writes; empty for a load
    start: Any
    end: Any = None
    bytes: int = 0
    tickets: Deque[Ticket] = field(default_factory=deque)
    failure: Optional[Error] = None


@dataclass
class Lanes:
    store: Lane
    load: Lane
    expedited: Lane  # so that a load that is waited for does not queue behind others


class AquaOffloadingWorker(OffloadingWorker):
    """Runs in a worker process of vLLM, on one thread. Submitting queues device work and returns;
    wait() and shutdown() wait, without the GIL.

    A job that fails is reported as such once none of its work can touch memory any more; what it
    stored counts as lost.
    """

    def __init__(
        self,
        runtime: Runtime,
        kv_caches: CanonicalKVCaches,
        lanes: Lanes,
        *,
        blocks_per_chunk: int,
        chunk_count: int,
        tensor_bytes: int,
        close_runtime: bool,
    ) -> None:
        self._runtime = runtime
        self._lanes = lanes
        self._blocks_per_chunk = blocks_per_chunk
        self._close_runtime = close_runtime
        self._jobs: Dict[int, _Job] = {}
        self._groups = [
            Group(kv_caches, g, blocks_per_chunk) for g in range(len(kv_caches.group_data_refs))
        ]
        chunk_bytes = blocks_per_chunk * max((g.bytes_per_block for g in self._groups), default=0)
        self._chunks = Chunks(runtime, chunk_count, chunk_bytes, tensor_bytes)
        self._open = True

    def submit_store(
        self, job_id: int, src_spec: GPULoadStoreSpec, dst_spec: LoadStoreSpec
    ) -> bool:
        return self._submit(job_id, src_spec, dst_spec, self._lanes.store, self._store)

    def submit_load(
        self,
        job_id: int,
        src_spec: LoadStoreSpec,
        dst_spec: GPULoadStoreSpec,
        expedited: bool = False,
    ) -> bool:
        lane = self._lanes.expedited if expedited else self._lanes.load
        return self._submit(job_id, dst_spec, src_spec, lane, self._load)

    def get_finished(self) -> List[TransferResult]:
        finished = []
        for job_id, job in list(self._jobs.items()):
            while job.tickets and _is_over(job.tickets[0], job):
                job.tickets.popleft().close()
            if not job.tickets:
                del self._jobs[job_id]
                finished.append(self._result(job_id, job))
        return finished

    def wait(self, job_ids: Set[int]) -> None:
        for job_id in job_ids:
            job = self._jobs.get(job_id)
            for ticket in job.tickets if job is not None else ():
                try:
                    ticket.wait()
                except Error:
                    pass  # get_finished() asks it again

    def shutdown(self) -> None:
        """Ends what is under way, then gives everything back. Nothing can be submitted after."""
        if not self._open:
            return
        self._open = False
        self.wait(set(self._jobs))
        for job in self._jobs.values():
            for ticket in job.tickets:
                ticket.close()
        self._jobs.clear()
        self._chunks.close()
        for group in self._groups:
            group.close()
        if self._close_runtime:
            self._runtime.close()

    def _submit(
        self, job_id: int, gpu: GPULoadStoreSpec, spec: LoadStoreSpec, lane: Lane, post: Any
    ) -> bool:
        """False, with nothing queued, when the job is not possible."""
        try:
            wanted = self._checked(job_id, gpu, spec)
        except ValueError as error:
            _log.error("KV offload job %d is refused: %s", job_id, error)
            return False
        lane.follow_engine()
        stored = [piece.chunk for piece in wanted] if post == self._store else []
        job = _Job(lane, stored, lane.stamp())
        self._jobs[job_id] = job
        try:
            for piece in wanted:
                post(piece, job)
                job.bytes += len(piece.blocks) * self._groups[piece.group].bytes_per_block
        except Error as error:
            job.failure = error  # the rest is not posted; what is, ends first
        job.end = lane.stamp()
        return True

    def _checked(self, job_id: int, gpu: GPULoadStoreSpec, spec: LoadStoreSpec) -> Sequence[Piece]:
        if not self._open:
            raise ValueError("the worker is shut down")
        if job_id in self._jobs:
            raise ValueError("a job of this number is under way")
        if not isinstance(spec, BlockIDsLoadStoreSpec):
            raise ValueError(f"a {type(spec).__name__} names no chunks")
        if len(gpu.group_sizes) != len(self._groups):
            raise ValueError(f"{len(gpu.group_sizes)} groups, the KV cache has {len(self._groups)}")
        wanted = list(pieces(gpu, spec, self._blocks_per_chunk))
        for piece in wanted:
            self._chunks.check(piece.chunk)
        return wanted

    def _store(self, piece: Piece, job: _Job) -> None:
        before = len(job.tickets)
        try:
            self._store_once(piece, job)
        except Error as error:
            if error.code is not Code.DATA_LOSS or len(job.tickets) != before:
                raise
            _log.warning("KV offload: memory of chunk %d died; it gets other", piece.chunk)
            self._chunks.replace(piece.chunk)
            self._store_once(piece, job)

    def _store_once(self, piece: Piece, job: _Job) -> None:
        tensor, start = self._chunks.place_to_store(piece.chunk)

        def move(layout: Layout, blocks: Any, offset: int) -> Ticket:
            return self._runtime.offload(layout, blocks, tensor, job.lane.stream, start + offset)

        self._groups[piece.group].move(move, piece.first, piece.blocks, job.tickets)

    def _load(self, piece: Piece, job: _Job) -> None:
        tensor, start = self._chunks.place_to_load(piece.chunk)

        def move(layout: Layout, blocks: Any, offset: int) -> Ticket:
            return self._runtime.fetch(tensor, layout, blocks, job.lane.stream, start + offset)

        self._groups[piece.group].move(move, piece.first, piece.blocks, job.tickets)

    def _result(self, job_id: int, job: _Job) -> TransferResult:
        if job.failure is None:
            seconds = job.lane.seconds(job.start, job.end)
            return TransferResult(job_id, True, job.bytes, seconds)
        for chunk in job.stored:
            self._chunks.forget(chunk)
        _log.error("KV offload job %d failed: %s", job_id, job.failure)
        return TransferResult(job_id, False)


def _is_over(ticket: Ticket, job: _Job) -> bool:
    """Whether none of its work can touch memory any more; notes the failure of one that failed."""
    try:
        return ticket.done()
    except Error as first:
        # An error that the next question repeats is the transfer's; otherwise asking failed.
        try:
            return ticket.done()
        except Error as second:
            if second.code is not first.code or second.code is Code.UNAVAILABLE:
                return False
            if job.failure is None:
                job.failure = second
            return True
