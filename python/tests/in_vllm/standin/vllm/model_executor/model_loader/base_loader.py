# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

import importlib
from abc import ABC, abstractmethod
from typing import Any

from vllm.config.load import LoadConfig
from vllm.config.model import ModelConfig
from vllm.config.vllm import VllmConfig
from vllm.model_executor.model_loader.utils import (
    initialize_model,
    process_weights_after_loading,
)
from vllm.utils.torch_utils import set_default_torch_dtype


class BaseModelLoader(ABC):
    def __init__(self, load_config: LoadConfig):
        self.load_config = load_config

    def get_external_weight_memory(self, vllm_config: VllmConfig) -> int:
        return 0

    @abstractmethod
    def download_model(self, model_config: ModelConfig) -> None:
        raise NotImplementedError

    @abstractmethod
    def load_weights(self, model: Any, model_config: ModelConfig) -> None:
        raise NotImplementedError

    def create_model(
        self, vllm_config: VllmConfig, model_config: ModelConfig, prefix: str = ""
    ) -> Any:
        return initialize_model(vllm_config, prefix=prefix, model_config=model_config)

    def load_model(
        self, vllm_config: VllmConfig, model_config: ModelConfig, prefix: str = ""
    ) -> Any:
        device = importlib.import_module("torch").device(vllm_config.device_config.device)
        with set_default_torch_dtype(model_config.dtype):
            with device:
                # By name, as vLLM calls it.
                model = self.create_model(
                    vllm_config=vllm_config, model_config=model_config, prefix=prefix
                )
            self.load_weights(model, model_config)
            process_weights_after_loading(model, model_config, device)
        return model.eval()
