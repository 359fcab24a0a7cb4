# SPDX-License-Identifier: Apache-2.0
"""What a layer pool tells of itself, and of its frames when they change. Units: bytes, seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Tuple

from ._c.pool_structs import CLayerPoolStatus
from .block_pool import BlockMove


@dataclass(frozen=True)
class LayerPoolChange:
    """What resize() and adapt() tell an engine whose blocks are a BlockPool's."""

    frames: int  # that there are to be
    usable_blocks: int  # that they hold
    # Sequences whose blocks are needed: copy them out with offload(), or not, and
    # BlockPool.release() them, in the callback or before the next call.
    preempt: Tuple[int, ...]
    moved: Tuple[BlockMove, ...]  # are copied, in every layer
    done: bool  # the frames are there

    @classmethod
    def from_c(cls, c: Any) -> "LayerPoolChange":
        return cls(
            c.frames, c.usable_blocks, tuple(c.preempt[: c.preempt_count]),
            tuple(BlockMove.from_c(c.moved[i]) for i in range(c.moved_count)), c.done != 0,
        )


@dataclass(frozen=True)
class LayerPoolStatus:
    frames: int
    usable_blocks: int
    streamed_layers: int  # the others stay
    proposed_frames: int  # of a pool with a goal; 0 without
    steps: int  # ended
    fetched_bytes: int  # copies posted by steps so far; a block counts once for each layer
    written_bytes: int
    away_bytes: int  # what the streamed layers take off this device ...
    away_peer_bytes: int  # ... and the part of it in lent memory
    resizes: int
    # The device's seconds of the steps that were measured: that layers computed and waited for
    # others to come in, and that the link was busy each way.
    compute_seconds: float
    stall_seconds: float
    fetch_seconds: float
    write_seconds: float
    reason: str  # of proposed_frames, in a word; empty without a goal

    @classmethod
    def from_c(cls, c: Any) -> "LayerPoolStatus":
        told = {name: getattr(c, name) for name, _ in CLayerPoolStatus._fields_[1:]}
        return cls(**{**told, "reason": told["reason"].decode("utf-8", "replace")})
