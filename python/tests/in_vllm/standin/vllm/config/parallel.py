# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

from dataclasses import dataclass


@dataclass
class ParallelConfig:
    enable_expert_parallel: bool = False
    enable_eplb: bool = False
    expert_placement_strategy: str = "linear"
    nnodes: int = 1
    all2all_backend: str = "allgather_reducescatter"

    def compute_hash(self):  # type: ignore[no-untyped-def]
        return repr(self)
