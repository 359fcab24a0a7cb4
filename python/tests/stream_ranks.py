# SPDX-License-Identifier: Apache-2.0
"""Ranks of two pipelines: prefill is one with blocks of 4 tokens, decode two with blocks of 8 in
another order. Each byte of KV is a function of where it is in the model."""

from __future__ import annotations

import numpy as np

from aqua_kv import KvShape, Layout, Parallelism, StreamGroup, Streamer, emulated

LAYERS, HEADS, HEAD_BYTES, BLOCKS, TOKENS = 2, 4, 16, 8, 20
PREFILL = StreamGroup("prefill", KvShape(LAYERS, HEADS, HEAD_BYTES, 4, format="stamps"))
DECODE = StreamGroup(
    "decode", KvShape(LAYERS, HEADS, HEAD_BYTES, 8, format="stamps"), Parallelism(tensor_ranks=2)
)


class Rank:
    """A rank's cache, its streamer, and what its bytes are to be."""

    def __init__(self, runtime, keeper, group, rank=0, **more):
        self.runtime, self.tokens_first = runtime, group is PREFILL
        self.heads = HEADS // group.parallelism.tensor_ranks
        self.first_head = rank * self.heads
        self.tokens_per_block = group.shape.tokens_per_block
        order = (self.tokens_per_block, self.heads) if self.tokens_first else (
            self.heads, self.tokens_per_block)
        self.shape = (BLOCKS, *order, HEAD_BYTES)
        of_plane = int(np.prod(self.shape))
        self.memory = emulated.allocate(runtime, 2 * LAYERS * of_plane)
        self.planes = [
            self.memory.array(self.shape, offset=i * of_plane) for i in range(2 * LAYERS)
        ]
        axes = "TH" if self.tokens_first else "HT"
        self.layout = Layout.from_arrays(self.planes, planes_per_layer=2, axes=axes)
        options = {"parcel_bytes": 64 << 10, "keeper": keeper, **more}
        self.streamer = Streamer.open(
            runtime, self.layout, "small", group, rank,
            others=[DECODE if group is PREFILL else PREFILL], **options,
        )
        count = -(-TOKENS // self.tokens_per_block)
        self.blocks = [(3 * i + 1) % BLOCKS for i in range(count)]

    def values(self, plane, stamp):
        """[token, head, byte]"""
        token, head, i = np.ogrid[:TOKENS, self.first_head : self.first_head + self.heads, :HEAD_BYTES]
        return (stamp * 29 + plane * 101 + token * 31 + head * 17 + i * 7).astype(np.uint8)

    def whole(self, plane, stamp, before):
        after = before.copy()
        values = self.values(plane, stamp)
        for token in range(TOKENS):
            block, at = self.blocks[token // self.tokens_per_block], token % self.tokens_per_block
            if self.tokens_first:
                after[block, at] = values[token]
            else:
                after[block, :, at] = values[token]
        return after

    def write(self, layer, stamp):
        for plane in (2 * layer, 2 * layer + 1):
            emulated.write(
                self.runtime, self.planes[plane], self.whole(plane, stamp, self.read(plane))
            )

    def read(self, plane):
        out = np.empty(self.shape, np.uint8)
        emulated.read(self.runtime, self.planes[plane], out)
        return out

    def is_equal(self, stamp):
        return all(
            (self.read(plane) == self.whole(plane, stamp, self.read(plane))).all()
            for plane in range(2 * LAYERS)
        )

    def begin(self, sequence, attempt=1):
        return self.streamer.stream_out(
            sequence, self.blocks, "decode", tokens=TOKENS, attempt=attempt
        )

    def send(self, out, stamp, words=b"a\0b"):
        until(self.streamer, out.ready)
        for layer in range(LAYERS):
            self.write(layer, stamp)
            out.layer(layer)
        out.finish(words)
        until(self.streamer, out.kept)

    def arrival(self):
        until(self.streamer, lambda: bool(told := self.streamer.arrived()) and self.told(told))
        return self.last

    def told(self, arrived):
        [self.last] = arrived
        return True

    def take(self, sequence):
        with self.streamer.stream_in(sequence, self.blocks) as incoming:
            incoming.wait()
            assert incoming.done() and incoming.layer_done(LAYERS - 1)


def until(streamer, holds):
    while not holds():
        assert streamer.wait(60_000), "nothing came"
