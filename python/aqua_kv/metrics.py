# SPDX-License-Identifier: Apache-2.0
"""What a LayerPool, a Streamer and a Replicator say of themselves, as metrics in Prometheus' text
format, for engines to add to what they answer at /metrics (aqua/layer_swap/metrics.hpp,
aqua/kv_stream/metrics.hpp)."""

from __future__ import annotations

from typing import List, Union

from .kv_stream import metrics as kv_stream
from .kv_stream.replicator import ReplicatorStatus
from .kv_stream.streamer import StreamerStatus
from .layer_status import LayerPoolStatus


def to_metrics(status: Union[LayerPoolStatus, StreamerStatus, ReplicatorStatus]) -> str:
    """The status() of one of them, under the names that C++ engines have."""
    if not isinstance(status, LayerPoolStatus):
        return kv_stream.to_metrics(status)
    return kv_stream.to_text(_of_layer_pool(status))


def _of_layer_pool(status: LayerPoolStatus) -> List[kv_stream.Metric]:
    proposed: List[kv_stream.Metric] = [
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
