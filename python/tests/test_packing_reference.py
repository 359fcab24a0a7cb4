# SPDX-License-Identifier: Apache-2.0
"""The packers `mell` and `pack` beside a second implementation of `mell`, written from the paper and
docs/plan/packing.md alone (mell_reference.py): both are told the same, carry out their own plans,
and are held to what is promised. -s prints by how much they differ."""

from __future__ import annotations

import random
from collections import Counter
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple, Union

import pytest

from aqua_kv.packing import Certificate, Packer
from mell_reference import (
    MellReference,
    ReferenceMove,
    ReferencePlan,
    broken_properties,
    exact,
    lower_bound,
    most_engines,
)

SEQUENCES = 600
EXACT_UP_TO = 13  # requests

Event = Tuple[str, int, int]  # "arrive", "grew" or "ended"; request; tokens
Round = List[Event]  # what is told between two epochs


# --- what is told ---------------------------------------------------------------------------------


class Story:
    """Rounds of events, made up by `chance`; at most `most` requests at a time."""

    def __init__(self, chance: random.Random, capacity: int, most: int) -> None:
        self.chance, self.capacity, self.most = chance, capacity, most
        self.tokens: Dict[int, int] = {}
        self.rounds: List[Round] = [[]]
        self.last = 0

    def arrive(self, tokens: float) -> None:
        if len(self.tokens) < self.most:
            self.last += 1
            self._tell("arrive", self.last, tokens)

    def grew(self, request: int, tokens: float) -> None:
        if int(tokens) > self.tokens[request]:
            self._tell("grew", request, tokens)

    def _tell(self, what: str, request: int, tokens: float) -> None:
        self.tokens[request] = max(1, min(int(tokens), self.capacity))
        self.rounds[-1].append((what, request, self.tokens[request]))

    def ended(self, request: int) -> None:
        del self.tokens[request]
        self.rounds[-1].append(("ended", request, 0))

    def epoch(self) -> None:
        self.rounds.append([])

    def some(self, share: float) -> List[int]:
        return [r for r in sorted(self.tokens) if self.chance.random() < share]

    def size(self) -> float:
        """Of a class drawn evenly."""
        low, high = self.chance.choice(
            ((0, 1 / 8), (0, 1 / 4), (1 / 4, 1 / 3), (1 / 3, 1 / 2), (1 / 2, 1)))
        return self.chance.uniform(low, high) * self.capacity + 1


