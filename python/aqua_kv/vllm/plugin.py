# SPDX-License-Identifier: Apache-2.0
"""What vLLM calls in each of its processes, as a plugin of the group vllm.general_plugins."""

from __future__ import annotations

from vllm.model_executor.model_loader import register_model_loader

LOAD_FORMAT = "aqua"


def register() -> None:
    """Makes `--load-format aqua` known. Calling it again changes nothing."""
    from .loader import AquaModelLoader

    register_model_loader(LOAD_FORMAT)(AquaModelLoader)
