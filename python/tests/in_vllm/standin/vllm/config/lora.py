# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

from dataclasses import dataclass


@dataclass
class LoRAConfig:
    max_lora_rank: int = 16

    def compute_hash(self) -> str:
        return repr(self)
