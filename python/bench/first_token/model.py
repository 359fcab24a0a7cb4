# SPDX-License-Identifier: Apache-2.0
"""A decoder of Llama's kind over a paged KV cache, with random weights: what it says means
nothing, what it costs and what it keeps is that of a real one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Sequence, Tuple

from maths import Maths

BLOCK_TOKENS = 16


@dataclass(frozen=True)
class Shape:
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    inner: int  # of the feed-forward part
    vocabulary: int

    def block_bytes(self, element_bytes: int) -> int:
        """Of one block in one plane."""
        return BLOCK_TOKENS * self.kv_heads * self.head_dim * element_bytes


LLAMA_8B = Shape(32, 4096, 32, 8, 128, 14336, 128256)
SMALL = Shape(3, 64, 4, 2, 16, 96, 257)


class Cache:
    """Keys and values of each layer, as slots for tokens. `planes`: keys of layer 0, values of
    layer 0, keys of layer 1 and so on; each blocks * BLOCK_TOKENS, kv_heads, head_dim."""

    def __init__(self, maths: Maths, planes: Sequence[Any]) -> None:
        self._maths = maths
        self._planes = planes

    def slots(self, blocks: Sequence[int], tokens: int) -> Any:
        """Where the first `tokens` tokens of a sequence with these blocks are."""
        return self._maths.numbers(
            [blocks[t // BLOCK_TOKENS] * BLOCK_TOKENS + t % BLOCK_TOKENS for t in range(tokens)])

    def write(self, layer: int, slots: Any, keys: Any, values: Any) -> None:
        self._planes[2 * layer][slots] = keys
        self._planes[2 * layer + 1][slots] = values

    def read(self, layer: int, slots: Any) -> Tuple[Any, Any]:
        return self._planes[2 * layer][slots], self._planes[2 * layer + 1][slots]


class Model:
    def __init__(self, maths: Maths, shape: Shape, seed: int = 1) -> None:
        self._maths = maths
        self.shape = shape
        seeds = iter(range(seed, seed + 8 * shape.layers + 2))
        wide, narrow = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim

        def matrix(rows: int, columns: int) -> Any:
            return maths.random(next(seeds), (rows, columns), rows**-0.5)

        self._embedding = maths.random(next(seeds), (shape.vocabulary, shape.hidden), 1.0)
        self._layers: List[Tuple[Any, ...]] = [
            (matrix(shape.hidden, wide), matrix(shape.hidden, narrow),
             matrix(shape.hidden, narrow), matrix(wide, shape.hidden),
             matrix(shape.hidden, shape.inner), matrix(shape.hidden, shape.inner),
             matrix(shape.inner, shape.hidden))
            for _ in range(shape.layers)
        ]
        self._out = matrix(shape.hidden, shape.vocabulary)
        half = shape.head_dim // 2
        self._turns = [10000.0 ** (-i / half) for i in range(half)]

    def forward(self, tokens: Sequence[int], first: int, cache: Cache, blocks: Sequence[int]) -> Any:
        """Logits after the last of `tokens`, which follow `first` tokens that the cache holds in
        `blocks`; their own keys and values are written there."""
        m, s = self._maths, self.shape
        total = first + len(tokens)
        slots = cache.slots(blocks, total)
        own = slots[first:]
        x = self._embedding[m.numbers(tokens)]
        angles = m.numbers(range(first, total))[:, None] * m.floats(self._turns)[None, :]
        for number, (wq, wk, wv, wo, gate, up, down) in enumerate(self._layers):
            h = m.norm(x)
            q = m.rope((h @ wq).reshape(-1, s.heads, s.head_dim), angles)
            k = m.rope((h @ wk).reshape(-1, s.kv_heads, s.head_dim), angles)
            cache.write(number, own, k, (h @ wv).reshape(-1, s.kv_heads, s.head_dim))
            keys, values = cache.read(number, slots)
            x = x + m.attention(q, keys, values, first).reshape(len(tokens), -1) @ wo
            h = m.norm(x)
            x = x + (m.silu(h @ gate) * (h @ up)) @ down
        return m.norm(x[-1:]) @ self._out
