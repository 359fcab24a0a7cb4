# SPDX-License-Identifier: Apache-2.0
"""The engine: prompts, their blocks in the cache, and a burst of requests for all of them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, List

import aqua_kv

from model import BLOCK_TOKENS, Cache, Model
from place import Place

if TYPE_CHECKING:
    from maths import Maths
    from ways import Way


@dataclass(frozen=True)
class Burst:
    seconds: List[float]  # from the burst to each request's first token, in order of arrival
    wrong: List[int]  # requests whose keys and values are not, bit by bit, those first computed
    other_logits: List[int]  # requests whose logits are not; PyTorch promises none on a GPU


class Engine:
    """Each prompt has blocks of its own, scattered over the cache. What a prompt's keys and values
    are worth is its last token: that one is computed when a request comes, from all before it."""

    def __init__(self, place: Place, maths: "Maths", model: Model, prompts: int, tokens: int) -> None:
        self.place = place
        self.tickets: List[aqua_kv.Ticket] = []
        self._maths, self._model = maths, model
        draw = random.Random(7)
        each = -(-tokens // BLOCK_TOKENS)
        blocks = list(range(prompts * each))
        draw.shuffle(blocks)
        self._blocks = [blocks[i * each:(i + 1) * each] for i in range(prompts)]
        self._tokens = [[draw.randrange(model.shape.vocabulary) for _ in range(tokens)]
                        for _ in range(prompts)]
        self._expected: List[bytes] = []
        self._digests: List[int] = []

    def blocks(self, prompt: int) -> List[int]:
        return self._blocks[prompt]

    def prefill(self, prompt: int) -> None:
        """All tokens but the last."""
        self.place.run(lambda planes: self._model.forward(
            self._tokens[prompt][:-1], 0, Cache(self._maths, planes), self._blocks[prompt]))

    def first_token(self, prompt: int) -> Any:
        """Logits, by the keys and values in the cache."""
        tokens = self._tokens[prompt]
        return self.place.run(lambda planes: self._model.forward(
            tokens[-1:], len(tokens) - 1, Cache(self._maths, planes), self._blocks[prompt]))

    def digest(self, prompt: int) -> int:
        """Of its keys and values in the cache, without those of the last token."""
        tokens = len(self._tokens[prompt]) - 1

        def of(planes: List[Any]) -> int:
            cache = Cache(self._maths, planes)
            slots = cache.slots(self._blocks[prompt], tokens)
            parts = (part for layer in range(self._model.shape.layers) for part in cache.read(layer, slots))
            return hash(tuple(self._maths.digest(part) for part in parts))

        return int(self.place.run(of))

    def fill(self, way: "Way") -> None:
        """Computes every prompt, keeps its keys and values by `way`, and what they lead to."""
        self._expected, self._digests = [], []
        for prompt in range(len(self._blocks)):
            self.prefill(prompt)
            self._digests.append(self.digest(prompt))
            self._expected.append(self._maths.bits(self.first_token(prompt)))
            way.save(self, prompt)
        self.place.all()

    def burst(self, way: "Way") -> Burst:
        """A request for each prompt, all at once, served in turn; the cache holds none of them."""
        self.place.overwrite()
        start = self.place.mark()
        marks, logits = [], []
        for prompt in range(len(self._blocks)):
            way.restore(self, prompt)
            logits.append(self.first_token(prompt))
            marks.append(self.place.mark())
        self.place.all()
        for ticket in self.tickets:
            ticket.wait()
        self.tickets.clear()
        wrong = [i for i, expected in enumerate(self._digests) if self.digest(i) != expected]
        other = [i for i, (seen, expected) in enumerate(zip(logits, self._expected))
                 if self._maths.bits(seen) != expected]
        return Burst([self.place.seconds(start, mark) for mark in marks], wrong, other)
