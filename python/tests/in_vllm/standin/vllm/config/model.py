# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

from dataclasses import dataclass
from typing import Any, Optional

from vllm.config.multimodal import MultiModalConfig


@dataclass
class ModelConfig:
    model: str = ""
    convert: str = "auto"
    dtype: Any = "auto"
    quantization: Optional[str] = None
    revision: Optional[str] = None
    model_weights: str = ""
    enable_sleep_mode: bool = False
    hf_config: Any = None
    multimodal_config: Optional[MultiModalConfig] = None

    def compute_hash(self) -> str:
        return repr(self.hf_config)
