# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

from typing import Any, Callable, Dict, Type

from vllm.config.load import LoadConfig
from vllm.model_executor.model_loader.base_loader import BaseModelLoader
from vllm.model_executor.model_loader.default_loader import DefaultModelLoader

_LOAD_FORMAT_TO_MODEL_LOADER: Dict[str, Type[BaseModelLoader]] = {
    "auto": DefaultModelLoader,
    "safetensors": DefaultModelLoader,
}


def register_model_loader(load_format: str) -> Callable[[Any], Any]:
    def register(loader: Any) -> Any:
        if not issubclass(loader, BaseModelLoader):
            raise ValueError("The model loader must be a subclass of `BaseModelLoader`.")
        _LOAD_FORMAT_TO_MODEL_LOADER[load_format] = loader
        return loader

    return register


def get_model_loader(load_config: LoadConfig) -> BaseModelLoader:
    return _LOAD_FORMAT_TO_MODEL_LOADER[load_config.load_format](load_config)
