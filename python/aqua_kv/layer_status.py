# SPDX-License-Identifier: Apache-2.0
"""What a layer pool tells of itself, and of its frames when they change. Units: bytes, seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Mapping, Tuple, Union

from ._c.pool_structs import CLayerPoolStatus
from .block_pool import BlockMove

Metric = Tuple[str, str, Mapping[str, Union[int, float]]]  # name, kind, value by label


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


def metrics_of(status: LayerPoolStatus) -> List[Metric]:
    """aqua/layer_swap/metrics.hpp in Python; to_metrics() makes text of it."""
    proposed: List[Metric] = [
        ("aqua_engine_layer_frames_proposed", "gauge", {"": status.proposed_frames}),
        ("aqua_engine_layer_frames_reason", "gauge", {f'{{reason="{status.reason}"}}': 1}),
    ]
    return [
        ("aqua_engine_layer_frames", "gauge", {"": status.frames}),
        ("aqua_engine_layers_streamed", "gauge", {"": status.streamed_layers}),
        ("aqua_engine_layer_blocks_usable", "gauge", {"": status.usable_blocks}),
        *(proposed if status.proposed_frames else []),
        ("aqua_engine_layer_away_bytes", "gauge", {
            '{tier="peer"}': status.away_peer_bytes,
            '{tier="host"}': status.away_bytes - status.away_peer_bytes,
        }),
        ("aqua_engine_layer_steps_total", "counter", {"": status.steps}),
        ("aqua_engine_layer_resizes_total", "counter", {"": status.resizes}),
        ("aqua_engine_layer_copied_bytes_total", "counter", {
            '{way="in"}': status.fetched_bytes, '{way="out"}': status.written_bytes,
        }),
        ("aqua_engine_layer_seconds_total", "counter", {
            '{of="compute"}': status.compute_seconds, '{of="stall"}': status.stall_seconds,
            '{of="fetch"}': status.fetch_seconds, '{of="write"}': status.write_seconds,
        }),
    ]
