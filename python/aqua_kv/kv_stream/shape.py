# SPDX-License-Identifier: Apache-2.0
"""How the KV of one model lies over the ranks of a pipeline."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Sequence

from .._c.streamer_structs import CKvShape, CParallelism, CStreamGroup
from .._numbers import size, text, uint32


@dataclass(frozen=True)
class KvShape:
    """What there is of a token in a model's KV, before it is dealt to ranks. `format`: all else that
    has to be alike at both ends, in words of one's own."""

    layers: int
    kv_heads: int  # 1 for latents (MLA), which every rank has whole
    head_bytes: int  # of one head of one token in one plane
    tokens_per_block: int
    planes_per_layer: int = 2  # keys and values, or 1
    format: str = ""

    def _to_c(self) -> CKvShape:
        return CKvShape(
            layers=uint32(self.layers, "shape.layers"),
            planes_per_layer=uint32(self.planes_per_layer, "shape.planes_per_layer"),
            kv_heads=uint32(self.kv_heads, "shape.kv_heads"),
            tokens_per_block=uint32(self.tokens_per_block, "shape.tokens_per_block"),
            head_bytes=size(self.head_bytes, "shape.head_bytes"),
            format=text(self.format),
        )


@dataclass(frozen=True)
class Parallelism:
    """How it is dealt: rank number stage * tensor_ranks + i is the i-th of its stage."""

    stage_layers: Sequence[int] = ()  # of each stage, in order; empty: one stage
    tensor_ranks: int = 1  # of each stage
    # Which heads the ranks of a stage have, rank after rank. Empty: 0, 1, 2, ...; where ranks
    # outnumber heads, each as often as it takes.
    heads: Sequence[int] = ()

    def _to_c(self) -> CParallelism:
        return CParallelism(
            stage_layers=_numbers(self.stage_layers, "parallelism.stage_layers"),
            stage_layer_count=len(self.stage_layers),
            heads=_numbers(self.heads, "parallelism.heads"),
            head_count=len(self.heads),
            tensor_ranks=uint32(self.tensor_ranks, "parallelism.tensor_ranks"),
        )


@dataclass(frozen=True)
class StreamGroup:
    """A pipeline by its name, of 1 to 64 letters, digits, '-' and '_'."""

    name: str
    shape: KvShape
    parallelism: Parallelism = field(default_factory=Parallelism)

    def _to_c(self) -> CStreamGroup:
        return CStreamGroup(
            name=text(self.name),
            shape=ctypes.pointer(self.shape._to_c()),
            parallelism=ctypes.pointer(self.parallelism._to_c()),
        )


def _numbers(values: Sequence[int], what: str) -> "ctypes.Array[ctypes.c_uint32]":
    return (ctypes.c_uint32 * len(values))(*(uint32(value, what) for value in values))
