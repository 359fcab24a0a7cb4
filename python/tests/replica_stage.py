# SPDX-License-Identifier: Apache-2.0
"""A stage of a pipeline with its Replicator. Each byte of KV is a function of where it is, and of the
ids of all tokens up to it."""

from __future__ import annotations

import numpy as np

from aqua_kv import Layout, ReplicaOwner, ReplicaReader, Replicator, WrittenTokens, emulated

LAYERS, HEADS, HEAD_BYTES, TOKENS = 2, 2, 16, 256
OWNER = ReplicaOwner("decode", stage=1)
SHAPE = "small, bytes"


class Sampler:
    """Draws ids, each by a state that the ones before have left."""

    def __init__(self, state=b"\5"):
        self.state = state

    def draw(self):
        number = (int.from_bytes(self.state, "little") * 6364136223846793005 + 1442695040888963407) % 2**64
        self.state = number.to_bytes(8, "little")
        return number >> 48


def kv_of(ids):
    """[plane, token, head, byte]"""
    known, before = [], 1
    for one in ids:
        before = (before * 31 + one + 1) * 0x9E3779B97F4A7C15 % 2**64
        known.append(before >> 32)
    plane, _, head, i = np.ogrid[: 2 * LAYERS, :1, :HEADS, :HEAD_BYTES]
    token = np.array(known, np.uint64).reshape(1, len(known), 1, 1).astype(np.int64)
    return (token + plane * 57 + head * 101 + i * 7).astype(np.uint8)


class Stage:
    """A cache with blocks of so many tokens."""

    def __init__(self, runtime, keeper, tokens_per_block=4):
        self.runtime, self.keeper, self.tokens_per_block = runtime, keeper, tokens_per_block
        self.shape = (TOKENS // tokens_per_block, tokens_per_block, HEADS, HEAD_BYTES)
        of_plane = TOKENS * HEADS * HEAD_BYTES
        self.memory = emulated.allocate(runtime, 2 * LAYERS * of_plane)
        self.planes = [
            self.memory.array(self.shape, offset=i * of_plane) for i in range(2 * LAYERS)
        ]
        self.layout = Layout.from_arrays(self.planes, planes_per_layer=2, axes="TH")

    def blocks(self, sequence, tokens):
        count = -(-tokens // self.tokens_per_block)
        return [(sequence * 13 + i * 7) % self.shape[0] for i in range(count)]

    def replicate(self, **more):
        options = {"term": 1, "lag_tokens": 4, "pack_steps": 2, "pack_bytes": 2 << 20, **more}
        self.replicator = Replicator.create(
            self.runtime, self.layout, options.pop("owner", OWNER), SHAPE,
            **{"keeper": self.keeper, **options},
        )
        return self.replicator

    def reader(self, term=2, owner=OWNER, **more):
        return ReplicaReader.open(
            self.runtime, owner, SHAPE, term=term, **{"keeper": self.keeper, **more}
        )

    def _places(self, sequence, tokens):
        blocks = np.array(self.blocks(sequence, tokens))
        token = np.arange(tokens)
        return blocks[token // self.tokens_per_block], token % self.tokens_per_block

    def compute(self, sequence, ids, first=0):
        block, at = self._places(sequence, len(ids))
        kv = kv_of(ids)
        for plane, array in enumerate(self.planes):
            whole = self.read(array)
            whole[block[first:], at[first:]] = kv[plane, first:]
            emulated.write(self.runtime, array, whole)

    def step(self, sequence, ids, first=0, sampler=b""):
        """What of these ids is behind `first`."""
        self.compute(sequence, ids, first)
        written = WrittenTokens(
            sequence, self.blocks(sequence, len(ids)), ids[first:], first, sampler
        )
        return self.replicator.step([written])

    def hold(self, sequence, tokens):
        """Waits until the keeper has as much of it."""
        self.replicator.flush()
        while self.replicator.watermark(sequence) < tokens:
            assert self.replicator.wait(60_000), self.replicator.status().error
            self.replicator.flush()

    def read(self, array):
        out = np.empty(self.shape, np.uint8)
        emulated.read(self.runtime, array, out)
        return out

    def has(self, sequence, ids):
        block, at = self._places(sequence, len(ids))
        kv = kv_of(ids)
        return all(
            (self.read(array)[block, at] == kv[plane]).all()
            for plane, array in enumerate(self.planes)
        )
