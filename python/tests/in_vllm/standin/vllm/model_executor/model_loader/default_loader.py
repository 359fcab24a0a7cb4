# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

from typing import Any

from vllm.config.model import ModelConfig
from vllm.model_executor.model_loader.base_loader import BaseModelLoader


class DefaultModelLoader(BaseModelLoader):
    """Reads of the "disk" of the tests: what a model's own load() puts into it."""

    def download_model(self, model_config: ModelConfig) -> None:
        model_config.hf_config.downloads += 1

    def load_weights(self, model: Any, model_config: ModelConfig) -> None:
        model.load(model_config)
