# SPDX-License-Identifier: Apache-2.0
"""A second implementation of the policy `mell`, written from the paper (Mell, sections IV to VII) and
docs/plan/packing.md alone, to be compared with the library's. It scans where that has indexes; its
decisions are its own wherever paper and page leave one open.

Also what such a comparison is judged by: the five properties, Martello and Toth's L2, and exact
packings of few requests. Units: tokens. Engines are alike, and requests share no prefixes.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Dict, Iterable, List, Mapping, NamedTuple, Sequence, Tuple

T, S, M, L = range(4)  # classes, the smaller the lower


def class_of(tokens: int, capacity: int) -> int:
    """L above half of an engine, M above a third, S above a quarter, T the rest."""
    return next((c for c, parts in ((L, 2), (M, 3), (S, 4)) if parts * tokens > capacity), T)


# --- what an assignment is judged by --------------------------------------------------------------


def broken_properties(engines: Iterable[Sequence[int]], capacity: int) -> List[int]:
    """Which of the five properties do not hold, of the sizes on each engine.

    An L has room for what fits beside it alone: T beside it give way (property 4), or else the proof
    of 4/3 fails. With engines of T, the one incomplete engine of M or S is three quarters full as
    well (property 5): it is among "all others".
    """
    held = [(Counter(class_of(tokens, capacity) for tokens in on), on) for on in engines if on]
    kinds = [(max(classes), classes, on) for classes, on in held]
    below = [(kind, 4 * sum(on) < 3 * capacity) for kind, _, on in kinds]
    loose = [t for kind, _, on in kinds if kind != L for t in on if class_of(t, capacity) != T]
    alone = [max(on) for kind, classes, on in kinds if kind == L and not classes[S] + classes[M]]
    holds = {
        1: sum(kind == M and classes[M] < 2 for kind, classes, _ in kinds) <= 1,
        2: sum(kind == S and classes[S] < 3 for kind, classes, _ in kinds) <= 1,
        3: sum(kind == T and gap for kind, gap in below) <= 1,
        4: not loose or not alone or min(loose) + min(alone) > capacity,
        5: all(kind != T for kind, _ in below) or not any(kind != T and gap for kind, gap in below),
    }
    return [number for number, kept in holds.items() if not kept]


def most_engines(best: int) -> int:
    """How many engines the five properties allow where the best packing has `best`.

    The page proves 4/3 of the best and 2. Its proof gives 7/6 in place of 2: the one incomplete engine
    of M has an M, and lacks 1/2 of weight at most, the one of S lacks 2/3 at most; and with engines of
    T all but one are three quarters full, which is 4/3 and 1.
    """
    return (8 * best + 7) // 6


def lower_bound(sizes: Sequence[int], capacity: int) -> int:
    """Martello and Toth's L2 (1990), from its definition. For every threshold: what is above
    capacity - threshold has an engine for itself, what else is above half has one too, and what is
    from the threshold to half fills what these leave, and then engines of its own."""
    best = 0
    for threshold in {0, *(tokens for tokens in sizes if 2 * tokens <= capacity)}:
        alone = sum(tokens > capacity - threshold for tokens in sizes)
        large = [t for t in sizes if t <= capacity - threshold and 2 * t > capacity]
        small = sum(t for t in sizes if t >= threshold and 2 * t <= capacity)
        over = small - (len(large) * capacity - sum(large))
        best = max(best, alone + len(large) + max(0, -(-over // capacity)))
    return best


def exact(sizes: Sequence[int], capacity: int) -> int:
    """The fewest engines that hold all of it. For up to some twelve requests."""
    return _exact(tuple(sorted(sizes, reverse=True)), capacity)


@lru_cache(maxsize=None)
def _exact(sizes: Tuple[int, ...], capacity: int) -> int:
    def fits(place: int, rooms: Tuple[int, ...]) -> bool:
        if place == len(sizes):
            return True
        return any(
            fits(place + 1, tuple(sorted(rooms[:i] + (room - sizes[place],) + rooms[i + 1:])))
            for i, room in enumerate(rooms) if room >= sizes[place] and room not in rooms[:i])

    engines = lower_bound(sizes, capacity)
    while not fits(0, (capacity,) * engines):
        engines += 1
    return engines


# --- the policy -----------------------------------------------------------------------------------


class ReferenceMove(NamedTuple):
    request: int
    from_: int
    to: int
    stage: int
    dropped: bool  # its KV is dropped before stage 0: it breaks a cycle


class ReferencePlan(NamedTuple):
    preemptions: List[Tuple[int, int]]  # request, engine
    moves: List[ReferenceMove]  # by stage
    placements: List[Tuple[int, int]]  # request, engine: of those that waited


class MellReference:
    """Places at once, and repairs the whole at each epoch. Engines 1, 2, ... are as many as it takes.

    A request that was preempted is placed by the next plan; nobody else waits. Orders of a plan count
    as carried out when epoch() returns.
    """

    def __init__(self, capacity: int, max_moves: int = 1 << 30) -> None:
        self.capacity = capacity
        self.max_moves = max_moves  # of an epoch, or those of one repair that takes more
        self._tokens: Dict[int, int] = {}
        self._at: Dict[int, int] = {}  # where each request is that does not wait
        self._on: Dict[int, List[int]] = {}  # requests of each engine that has any
        self._waiting: List[int] = []
        self._kept: Mapping[int, int] = {}  # _at as it was when the epoch began

    def arrive(self, request: int, tokens: int) -> int:
        self._tokens[request] = tokens
        return self._place(request)

    def grew(self, request: int, tokens: int) -> None:
        self._tokens[request] = tokens

    def ended(self, request: int) -> None:
        if request in self._at:
            self._take(request)
        else:
            self._waiting.remove(request)
        del self._tokens[request]

    def epoch(self) -> ReferencePlan:
        before = self._kept = dict(self._at)
        waited, self._waiting = self._waiting, []
        while True:
            saved = dict(self._at)
            if not self._repair():
                break
            moved = sum(before[r] != engine for r, engine in self._at.items())
            if moved > self.max_moves and saved != before:
                self._restore(saved)
                break
        preempted = []
        for engine in sorted(self._on):
            for request in self._relieved(engine, L):
                self._waiting.append(request)
                preempted.append((request, before[request]))
        moves = self._stages(before)
        placed = [(request, self._place(request)) for request in waited]
        self._kept = {}
        return ReferencePlan(preempted, moves, placed)

    # Places: best fit among the engines that the class prefers, then among all, then another engine.
    def _place(self, request: int) -> int:
        kind, tokens = self._class(request), self._tokens[request]
        roomy = [e for e in self._on if self._used(e) + tokens <= self.capacity]
        wanted: List[List[int]] = []
        if kind == T:
            gaps = [e for e in roomy if self._gap(e)]
            wanted = [[e for e in gaps if self._kind(e) != T], gaps]
        elif kind in (S, M):
            wanted = [
                [e for e in roomy if self._kind(e) == L],
                [e for e in roomy if self._kind(e) == kind],
                [e for e in roomy if self._kind(e) == M],
            ]
        for engines in (*wanted, roomy):
            if engines:
                return self._put(request, min(engines, key=lambda e: (-self._used(e), e)))
        # An engine that this plan empties is not woken by it: what leaves it would be in the way.
        busy = {*self._on, *self._kept.values()}
        return self._put(request, next(e for e in range(1, len(busy) + 2) if e not in busy))

    # One repair, of the first property that is broken. Nothing that a later one does breaks an
    # earlier property: mates stay, no M moves once M are paired, no S once there are three.
    def _repair(self) -> bool:
        return (self._relieve() or self._give_mate() or self._pair() or self._complete()
                or self._fill_others() or self._fill_tiny())

    def _relieve(self) -> bool:
        for engine in sorted(self._on):
            moved = self._relieved(engine, L)
            for request in moved:
                self._place(request)
            if moved:
                return True
        return False

    # Property 4. The L with the least room first, and the largest S or M that fits there: this gives
    # mates to as many L as can have one.
    def _give_mate(self) -> bool:
        alone = [(max(self._tokens[r] for r in on), engine) for engine, on in self._on.items()
                 if self._kind(engine) == L and not self._count(engine, S) + self._count(engine, M)]
        for tokens, engine in sorted(alone, reverse=True):
            # Among equal ones, one whose engine is the emptiest.
            fitting = [(self._tokens[r], -self._used(e), r) for r, e in self._at.items()
                       if self._kind(e) != L and self._class(r) in (S, M)
                       and self._tokens[r] + tokens <= self.capacity]
            if fitting:
                self._move_in(max(fitting)[2], engine)
                return True
        return False

    # Property 1: the M of the emptiest engine that has one M joins that of the next.
    def _pair(self) -> bool:
        single = sorted((self._used(e), e) for e in self._on
                        if self._kind(e) == M and self._count(e, M) == 1)
        if len(single) < 2:
            return False
        self._move_in(self._largest(single[0][1], M), single[1][1])
        return True

    # Property 2: from the engine of S with the fewest to the one that lacks the fewest.
    def _complete(self) -> bool:
        short = sorted((self._count(e, S), self._used(e), e) for e in self._on
                       if self._kind(e) == S and self._count(e, S) < 3)
        if len(short) < 2:
            return False
        self._move_in(self._largest(short[0][2], S), short[-1][2])
        return True

    # Property 5, and then 3: the T of the emptiest engine of T, the largest first. Any T fits where
    # less than three quarters are taken.
    def _fill_others(self) -> bool:
        tiny = sorted((self._used(e), e) for e in self._on if self._kind(e) == T)
        gaps = sorted((-self._used(e), e) for e in self._on if self._kind(e) != T and self._gap(e))
        if not tiny or not gaps:
            return False
        self._move_in(self._largest(tiny[0][1], T), gaps[0][1])
        return True

    def _fill_tiny(self) -> bool:
        gaps = sorted((self._used(e), e) for e in self._on if self._kind(e) == T and self._gap(e))
        if len(gaps) < 2:
            return False
        self._move_in(self._largest(gaps[0][1], T), gaps[-1][1])
        return True

    # Moves it there; what is of a lower class gives way and is placed again.
    def _move_in(self, request: int, engine: int) -> None:
        self._take(request)
        self._put(request, engine)
        for moved in self._relieved(engine, self._class(request) - 1):
            self._place(moved)

    # Takes as few requests from an engine that is too full as do, none above the class `most`: the
    # smallest that does it alone, or else the largest and then on. Answers them, the largest first.
    def _relieved(self, engine: int, most: int) -> List[int]:
        taken = []
        while engine in self._on and self._used(engine) > self.capacity:
            over = self._used(engine) - self.capacity
            able = sorted((self._tokens[r], r) for r in self._on[engine] if self._class(r) <= most)
            request = next((r for tokens, r in able if tokens >= over), able[-1][1])
            self._take(request)
            taken.append(request)
        return sorted(taken, key=lambda r: (-self._tokens[r], r))

    # Orders of moves from `before` to how it is now. A move begins when there is room for it, with
    # both ends held; of moves that wait for each other the smallest is dropped.
    def _stages(self, before: Mapping[int, int]) -> List[ReferenceMove]:
        held: "Counter[int]" = Counter()
        for request, engine in before.items():
            if request in self._at:
                held[engine] += self._tokens[request]
        pending = {r: before[r] for r, engine in self._at.items() if before[r] != engine}
        dropped = set()
        moves: List[ReferenceMove] = []
        stage = 0
        while pending:
            ready = []
            for request in sorted(pending, key=lambda r: (-self._tokens[r], r)):
                to, tokens = self._at[request], self._tokens[request]
                if held[to] + tokens <= self.capacity:
                    held[to] += tokens
                    ready.append(request)
            if not ready:
                stuck = [r for r in pending if r not in dropped]
                smallest = min(stuck, key=lambda r: (self._tokens[r], r))
                held[pending[smallest]] -= self._tokens[smallest]
                dropped.add(smallest)
                continue
            for request in ready:
                from_ = pending.pop(request)
                if request not in dropped:
                    held[from_] -= self._tokens[request]
                moves.append(
                    ReferenceMove(request, from_, self._at[request], stage, request in dropped))
            stage += 1
        return moves

    def _class(self, request: int) -> int:
        return class_of(self._tokens[request], self.capacity)

    def _used(self, engine: int) -> int:
        return sum(self._tokens[request] for request in self._on[engine])

    def _gap(self, engine: int) -> bool:
        return 4 * self._used(engine) < 3 * self.capacity

    def _kind(self, engine: int) -> int:
        return max(self._class(request) for request in self._on[engine])

    def _count(self, engine: int, kind: int) -> int:
        return sum(self._class(request) == kind for request in self._on[engine])

    def _largest(self, engine: int, kind: int) -> int:
        return max((r for r in self._on[engine] if self._class(r) == kind),
                   key=lambda r: (self._tokens[r], -r))

    def _put(self, request: int, engine: int) -> int:
        self._at[request] = engine
        self._on.setdefault(engine, []).append(request)
        return engine

    def _take(self, request: int) -> None:
        engine = self._at.pop(request)
        self._on[engine].remove(request)
        if not self._on[engine]:
            del self._on[engine]

    def _restore(self, at: Dict[int, int]) -> None:
        self._at, self._on = {}, {}
        for request, engine in at.items():
            self._put(request, engine)