def all_classes(story: Story) -> None:
    for _ in range(6):
        for _ in range(story.chance.randint(1, max(2, story.most // 3))):
            story.arrive(story.size())
        for request in story.some(0.2):
            story.ended(request)
        for request in story.some(0.3):
            story.grew(request, story.tokens[request] + story.capacity * story.chance.random() / 8)
        story.epoch()


def class_borders(story: Story) -> None:
    borders = [story.capacity * part // 12 for part in (3, 4, 6, 8, 9)]
    for _ in range(5):
        for _ in range(story.most // 2):
            story.arrive(story.chance.choice(borders) + story.chance.randint(-1, 1))
        for request in story.some(0.5):
            story.grew(request, story.tokens[request] + 1)
        for request in story.some(0.3):
            story.ended(request)
        story.epoch()


def growth_across_classes(story: Story) -> None:
    for _ in range(story.most):
        story.arrive(story.capacity * story.chance.uniform(0.02, 0.3))
    story.epoch()
    for _ in range(7):
        for request in story.some(0.8):
            story.grew(request, story.tokens[request] * story.chance.uniform(1.05, 1.5))
        for request in story.some(0.1):
            story.ended(request)
        story.epoch()


def holes(story: Story) -> None:
    """One in two or three ends, so that no engine stays complete."""
    for _ in range(4):
        kind = story.chance.choice((0.26, 0.34, 0.12))
        while len(story.tokens) < story.most:
            story.arrive(story.capacity * kind * story.chance.uniform(1, 1.2))
        story.epoch()
        every = story.chance.choice((2, 3))
        for request in sorted(story.tokens)[::every]:
            story.ended(request)
        story.epoch()
        for request in story.some(0.5):
            story.ended(request)
        story.epoch()


def bursts(story: Story) -> None:
    """All comes and goes between two epochs, much of it never planned for."""
    for _ in range(4):
        for _ in range(story.most):
            story.arrive(story.size())
            for request in story.some(0.05):
                story.grew(request, story.tokens[request] * 1.3)
            if len(story.tokens) == story.most:
                for request in story.some(0.7):
                    story.ended(request)
        story.epoch()


def mates(story: Story) -> None:
    """L come last, find T beside them, lose their mates, and S and M grow beside them."""
    for _ in range(4):
        for _ in range(story.most // 3):
            story.arrive(story.capacity * story.chance.uniform(0.26, 0.49))
            story.arrive(story.capacity * story.chance.uniform(0.02, 0.24))
        if story.chance.random() < 0.5:
            story.epoch()
        for _ in range(story.most // 3):
            story.arrive(story.capacity * story.chance.uniform(0.51, 0.74))
        story.epoch()
        for request in story.some(0.5):
            small = 0.25 < story.tokens[request] / story.capacity < 0.5
            if small and story.chance.random() < 0.5:
                story.ended(request)
            else:
                story.grew(request, story.tokens[request] * 1.1)
        story.epoch()
        for request in story.some(0.4):
            story.ended(request)


def exactly_full(story: Story) -> None:
    """Engines that can be full to the last token, in an order that hides it; then one part of each
    ends."""
    parts: List[Tuple[int, int]] = []
    for engine in range(story.most // 3):
        left = story.capacity
        for _ in range(story.chance.randint(0, 3)):
            part = story.chance.randint(1, max(1, left - 1))
            if part < left:
                parts.append((engine, part))
                left -= part
        parts.append((engine, left))
    story.chance.shuffle(parts)
    for _, part in parts:
        story.arrive(part)
        if story.chance.random() < 0.05:
            story.epoch()
    story.epoch()
    ended = set()
    for request, (engine, _) in enumerate(parts, 1):
        if engine not in ended and request in story.tokens:
            ended.add(engine)
            story.ended(request)
    story.epoch()


def smallest_first(story: Story) -> None:
    """Perfect engines of an L, an S and a T, of which the L come last: what empties whole engines
    alone is stuck. And M a little above a third, of which L2 counts three an engine."""
    story.most = story.chance.choice((12, 60, 99))
    if story.chance.random() < 0.3:
        for _ in range(story.most):
            story.arrive(story.capacity // 3 + 1)
    else:
        for size in (0.248, 0.251, 0.501):
            for _ in range(story.most // 3):
                story.arrive(size * story.capacity)
    story.epoch()
    for request in story.some(0.1):
        story.ended(request)
    story.epoch()


def of_the_page(story: Story) -> None:
    """M M T T of .3335, .2001, .1265, which break the paper's own property 5; L .55 and .60 with M
    .40 and .45, which break its lemma; M M S, which makes 4/3 tight."""
    groups = [(0.3335, 0.3335, 0.2001, 0.1265), (0.55, 0.60, 0.40, 0.45), (0.36, 0.36, 0.26)]
    for group in story.chance.sample(groups, story.chance.randint(1, 3)):
        sizes = [size for size in group for _ in range(max(1, story.most // 10))]
        if story.chance.random() < 0.5:
            story.chance.shuffle(sizes)
        for size in sizes:
            story.arrive(size * story.capacity)
        story.epoch()
    for request in story.some(0.4):
        story.ended(request)
    story.epoch()


STORIES: List[Callable[[Story], None]] = [
    all_classes, class_borders, growth_across_classes, holes, bursts, mates, exactly_full,
    smallest_first, of_the_page]


def sequence(seed: int) -> Tuple[str, int, List[Round]]:
    """What is told, to engines of which capacity, and the name of it."""
    tell = STORIES[seed % len(STORIES)]
    chance = random.Random(seed)
    capacity = chance.choice((1000, 1000, 997, 10_000, 15_500, 100, 24, 12, 7, 1 << 40))
    most = chance.choice((6, EXACT_UP_TO, EXACT_UP_TO, 30, 60, chance.choice((45, 45, 45, 120))))
    story = Story(chance, capacity, most)
    tell(story)
    return f"sequence {seed}, {tell.__name__} of {most}, capacity {capacity}", capacity, story.rounds


# --- who is told ----------------------------------------------------------------------------------


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


class Ours:
    """The reference, and its book."""

    def __init__(self, capacity: int, max_moves: int = 1 << 30) -> None:
        self.packer = MellReference(capacity, max_moves)
        self.book = Book(capacity)

    def tell(self, what: str, request: int, tokens: int) -> None:
        if what == "arrive":
            self.book.arrived(request, tokens, self.packer.arrive(request, tokens))
        elif what == "grew":
            self.book.tokens[request] = tokens
            self.packer.grew(request, tokens)
        else:
            self.book.ended(request)
            self.packer.ended(request)

    def epoch(self) -> bool:
        """Whether there was nothing to do."""
        plan = self.packer.epoch()
        self.book.carry_out(*plan)
        return plan == ReferencePlan([], [], [])


class Theirs:
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

    def tell(self, what: str, request: int, tokens: int) -> None:
        if what == "arrive":
            placed = self.packer.arrive(request, tokens)
            assert placed.wakes == (placed.engine not in self.awake | {0})
            self.awake |= {placed.engine} - {0}
            self.book.arrived(request, tokens, placed.engine)
        elif what == "grew":
            self.book.tokens[request] = tokens
            self.packer.grew(request, tokens)
        else:
            self.book.ended(request)
            self.packer.ended(request)

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


class Found(NamedTuple):
    difference: "Counter[int]"  # engines of the library's mell less those of the reference
    short_of_l2: "Counter[int]"  # L2 less Certificate.bound
    most_short: List[Tuple[float, int, int]]  # of L2, by which share; Certificate.bound; L2
    above_best: "Counter[Tuple[str, int]]"  # who; engines less the best packing's
    above_l2: "Counter[Tuple[str, int]]"  # where there is no best, than L2
    moves: "Counter[str]"
    epochs: "Counter[Tuple[str, int]]"  # who; epochs until nothing was left to do
    kept: "Counter[str]"  # packings by `pack` that are within, or have the properties


def settle(name: str, told: Told) -> int:
    for epochs in range(1000):
        if told.epoch():
            return epochs
    raise AssertionError(f"{name} never comes to an end")


def play(seed: int, found: Found) -> int:
    """Tells a sequence to all three, and compares them after each round. Answers the comparisons."""
    name, capacity, rounds = sequence(seed)
    most = sum(what == "arrive" for events in rounds for what, _, _ in events)
    ours, mell = Ours(capacity), Theirs("mell", capacity, 2 * most + 2)
    pack = Theirs("pack", capacity, 2 * most + 2)
    every: Dict[str, Told] = {"reference": ours, "mell": mell, "pack": pack}
    try:
        for number, events in enumerate(rounds):
            for event in events:
                for told in every.values():
                    told.tell(*event)
            for who, told in every.items():
                found.epochs[who, settle(who, told)] += 1
            compare(ours, mell, pack, found)
    except AssertionError as error:
        raise AssertionError(f"{name}, round {number}: {error}\n{rounds[:number + 1]}") from error
    for who, told in every.items():
        found.moves[who] += told.book.moves
    return len(rounds)


def compare(ours: Ours, mell: Theirs, pack: Theirs, found: Found) -> None:
    """After epochs that left nothing to do: the properties, the certificates, and how many engines each
    needs beside the best packing and beside the other."""
    sizes = sorted(ours.book.tokens.values())
    capacity = ours.book.capacity
    l2 = lower_bound(sizes, capacity)
    best = exact(sizes, capacity) if len(sizes) <= EXACT_UP_TO else None
    needs: Dict[str, int] = {}
    fewest = min(len(book.engines()) for book in (ours.book, mell.book, pack.book))
    every: List[Tuple[str, Told]] = [("reference", ours), ("mell", mell), ("pack", pack)]
    for who, told in every:
        on = told.book.engines()
        needs[who] = len(on)
        assert not told.book.waiting and len(told.book.at) == len(sizes), f"{who}: somebody waits"
        broken = broken_properties(on.values(), capacity)
        promised = who != "pack"
        if isinstance(told, Theirs):
            proof = told.certificate
            assert proof is not None and proof.engines == len(on) and proof.properties == (not broken)
            assert proof.within == (3 * proof.engines <= 4 * proof.bound + 9), f"{who}: {proof}"
            # The contract: it is not above the best. That it is L2 is no part of it, and it is less at
            # times; of the page: it is not below 2/3 of the best.
            assert proof.bound <= (fewest if best is None else best), f"{who}: {proof}, best {best}"
            assert best is None or 3 * proof.bound >= 2 * best, f"{who}: {proof}, best {best}"
            assert proof.bound * capacity >= sum(sizes), f"{who}: {proof} is below the size, {sizes}"
            promised = promised or not proof.within
            if who == "mell":
                found.short_of_l2[l2 - proof.bound] += 1
                if l2 > 0:
                    share = 1 - proof.bound / l2
                    found.most_short[0] = max(found.most_short[0], (share, proof.bound, l2))
            else:
                found.kept[f"within {proof.within}, properties {proof.properties}"] += 1
        assert not promised or not broken, f"{who}: {broken} are broken: {on}"
        if best is not None:
            assert best >= l2 and len(on) >= best
            most = most_engines(best) if promised else 4 * best // 3 + 3
            assert len(on) <= most, f"{who}: {on}, best {best}"
            found.above_best[who, len(on) - best] += 1
        else:
            found.above_l2[who, len(on) - l2] += 1
    # Each has at most most_engines(best) by the properties, and the other at least the best. Where
    # the best is not known, the fewer of the two is not below it.
    few = min(needs["mell"], needs["reference"]) if best is None else best
    difference = needs["mell"] - needs["reference"]
    assert abs(difference) <= most_engines(few) - few, f"{needs}, best {best}"
    found.difference[difference] += 1


# --- the tests ------------------------------------------------------------------------------------


def test_two_implementations_of_mell_keep_the_properties_and_agree() -> None:
    found = Found(
        Counter(), Counter(), [(0.0, 0, 0)], Counter(), Counter(), Counter(), Counter(), Counter())
    compared = sum(play(seed, found) for seed in range(SEQUENCES))
    assert sum(found.difference.values()) == compared
    print(f"\n{SEQUENCES} sequences, {compared} packings")
    for what, counted in zip(Found._fields, found):
        shown = dict(sorted(counted.items())) if isinstance(counted, Counter) else counted
        print(f"  {what}: {shown}")
    assert any("within False" in kept for kept in found.kept), "pack never needed a repair"


@pytest.mark.parametrize("max_moves", [1, 2, 5])
def test_a_limit_of_moves_is_kept_and_the_certificate_stays_true(max_moves: int) -> None:
    for seed in range(3 * len(STORIES)):
        _, capacity, rounds = sequence(seed)
        most = sum(what == "arrive" for events in rounds for what, _, _ in events)
        both: List[Told] = [
            Theirs("mell", capacity, 2 * most + 2, max_moves), Ours(capacity, max_moves)]
        for told in both:
            for events in rounds:
                for event in events:
                    told.tell(*event)
                settle(f"sequence {seed}", told)
                on = told.book.engines().values()
                assert not told.book.waiting
                broken = isinstance(told, Ours) and broken_properties(on, capacity)
                assert not broken, f"sequence {seed}: {broken} of {on}"


# Sixteen engines of an M of 4999, another of 4831, and 170 requests of one token keep all five
# properties. Then the others end, in one epoch: nine engines would do. To put two M of 4999 together
# 168 requests have to give way; this epoch may have 160 moves, and each later one 10. The reference,
# which scans, is told a smaller case of it: to put two M together takes 39 moves.
NEVER_BEGUN = pytest.mark.xfail(
    strict=True, reason="a repair of more moves than an epoch may have is never begun")


@pytest.mark.parametrize("policy, capacity, engines, sizes, best", [
    ("reference", 1000, 12, [499, 461] + [1] * 40, 7),
    pytest.param("mell", 10_000, 16, [4999, 4831] + [1] * 170, 9, marks=NEVER_BEGUN),
    pytest.param("pack", 10_000, 16, [4999, 4831] + [1] * 170, 9, marks=NEVER_BEGUN),
])
def test_a_repair_of_more_moves_than_the_limit_follows_in_later_epochs(
    policy: str, capacity: int, engines: int, sizes: List[int], best: int
) -> None:
    told: Told = Ours(capacity, 10) if policy == "reference" else Theirs(policy, capacity, 40, 10)
    starts = range(1, engines * len(sizes), len(sizes))
    for start in starts:
        for request, tokens in enumerate(sizes, start):
            told.tell("arrive", request, tokens)
    settle(policy, told)
    assert len(told.book.engines()) == engines
    for start in starts:
        told.tell("ended", start + 1, 0)
    settle(policy, told)
    on = told.book.engines()
    within = policy == "pack" and 3 * len(on) <= 4 * best + 9
    assert within or not broken_properties(on.values(), capacity), f"{len(on)} engines"
    assert within or len(on) <= most_engines(best)


@pytest.mark.parametrize("policy", ["mell", "pack"])
def test_a_fleet_that_is_too_small_is_never_over_full(policy: str) -> None:
    dropped = preempted = waited = 0
    for seed in range(10 * len(STORIES)):
        name, capacity, rounds = sequence(seed)
        arrivals = sum(what == "arrive" for events in rounds for what, _, _ in events)
        told = Theirs(policy, capacity, max(2, arrivals // 5))
        try:
            for events in rounds:
                for event in events:
                    told.tell(*event)
                for _ in range(3):
                    told.epoch()
                waited += len(told.book.waiting)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}\n{rounds}") from error
        dropped += told.book.dropped
        preempted += told.book.preempted
    print(f"\n{policy}: {waited} waited, {preempted} preempted, {dropped} dropped to break cycles")
    assert waited and preempted


@pytest.mark.parametrize("number, kept, broken", [
    (1, [[34, 26], [40, 34], [40, 40]], [[34, 41], [34], [34]]),
    (2, [[26, 26], [26, 26, 26]], [[26, 26, 20], [33]]),
    (3, [[25, 25, 25], [1]], [[25, 25, 24], [1]]),
    (4, [[60, 20], [41, 41]], [[60, 20], [40, 41]]),
    (5, [[75], [25]], [[74], [25]]),
])
def test_the_checker_sees_each_property(
    number: int, kept: List[List[int]], broken: List[List[int]]
) -> None:
    assert broken_properties(kept, 100) == []
    assert broken_properties(broken, 100) == [number]


def test_exact_packings_and_bounds_of_known_cases() -> None:
    known: List[Tuple[List[int], int]] = [
        ([], 0), ([10], 1), ([5, 5], 1), ([6, 6], 2), ([6, 5, 4, 3, 2], 2)]
    assert all(exact(sizes, 10) == best for sizes, best in known)
    # The size asks for two. Only two of four 4s fit an engine of 11, so that L2 is too low.
    assert lower_bound([4] * 5, 11) == 2 and exact([4] * 5, 11) == 3
    # Of three above half each has an engine; 3, 3 and 3 do not fit beside 6, 6 and 9.
    assert lower_bound([6, 6, 9, 3, 3, 3, 3], 10) == exact([6, 6, 9, 3, 3, 3, 3], 10) == 4
    chance = random.Random(1)
    for _ in range(50):
        sizes = [chance.randint(1, 20) for _ in range(7)]
        assert exact(sizes, 20) == _fewest(tuple(sizes), (), 20) >= lower_bound(sizes, 20)


def _fewest(sizes: Tuple[int, ...], rooms: Tuple[int, ...], capacity: int) -> int:
    """Tries everything."""
    if not sizes:
        return len(rooms)
    first, rest = sizes[0], sizes[1:]
    tried = [_fewest(rest, rooms + (capacity - first,), capacity)]
    for i, room in enumerate(rooms):
        if room >= first:
            tried.append(_fewest(rest, rooms[:i] + (room - first,) + rooms[i + 1:], capacity))
    return min(tried)
