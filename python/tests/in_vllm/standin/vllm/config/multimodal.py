# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

from dataclasses import dataclass


@dataclass
class MultiModalConfig:
    mm_encoder_only: bool = False
    mm_encoder_tp_mode: str = "weights"
