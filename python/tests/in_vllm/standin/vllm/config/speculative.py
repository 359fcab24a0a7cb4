# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

from dataclasses import dataclass
from typing import Optional

from vllm.config.load import LoadConfig
from vllm.config.model import ModelConfig


@dataclass
class SpeculativeConfig:
    draft_model_config: ModelConfig = None  # type: ignore[assignment]
    draft_load_config: Optional[LoadConfig] = None
