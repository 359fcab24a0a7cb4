# SPDX-License-Identifier: Apache-2.0
"""What a Streamer, a Replicator and a LayerPool say of themselves, as metrics in Prometheus' text
format, for engines to add to what they answer at /metrics (aqua/kv_stream/metrics.hpp,
aqua/layer_swap/metrics.hpp)."""

from __future__ import annotations

from typing import List, Union

from ..layer_status import LayerPoolStatus, Metric, metrics_of
from .replicator import ReplicatorStatus
from .streamer import StreamerStatus

STREAMS = "aqua_engine_streams_total"  # by `what`: "arrived", "cut_off"
PARCELS_REFUSED = "aqua_engine_stream_parcels_refused_total"


def to_metrics(status: Union[LayerPoolStatus, StreamerStatus, ReplicatorStatus]) -> str:
    """The status() of one of them, under the names that C++ engines have."""
    if isinstance(status, LayerPoolStatus):
        metrics = metrics_of(status)
    elif isinstance(status, StreamerStatus):
        metrics = _of_streamer(status)
    else:
        metrics = _of_replicator(status)
    lines = []
    for name, kind, samples in metrics:
        lines.append(f"# TYPE {name} {kind}\n")
        lines += [f"{name}{label} {value}\n" for label, value in samples.items()]
    return "".join(lines)


def _of_streamer(status: StreamerStatus) -> List[Metric]:
    return [
        (STREAMS, "counter", {
            '{what="arrived"}': status.arrived, '{what="cut_off"}': status.cut_off,
        }),
        (PARCELS_REFUSED, "counter", {"": status.refused}),
    ]


def _of_replicator(status: ReplicatorStatus) -> List[Metric]:
    return [
        ("aqua_engine_replicas_connected", "gauge", {"": int(status.connected)}),
        ("aqua_engine_replica_sequences", "gauge", {
            '{state="protected"}': status.sequences - status.unprotected,
            '{state="unprotected"}': status.unprotected,
        }),
        ("aqua_engine_replica_lag_tokens", "gauge", {"": status.most_lag}),
        ("aqua_engine_replica_steps_unprotected_total", "counter", {"": status.steps_unprotected}),
        ("aqua_engine_replica_packs_total", "counter", {
            '{outcome="committed"}': status.packs_committed,
            '{outcome="failed"}': status.packs_failed,
        }),
        ("aqua_engine_replica_copied_bytes_total", "counter", {
            '{what="new"}': status.copied_bytes - status.rewritten_bytes,
            '{what="rewritten"}': status.rewritten_bytes,
        }),
        ("aqua_engine_replica_kept_bytes", "gauge", {"": status.kept_bytes}),
    ]
