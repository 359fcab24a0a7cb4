# SPDX-License-Identifier: Apache-2.0
"""Where the requests of a packer are, by its answers and orders alone: what test_packing_reference.py
holds the library and the second implementation to."""

from __future__ import annotations

from collections import Counter
from typing import Dict, List, Optional, Tuple, Union

from aqua_kv.packing import Certificate, Packer
from mell_reference import MellReference, ReferenceMove, ReferencePlan, broken_properties


class Book:
    """Where the requests of one packer are, by its answers and orders alone."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.tokens: Dict[int, int] = {}
        self.at: Dict[int, int] = {}
        self.waiting: List[int] = []
        self.moves = self.dropped = self.preempted = 0

    def engines(self) -> Dict[int, List[int]]:
        on: Dict[int, List[int]] = {}
        for request, engine in self.at.items():
            on.setdefault(engine, []).append(self.tokens[request])
        return on

    def arrived(self, request: int, tokens: int, engine: int) -> None:
        self.tokens[request] = tokens
        if engine == 0:
            self.waiting.append(request)
        else:
            self.at[request] = engine
            self._fits(engine)

    def ended(self, request: int) -> None:
        if self.at.pop(request, 0) == 0:
            self.waiting.remove(request)
        del self.tokens[request]

    def carry_out(self, preemptions: List[Tuple[int, int]], moves: List[ReferenceMove],
                  placements: List[Tuple[int, int]]) -> None:
        """Both ends of a move hold room, until all moves of its stage are over. An engine that grew
        too full is so until its requests have left; nothing comes to it before."""
        for request, engine in preemptions:
            assert self.at.pop(request) == engine
            self.waiting.append(request)
        assert len({move.request for move in moves}) == len(moves), "a request moves twice"
        for move in moves:
            assert self.at[move.request] == move.from_ != move.to
            if move.dropped:
                del self.at[move.request]
        assert [move.stage for move in moves] == sorted(move.stage for move in moves)
        for stage in sorted({move.stage for move in moves}):
            now = [move for move in moves if move.stage == stage]
            coming: "Counter[int]" = Counter()
            for move in now:
                coming[move.to] += self.tokens[move.request]
            for engine, tokens in coming.items():
                self._fits(engine, tokens)
            for move in now:
                self.at[move.request] = move.to
        for request, engine in placements:
            if engine != 0:
                self.waiting.remove(request)
                self.at[request] = engine
                self._fits(engine)
        assert all(sum(on) <= self.capacity for on in self.engines().values())
        self.moves += len(moves)
        self.dropped += sum(move.dropped for move in moves)
        self.preempted += len(preemptions)

    def _fits(self, engine: int, coming: int = 0) -> None:
        held = sum(self.tokens[r] for r, e in self.at.items() if e == engine)
        assert held + coming <= self.capacity, f"engine {engine} holds {held}, and {coming} come"


class Packed:
    """A packer and its book, which are told the same."""

    packer: Union[MellReference, Packer]
    book: Book

    def arrive(self, request: int, tokens: int) -> int:
        """Answers the engine; 0: it waits."""
        raise NotImplementedError

    def tell(self, what: str, request: int, tokens: int) -> None:
        if what == "arrive":
            self.book.arrived(request, tokens, self.arrive(request, tokens))
        elif what == "grew":
            self.book.tokens[request] = tokens
            self.packer.grew(request, tokens)
        else:
            self.book.ended(request)
            self.packer.ended(request)


class Ours(Packed):
    """The reference, and its book."""

    def __init__(self, capacity: int, max_moves: int = 1 << 30) -> None:
        self.packer = MellReference(capacity, max_moves)
        self.book = Book(capacity)

    def arrive(self, request: int, tokens: int) -> int:
        return self.packer.arrive(request, tokens)

    def epoch(self) -> bool:
        """Whether there was nothing to do."""
        plan = self.packer.epoch()
        self.book.carry_out(*plan)
        return plan == ReferencePlan([], [], [])


class Theirs(Packed):
    """The library's, and its book. A woken engine counts as up at once; moves are over at once."""

    def __init__(
        self, policy: str, capacity: int, engines: int, max_moves: int = (1 << 32) - 1
    ) -> None:
        self.packer = Packer.create(policy, watermark=0, block_tokens=1, max_moves=max_moves)
        self.book = Book(capacity)
        self.awake: "set[int]" = set()
        self.certificate: Optional[Certificate] = None
        for engine in range(1, engines + 1):
            self.packer.join(engine, capacity)

    def arrive(self, request: int, tokens: int) -> int:
        placed = self.packer.arrive(request, tokens)
        assert placed.wakes == (placed.engine not in self.awake | {0})
        self.awake |= {placed.engine} - {0}
        return placed.engine

    def epoch(self) -> bool:
        plan = self.packer.epoch()
        assert len(plan.moves) <= plan.move_limit
        assert self.awake.isdisjoint(plan.wake)
        # plan.wake names the engines of these too.
        woken = {placed.engine for placed in plan.placements if placed.wakes}
        assert self.awake.isdisjoint(woken)
        self.awake |= woken.union(plan.wake)
        self.book.carry_out(
            [(p.request, p.engine) for p in plan.preemptions],
            [ReferenceMove(m.request, m.from_, m.to, m.stage, m.dropped) for m in plan.moves],
            [(p.request, p.engine) for p in plan.placements])
        assert self.awake >= set(self.book.at.values())
        assert self.awake >= set(plan.freed) and not set(plan.freed) & set(self.book.at.values())
        self.awake -= set(plan.freed)
        for move in plan.moves:
            assert move.tokens == self.book.tokens[move.request]
            self.packer.moved(move.request, plan.number)
        # It is of the fleet as it is once the moves are over, so that it can be held against it now.
        self.certificate = plan.certificate
        on = self.book.engines().values()
        assert self.certificate.engines == len(on), f"{self.certificate}, {on}"
        broken = broken_properties(on, self.book.capacity)
        # A plan that preempts, or places who waited, may say false even if they hold.
        if self.certificate.properties or not (plan.placements or plan.preemptions):
            assert self.certificate.properties == (not broken), (
                f"{self.certificate}, but broken are {broken} of {on}")
        return not (plan.moves or plan.placements or plan.preemptions)


Told = Union[Ours, Theirs]
