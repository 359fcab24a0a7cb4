# SPDX-License-Identifier: Apache-2.0
"""What packers answer: plans, and how engines and requests stand. Units: tokens of KV."""

from __future__ import annotations

import enum
from typing import Any, List, NamedTuple


class Reason(enum.IntEnum):
    """Why a request goes where it goes."""

    BEST_FIT = 0  # of the engines with room for it, the one with the least
    WORST_FIT = 1  # of the engines with room for it, the one with the most
    PREFIX = 2  # the prefix that it shares is there
    BESIDE_LARGE = 3  # beside a request larger than half an engine, in what that leaves
    FILLS_GAP = 4  # an engine is less than three quarters full
    WAKES = 5  # no active engine has room: one that sleeps is woken
    WAITS = 6  # no engine has room
    OVERLOAD = 7  # its engine is full, because of growth or of a smaller pool
    DRAINS = 8  # its engine is to leave
    BALANCES = 9  # its engine has more load than another
    EMPTIES = 10  # all of its engine's requests fit elsewhere, so that the engine is freed
    COMPLETES = 11  # two medium or three small requests are to fill an engine
    MAKES_ROOM = 12  # a larger request needs the place

    def __str__(self) -> str:
        return self.name.lower()


class EngineState(enum.IntEnum):
    ASLEEP = 0  # holds nothing, and its pool may be lent or the engine be switched off
    ACTIVE = 1
    DRAINING = 2  # gets nothing more, and its requests are moved away


class RequestState(enum.IntEnum):
    WAITING = 0  # on no engine
    RESIDENT = 1  # on an engine
    MOVING = 2  # ordered away: it holds room on both engines, until moved() or failed()


class Placement(NamedTuple):
    request: int
    engine: int  # 0: it waits, and a later plan places it
    reason: Reason
    wakes: bool  # this placement wakes the engine; send nothing before it is up


class Move(NamedTuple):
    """Send the request's KV from one engine to the other, or its tokens, to be computed there; then
    say moved(), or failed()."""

    request: int
    from_: int
    to: int
    tokens: int  # to be copied or computed: its KV, without a prefix that is there already
    bytes: int  # the same
    reason: Reason
    stage: int  # moves of a stage may all begin when those of earlier stages are over
    dropped: bool  # drop its KV before stage 0, and compute it again on `to` in its stage


class Preemption(NamedTuple):
    """Drop its KV: it waits, and is placed again."""

    request: int
    engine: int
    tokens: int  # of its KV, without its prefix


class Certificate(NamedTuple):
    """How many engines the plan needs once its moves are over, held against how few could do."""

    engines: int  # that hold requests
    bound: int  # no packing has fewer
    within: bool  # engines <= 4/3 * bound + 3
    properties: bool  # what proves engines <= 4/3 of the best packing + 2 holds


class Plan(NamedTuple):
    """Orders hold from the moment epoch() returned them and appear once. In this order:
    preemptions, engines to wake, moves by stage, placements."""

    number: int  # of the epoch, from 1
    preemptions: List[Preemption]
    wake: List[int]  # engines
    moves: List[Move]  # by stage
    placements: List[Placement]  # of requests that waited
    freed: List[int]  # engines that are asleep from now on
    drained: List[int]  # engines of drain() that may leave; every time
    too_large: List[int]  # requests that wait and that no engine takes; every time
    move_limit: int  # of this epoch, in requests
    certificate: Certificate


class EngineStatus(NamedTuple):
    state: EngineState
    kv_tokens: int
    usable_tokens: int  # what may be filled: kv_tokens less the watermark
    held_tokens: int  # by residents and by both ends of moves, prefixes once
    leaving_tokens: int  # of these, what moves away
    residents: int  # that are not moving
    coming: int  # moves under way
    leaving: int


class RequestStatus(NamedTuple):
    state: RequestState
    engine: int  # where it is, or moves to; 0: it waits
    from_: int  # where it moves from, if its KV is still there
    own_tokens: int  # what it takes by itself, in whole blocks; its prefix is not in it
    prefix_tokens: int


class PackerStatus(NamedTuple):
    waiting: int  # requests
    resident: int
    moving: int
    asleep: int  # engines
    active: int
    draining: int
    held_tokens: int  # over all engines, both ends of moves, prefixes once an engine
    held_bytes: int
    moves: int  # ordered, since the packer was made, as the next
    moved_tokens: int
    moved_bytes: int
    preemptions: int
    looked_at: int  # entries of its indexes: what decisions cost, counted


def placement_of(c: Any) -> Placement:
    return Placement(c.request, c.engine, Reason(c.reason), c.wakes != 0)


def move_of(c: Any) -> Move:
    return Move(c.request, getattr(c, "from"), c.to, c.tokens, c.bytes, Reason(c.reason), c.stage,
                c.dropped != 0)
