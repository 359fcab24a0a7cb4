# SPDX-License-Identifier: Apache-2.0
"""What AquaConnector's workers count of their streams, on its way to vLLM's /metrics, where it has the
names of aqua_kv.to_metrics(). vLLM asks each worker after each step, adds up what they say, and has
it observed in the process that answers /metrics."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Dict, List, Optional, Tuple, Union

from vllm.distributed.kv_transfer.kv_connector.v1.metrics import (
    KVConnectorPromMetrics,
    KVConnectorStats,
)

from ..kv_stream import Streamer
from ..kv_stream.metrics import PARCELS_REFUSED, STREAMS


class StreamStats(KVConnectorStats):
    """`data`: by "arrived", "cut_off" and "refused" how many there were since the last ones; what is
    not there is 0."""

    def reset(self) -> None:
        self.data = {}

    def aggregate(self, other: KVConnectorStats) -> KVConnectorStats:
        for what, count in other.data.items():
            self.data[what] = self.data.get(what, 0) + count
        return self

    def reduce(self) -> Dict[str, Union[int, float]]:
        """For the line that vLLM logs."""
        return dict(self.data)

    def is_empty(self) -> bool:
        return not any(self.data.values())


class StreamCounts:
    """Of one worker."""

    def __init__(self) -> None:
        self._streamer: Optional[Streamer] = None
        self._told: Dict[str, int] = {}

    def since_last(self, streamer: Streamer) -> Optional[StreamStats]:
        """What is new. None: nothing is. A streamer that has taken another's place counts from 0."""
        status = streamer.status()
        counts = {"arrived": status.arrived, "cut_off": status.cut_off, "refused": status.refused}
        told = self._told if streamer is self._streamer else {}
        self._streamer, self._told = streamer, counts
        new = {what: count - told.get(what, 0) for what, count in counts.items()}
        stats = StreamStats({what: count for what, count in new.items() if count})
        return None if stats.is_empty() else stats


@lru_cache(maxsize=None)
def _counter(kind: Any, name: str, documentation: str, labels: Tuple[str, ...]) -> Any:
    """The same one for the next engine of this process: Prometheus' registry refuses a second one of
    a name, and vLLM only drops those with "vllm" in their names from it."""
    return kind(name=name, documentation=documentation, labelnames=list(labels))


class StreamPromMetrics(KVConnectorPromMetrics):
    def __init__(
        self, vllm_config: Any, metric_types: Dict[Any, Any], labelnames: List[str],
        per_engine_labelvalues: Dict[int, List[object]],
    ) -> None:
        super().__init__(vllm_config, metric_types, labelnames, per_engine_labelvalues)
        streams = _counter(
            self._counter_cls, STREAMS, "Sequences' attempts that arrived, or were cut off.",
            (*labelnames, "what"),
        )
        refused = _counter(
            self._counter_cls, PARCELS_REFUSED, "Parcels that cannot be.", tuple(labelnames)
        )
        self._counters: Dict[Tuple[int, str], Any] = {}
        for engine, values in per_engine_labelvalues.items():
            for what in ("arrived", "cut_off"):
                self._counters[engine, what] = streams.labels(*values, what)
            self._counters[engine, "refused"] = refused.labels(*values)

    def observe(self, transfer_stats_data: Dict[str, Any], engine_idx: int = 0) -> None:
        for what, count in transfer_stats_data.items():
            self._counters[engine_idx, what].inc(count)
