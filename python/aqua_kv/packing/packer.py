# SPDX-License-Identifier: Apache-2.0
"""Packer: see aqua_kv.packing."""

from __future__ import annotations

import ctypes
import threading
from typing import Any, List, Tuple

from .._c import packer_structs as p
from .._errors import check
from .._library import lib
from .._numbers import size, text, uint32
from .._owned import Owned
from .plan import (
    Certificate,
    EngineState,
    EngineStatus,
    PackerStatus,
    Placement,
    Plan,
    Preemption,
    RequestState,
    RequestStatus,
    move_of,
    placement_of,
)

_MOST = 2**64 - 1


class Packer(Owned):
    """Decides; the caller carries out.

    Errors: NOT_FOUND: no such request or engine. A call that fails changes nothing, but where memory
    runs out in its middle: every later one says FAILED_PRECONDITION then.
    Threads: calls on one packer come one after the other, each waiting for the one before.
    """

    __slots__ = ("_lock",)
    _free = lib.aqua_packer_free

    def __init__(self, handle: p.PackerHandle) -> None:
        super().__init__(handle, None)
        # What the library lists of a plan is good until the next one.
        self._lock = threading.Lock()

    def _end(self) -> None:
        with self._lock:
            super()._end()

    @classmethod
    def create(
        cls,
        policy: str = "",
        *,
        watermark: float = 0.05,
        max_moves: int = 10,
        max_move_tokens: int = 0,
        reserve: bool = False,
        near_slack: float = 0.05,
        balance_gap: float = 0.1,
        block_tokens: int = 16,
        bytes_per_token: int = 1,
    ) -> "Packer":
        """One of policies(); the default is the first. The options are those of
        aqua/packing/options.hpp. INVALID_ARGUMENT names what cannot be."""
        options = p.CPackerOptions(
            watermark=watermark,
            max_moves=_above_0(uint32(max_moves, "max_moves"), "max_moves"),
            max_move_tokens=size(max_move_tokens, "max_move_tokens", _MOST),
            reserve=1 if reserve else 0,
            near_slack=near_slack,
            balance_gap=balance_gap,
            block_tokens=_above_0(size(block_tokens, "block_tokens", _MOST), "block_tokens"),
            bytes_per_token=_above_0(
                size(bytes_per_token, "bytes_per_token", _MOST), "bytes_per_token"),
        )
        handle = p.PackerHandle()
        check(lib.aqua_packer_create(text(policy), options, handle))
        return cls(handle)

    def join(self, engine: int, kv_tokens: int, *, server: int = 0, domain: int = 0,
             wake_cost: float = 0.0) -> None:
        """An engine comes, which sleeps until it is woken. ALREADY_EXISTS; INVALID_ARGUMENT names
        the field."""
        check(lib.aqua_packer_join(self._handle, p.CPackerEngine(
            id=number(engine, "engine"), kv_tokens=number(kv_tokens, "kv_tokens"),
            server=number(server, "server"), domain=number(domain, "domain"), wake_cost=wake_cost)))

    def resize(self, engine: int, kv_tokens: int) -> None:
        """Its pool has another capacity: memory was lent, or came back."""
        check(lib.aqua_packer_resize(
            self._handle, number(engine, "engine"), number(kv_tokens, "kv_tokens")))

    def drain(self, engine: int) -> None:
        """Gets nothing more, and plans move its requests away. FAILED_PRECONDITION: it is draining.
        """
        check(lib.aqua_packer_drain(self._handle, number(engine, "engine")))

    def gone(self, engine: int) -> None:
        """Forgets it. FAILED_PRECONDITION: requests are on it, or moves are under way."""
        check(lib.aqua_packer_gone(self._handle, number(engine, "engine")))

    def lost(self, engine: int) -> List[int]:
        """It died with what was on it: answers those requests, which wait from now on."""
        requests, count = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_size_t()
        with self._lock:
            check(lib.aqua_packer_lost(self._handle, number(engine, "engine"), requests, count))
            return list(requests[: count.value])

    def arrive(self, request: int, tokens: int, *, max_new: int = 0, prefix: int = 0,
               prefix_tokens: int = 0) -> Placement:
        """Answers at once where it goes. ALREADY_EXISTS; INVALID_ARGUMENT names the field;
        RESOURCE_EXHAUSTED: it is larger than what may be filled of any engine."""
        placed = p.CPackerPlacement()
        check(lib.aqua_packer_arrive(self._handle, p.CPackerRequest(
            id=number(request, "request"), tokens=number(tokens, "tokens"),
            max_new=number(max_new, "max_new"), prefix=number(prefix, "prefix"),
            prefix_tokens=number(prefix_tokens, "prefix_tokens")), placed))
        return placement_of(placed)

    def grew(self, request: int, tokens: int) -> None:
        """It holds, or is about to hold, so many tokens in all. INVALID_ARGUMENT: fewer than before.
        """
        check(lib.aqua_packer_grew(self._handle, number(request, "request"), number(tokens, "tokens")))

    def ended(self, request: int) -> None:
        """It ended or was aborted, in whatever state: report nothing more about this id."""
        check(lib.aqua_packer_ended(self._handle, number(request, "request")))

    def epoch(self) -> Plan:
        """The next plan."""
        c: Any = p.CPackerPlan()
        with self._lock:
            check(lib.aqua_packer_epoch(self._handle, c))
            given = c.certificate
            return Plan(
                c.number,
                [Preemption(o.request, o.engine, o.tokens)
                 for o in c.preemptions[: c.preemption_count]],
                list(c.wake[: c.wake_count]),
                [move_of(o) for o in c.moves[: c.move_count]],
                [placement_of(o) for o in c.placements[: c.placement_count]],
                list(c.freed[: c.freed_count]),
                list(c.drained[: c.drained_count]),
                list(c.too_large[: c.too_large_count]),
                c.move_limit,
                Certificate(given.engines, given.bound, given.within != 0, given.properties != 0),
            )

    def moved(self, request: int, plan: int) -> None:
        """The move that plan number `plan` ordered is over, and its KV on the old engine gone.
        FAILED_PRECONDITION: that plan was overtaken."""
        check(lib.aqua_packer_moved(self._handle, number(request, "request"), number(plan, "plan")))

    def failed(self, request: int, plan: int) -> None:
        """The move was not done: the request is where it was, or waits if its KV was dropped.
        FAILED_PRECONDITION as above."""
        check(lib.aqua_packer_failed(self._handle, number(request, "request"), number(plan, "plan")))

    def engine(self, engine: int) -> EngineStatus:
        told = p.CPackerEngineStatus()
        check(lib.aqua_packer_get_engine(self._handle, number(engine, "engine"), told))
        state, *numbers = _fields(told)
        return EngineStatus(EngineState(state), *numbers)

    def request(self, request: int) -> RequestStatus:
        told = p.CPackerRequestStatus()
        check(lib.aqua_packer_get_request(self._handle, number(request, "request"), told))
        state, *numbers = _fields(told)
        return RequestStatus(RequestState(state), *numbers)

    def status(self) -> PackerStatus:
        told = p.CPackerStatus()
        check(lib.aqua_packer_get_status(self._handle, told))
        return PackerStatus(*_fields(told))


def policies() -> List[str]:
    """The names of the policies, the default first."""
    names: List[str] = []
    while True:
        name = lib.aqua_packer_policy(len(names))
        if name is None:
            return names
        names.append(name.decode())


def number(value: int, what: str) -> int:
    """An id, or tokens."""
    return size(value, what, _MOST)


# 0 stands for the default in C; here the default is written.
def _above_0(value: int, what: str) -> int:
    if value == 0:
        raise ValueError(f"{what} is 0; 1 is the least")
    return value


def _fields(c: Any) -> Tuple[Any, ...]:
    return tuple(getattr(c, name) for name, *_ in c._fields_[1:])
