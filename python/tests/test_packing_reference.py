# SPDX-License-Identifier: Apache-2.0
"""The packers `mell` and `pack` beside a second implementation of `mell`, written from the paper and
docs/plan/packing.md alone (mell_reference.py): both are told the same, carry out their own plans,
and are held to what is promised. -s prints by how much they differ."""

from __future__ import annotations

import random
from collections import Counter
from typing import Dict, List, NamedTuple, Tuple

import pytest

from aqua_kv.packing import Packer
from mell_reference import broken_properties, exact, lower_bound, most_engines
from packing_books import Ours, Theirs, Told
from packing_stories import EXACT_UP_TO, STORIES, sequence

SEQUENCES = 600


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
def test_with_few_moves_an_epoch_the_properties_hold_in_the_end(max_moves: int) -> None:
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
                broken = broken_properties(on, capacity)
                assert not broken, f"sequence {seed}: {broken} of {on}"


# Sixteen engines of an M of 4999, another of 4831, and 170 requests of one token keep all five
# properties. Then the others end, in one epoch: nine engines would do. To put two M of 4999 together
# 168 requests have to give way; this epoch may have 160 moves, and each later one 10. The reference,
# which scans, is told a smaller case of it: to put two M together takes 39 moves.
@pytest.mark.parametrize("policy, capacity, engines, sizes, best", [
    ("reference", 1000, 12, [499, 461] + [1] * 40, 7),
    ("mell", 10_000, 16, [4999, 4831] + [1] * 170, 9),
    ("pack", 10_000, 16, [4999, 4831] + [1] * 170, 9),
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
def test_a_repair_of_more_tokens_than_the_limit_follows_in_later_epochs(policy: str) -> None:
    packer = Packer.create(policy, watermark=0, block_tokens=1, max_moves=10_000, max_move_tokens=100)
    for engine in range(1, 41):
        packer.join(engine, 1000)
    sizes = [499, 461] + [1] * 40
    for request in range(40 * len(sizes)):
        packer.arrive(request, sizes[request % len(sizes)])
    for request in range(1, 40 * len(sizes), len(sizes)):
        packer.ended(request)
    plan = packer.epoch()
    while plan.moves:
        assert sum(move.tokens for move in plan.moves) <= 100 or len(plan.moves) == 1
        for move in plan.moves:
            packer.moved(move.request, plan.number)
        plan = packer.epoch()
    certificate = plan.certificate
    assert certificate.properties or policy == "pack" and certificate.within, certificate


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
    # Each of the three above half has an engine; 3, 3 and 3 do not fit beside 6, 6 and 9.
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
