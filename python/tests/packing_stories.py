# SPDX-License-Identifier: Apache-2.0
"""What packers are told by test_packing_reference.py: sequences made up by chance, and bad cases."""

from __future__ import annotations

import random
from typing import Callable, Dict, List, Tuple

EXACT_UP_TO = 13  # requests of which the best packing is computed

Event = Tuple[str, int, int]  # "arrive", "grew" or "ended"; request; tokens
Round = List[Event]  # what is told between two epochs


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
