# SPDX-License-Identifier: Apache-2.0
"""Which chunk of the offloaded cache holds what; least recently used ones make room.

A key is in one of three states: being stored (its chunk is taken, nobody may read), in use
(readers > 0), idle (may be evicted). Only idle keys are in _idle, oldest first.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Collection, Dict, Iterable, List, Optional, Sequence

from vllm.v1.kv_offload.base import (
    LoadStoreSpec,
    LookupResult,
    Medium,
    OffloadingEvent,
    OffloadingManager,
    OffloadKey,
    PrepareStoreOutput,
    ReqContext,
    RequestOffloadingContext,
)
from vllm.v1.metrics.cache_hit_source import CacheHitSource

from .load_store import AquaLoadStoreSpec


@dataclass
class _Entry:
    chunk: int
    ready: bool = False
    readers: int = 0


class AquaOffloadingManager(OffloadingManager):
    """Runs in vLLM's scheduler, on one thread; touches no memory and no device."""

    def __init__(self, chunk_count: int, enable_events: bool = False) -> None:
        self._chunk_count = chunk_count
        self._entries: Dict[OffloadKey, _Entry] = {}
        self._idle: "OrderedDict[OffloadKey, None]" = OrderedDict()
        self._free: List[int] = []
        self._never_used = 0  # chunks from here on
        self._events: Optional[List[OffloadingEvent]] = [] if enable_events else None

    def on_new_request(self, req_context: ReqContext) -> RequestOffloadingContext:
        return RequestOffloadingContext()

    def lookup(self, key: OffloadKey, req_context: ReqContext) -> LookupResult:
        entry = self._entries.get(key)
        if entry is None:
            return LookupResult.MISS
        return LookupResult.HIT if entry.ready else LookupResult.HIT_PENDING

    def get_load_source(self, key: OffloadKey, req_context: ReqContext) -> CacheHitSource:
        # Which tier a chunk is in is known to its worker alone, and changes; all are this server's.
        return CacheHitSource.HOST

    def prepare_load(
        self, keys: Collection[OffloadKey], req_context: ReqContext
    ) -> LoadStoreSpec:
        entries = []
        for key in keys:
            entry = self._entries.get(key)
            if entry is None or not entry.ready:
                raise KeyError(f"prepare_load: {key!r} is not stored; lookup() said so")
            entries.append(entry)
        for key, entry in zip(keys, entries):
            entry.readers += 1
            self._idle.pop(key, None)
        return AquaLoadStoreSpec([entry.chunk for entry in entries])

    def complete_load(self, keys: Collection[OffloadKey], req_context: ReqContext) -> None:
        for key in _tail_first(keys):
            entry = self._entries[key]
            entry.readers -= 1
            if entry.readers == 0:
                self._idle[key] = None

    def touch(self, keys: Collection[OffloadKey], req_context: ReqContext) -> None:
        for key in _tail_first(keys):
            if key in self._idle:
                self._idle.move_to_end(key)

    def prepare_store(
        self, keys: Collection[OffloadKey], req_context: ReqContext
    ) -> Optional[PrepareStoreOutput]:
        missing = [key for key in dict.fromkeys(keys) if key not in self._entries]
        evicted = self._choose(len(missing) - self._free_chunks(), keys)
        if evicted is None:
            return None
        for key in evicted:
            self._remove(key)
        self._tell(evicted, removed=True)
        chunks = [self._take_chunk() for _ in missing]
        for key, chunk in zip(missing, chunks):
            self._entries[key] = _Entry(chunk)
        return PrepareStoreOutput(missing, AquaLoadStoreSpec(chunks), evicted)

    def complete_store(
        self, keys: Collection[OffloadKey], req_context: ReqContext, success: bool = True
    ) -> None:
        ended = [key for key in keys if self._being_stored(key)]
        for key in _tail_first(ended):
            if success:
                self._entries[key].ready = True
                self._idle[key] = None
            else:
                self._remove(key)
        # Nobody was told anything of a failed store: only vLLM's own notes of it are to go.
        self._tell(ended, removed=not success, metadata_only=not success)

    def take_events(self) -> Iterable[OffloadingEvent]:
        if self._events is None:
            return ()
        events, self._events = self._events, []
        return events

    def reset_cache(self) -> None:
        """vLLM completes nothing of before any more, and has its workers end what is under way
        before it stores anew."""
        self._entries.clear()
        self._idle.clear()
        self._free.clear()
        self._never_used = 0

    def shutdown(self) -> None:
        self.reset_cache()

    def _being_stored(self, key: OffloadKey) -> bool:
        entry = self._entries.get(key)
        return entry is not None and not entry.ready

    def _choose(self, count: int, kept: Collection[OffloadKey]) -> Optional[List[OffloadKey]]:
        """The `count` longest unused keys but those `kept`; None when there are not so many."""
        chosen: List[OffloadKey] = []
        if count <= 0:
            return chosen
        if count > len(self._idle):
            return None
        protected = set(kept)
        for key in self._idle:
            if key not in protected:
                chosen.append(key)
                if len(chosen) == count:
                    return chosen
        return None

    def _free_chunks(self) -> int:
        return len(self._free) + self._chunk_count - self._never_used

    def _take_chunk(self) -> int:
        if self._free:
            return self._free.pop()
        self._never_used += 1
        return self._never_used - 1

    def _remove(self, key: OffloadKey) -> None:
        self._free.append(self._entries.pop(key).chunk)
        self._idle.pop(key, None)

    def _tell(
        self, keys: List[OffloadKey], *, removed: bool, metadata_only: bool = False
    ) -> None:
        if keys and self._events is not None:
            self._events.append(
                OffloadingEvent(
                    keys=list(keys), medium=Medium.CPU, removed=removed, metadata_only=metadata_only
                )
            )


def _tail_first(keys: Collection[OffloadKey]) -> Sequence[OffloadKey]:
    """The head of a prefix is of use to more requests than its tail: it becomes the most recently
    used."""
    return list(keys)[::-1]
