# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Union


@dataclass
class KVConnectorStats:
    data: Dict[str, Any] = field(default_factory=dict)

    def reset(self) -> None:
        raise NotImplementedError

    def aggregate(self, other: "KVConnectorStats") -> "KVConnectorStats":
        raise NotImplementedError

    def reduce(self) -> Dict[str, Union[int, float]]:
        raise NotImplementedError

    def is_empty(self) -> bool:
        raise NotImplementedError


class KVConnectorPromMetrics:
    def __init__(
        self, vllm_config: Any, metric_types: Dict[Any, Any], labelnames: List[str],
        per_engine_labelvalues: Dict[int, List[object]],
    ) -> None:
        # By its name: the tests have no prometheus_client.
        self._counter_cls: Any = {kind.__name__: made for kind, made in metric_types.items()}["Counter"]

    def observe(self, transfer_stats_data: Dict[str, Any], engine_idx: int = 0) -> None:
        raise NotImplementedError
