# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

from dataclasses import dataclass, field
from typing import Any, Dict, Optional

from vllm.config.attention import AttentionConfig
from vllm.config.cache import CacheConfig
from vllm.config.device import DeviceConfig
from vllm.config.kernel import KernelConfig
from vllm.config.load import LoadConfig
from vllm.config.lora import LoRAConfig
from vllm.config.model import ModelConfig
from vllm.config.offload import OffloadConfig
from vllm.config.parallel import ParallelConfig
from vllm.config.speculative import SpeculativeConfig


@dataclass
class VllmConfig:
    model_config: ModelConfig = None  # type: ignore[assignment]
    cache_config: CacheConfig = field(default_factory=CacheConfig)
    parallel_config: ParallelConfig = field(default_factory=ParallelConfig)
    device_config: DeviceConfig = field(default_factory=DeviceConfig)
    load_config: LoadConfig = field(default_factory=LoadConfig)
    offload_config: OffloadConfig = field(default_factory=OffloadConfig)
    attention_config: AttentionConfig = field(default_factory=AttentionConfig)
    kernel_config: KernelConfig = field(default_factory=KernelConfig)
    lora_config: Optional[LoRAConfig] = None
    speculative_config: Optional[SpeculativeConfig] = None
    additional_config: Dict[str, Any] = field(default_factory=dict)
    weight_transfer_config: Any = None
