# SPDX-License-Identifier: Apache-2.0
"""Stand-in: how vLLM finds a spec that is not its own."""

import importlib
from typing import Any, Mapping, Type

from vllm.v1.kv_offload.base import OffloadingSpec
from vllm.v1.kv_offload.config import OffloadingConfig


class OffloadingSpecFactory:
    @classmethod
    def get_spec_cls(cls, extra_config: Mapping[str, Any]) -> Type[OffloadingSpec]:
        module = importlib.import_module(extra_config["spec_module_path"])
        spec: Type[OffloadingSpec] = getattr(module, extra_config["spec_name"])
        assert issubclass(spec, OffloadingSpec)
        return spec

    @classmethod
    def create_spec(cls, config: OffloadingConfig) -> OffloadingSpec:
        return cls.get_spec_cls(config.extra_config)(config)
