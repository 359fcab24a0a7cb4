# SPDX-License-Identifier: Apache-2.0
"""A KV cache on an emulated GPU, and what must be in it."""

from __future__ import annotations

from typing import List, Sequence

import numpy as np

import aqua_kv
from aqua_kv import emulated


class KvCache:
    """`planes` planes of `blocks` blocks; block b of plane p holds bytes of its own."""

    def __init__(
        self, runtime: aqua_kv.Runtime, planes: int = 4, blocks: int = 64, block_bytes: int = 4096
    ) -> None:
        self.runtime = runtime
        self.memory = emulated.allocate(runtime, planes * blocks * block_bytes)
        shape = (blocks, block_bytes)
        step = blocks * block_bytes
        self.arrays = [self.memory.array(shape, offset=p * step) for p in range(planes)]
        self.shape = (planes, blocks, block_bytes)
        random = np.random.default_rng(planes * blocks)
        self.write(random.integers(0, 256, self.shape, dtype=np.uint8))

    def write(self, bytes_: "np.ndarray[object, np.dtype[np.uint8]]") -> None:
        emulated.write(self.runtime, self.memory, np.ascontiguousarray(bytes_))

    def read(self) -> "np.ndarray[object, np.dtype[np.uint8]]":
        into = np.empty(self.shape, np.uint8)
        emulated.read(self.runtime, self.memory, into)
        return into

    def layout(self, planes_per_layer: int = 2) -> aqua_kv.Layout:
        return aqua_kv.Layout.from_arrays(self.arrays, planes_per_layer=planes_per_layer)


def same(
    now: "np.ndarray[object, np.dtype[np.uint8]]",
    at: Sequence[int],
    before: "np.ndarray[object, np.dtype[np.uint8]]",
    then: Sequence[int],
) -> bool:
    """Whether blocks `at` hold now what blocks `then` held before, in every plane."""
    return bool((now[:, list(at)] == before[:, list(then)]).all())


def order(count: int, of: int, seed: int = 1) -> List[int]:
    return [int(b) for b in np.random.default_rng(seed).permutation(of)[:count]]
