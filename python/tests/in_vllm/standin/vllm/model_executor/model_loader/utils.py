# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

from typing import Any, Optional

from vllm.config.model import ModelConfig
from vllm.config.vllm import VllmConfig
from vllm.model_executor.layers.quantization.base_config import QuantizeMethodBase
from vllm.model_executor.utils import is_weights_pre_processed


def initialize_model(
    vllm_config: VllmConfig,
    *,
    prefix: str = "",
    model_class: Optional[Any] = None,
    model_config: Optional[ModelConfig] = None,
) -> Any:
    config = model_config or vllm_config.model_config
    return (model_class or config.hf_config.model_class())(config)


def process_weights_after_loading(
    model: Any, model_config: ModelConfig, target_device: Any
) -> None:
    for name, module in model.named_modules():
        method = getattr(module, "quant_method", None)
        if isinstance(method, QuantizeMethodBase):
            if is_weights_pre_processed() and not method.supports_pre_processed_weights:
                raise RuntimeError(f"{name}: {type(method).__name__}")
            method.process_weights_after_loading(module)
