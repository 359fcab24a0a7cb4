# SPDX-License-Identifier: Apache-2.0
"""What the two libraries are given alike: a paged KV cache, sequences of scattered blocks, and
orders, a line of JSON each.

A cache has PLANES planes (keys and values of each layer) of BLOCKS blocks of 16 KiB. A sequence has
SEQUENCE_BLOCKS of them in each plane: 32 MiB, whose bytes are a function of the sequence, the plane
and the block's place in the sequence.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any, Dict, List, NoReturn

import numpy as np

LAYERS, HEADS, HEAD_BYTES, BLOCK_TOKENS = 8, 8, 128, 16
BLOCK_BYTES = HEADS * HEAD_BYTES * BLOCK_TOKENS
PLANES, BLOCKS, SEQUENCE_BLOCKS = 2 * LAYERS, 512, 128
SEQUENCE_BYTES = PLANES * SEQUENCE_BLOCKS * BLOCK_BYTES
PATIENCE_S = 10  # that a consumer waits for a sequence
assert BLOCK_BYTES == 16 << 10


def now() -> float:
    """The same clock in all processes."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def blocks_of(sequence: int, producer: bool) -> List[int]:
    random = np.random.default_rng(2 * sequence + producer)
    return [int(block) for block in random.permutation(BLOCKS)[:SEQUENCE_BLOCKS]]


def content(sequence: int, plane: int) -> np.ndarray:
    """[block of the sequence, 8-byte word]"""
    block, word = np.ogrid[:SEQUENCE_BLOCKS, : BLOCK_BYTES // 8]
    return (sequence * 1_000_003 + plane * 10_007 + block * 101 + word).astype(np.uint64)


def say(**message: Any) -> None:
    print(json.dumps(message), flush=True)


def serve(peer: Any) -> NoReturn:
    """Carries out orders until there are no more: {"do": method, ...arguments}."""
    for line in sys.stdin:
        order: Dict[str, Any] = json.loads(line)
        getattr(peer, order.pop("do"))(**order)
    sys.exit(0)
