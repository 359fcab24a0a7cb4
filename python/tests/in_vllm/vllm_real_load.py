# SPDX-License-Identifier: Apache-2.0
"""A worker of the real vLLM as far as a machine without a GPU has one: its options, its plugins, its
model classes, loaders and processing, with torch's CPU tensors. What came of a load is written as
JSON. Argument: a JSON object; "model" names a folder, which is filled where it is not there."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from typing import Any

import torch
import vllm.platforms
from vllm.platforms.cpu import CpuPlatform
from vllm.platforms.interface import PlatformEnum


class EmulatedPlatform(CpuPlatform):
    """vLLM's own for CPUs, without what it does to weights there: it packs them, and frees them."""

    _enum = PlatformEnum.OOT
    device_name = "cpu"

    def is_cpu(self) -> bool:
        return False

    @classmethod
    def check_and_update_config(cls, vllm_config: Any) -> None:
        pass


vllm.platforms._current_platform = EmulatedPlatform()

from vllm.config import set_current_vllm_config  # noqa: E402
from vllm.distributed import (  # noqa: E402
    ensure_model_parallel_initialized,
    init_distributed_environment,
)
from vllm.engine.arg_utils import EngineArgs  # noqa: E402
from vllm.model_executor.model_loader import get_model_loader  # noqa: E402
from vllm.model_executor.model_loader.default_loader import DefaultModelLoader  # noqa: E402

WIDTH = 64


def write_checkpoint(place: str, family: str, tied: bool) -> None:
    import transformers

    config = getattr(transformers, f"{family}Config")(
        vocab_size=256, hidden_size=WIDTH, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=16, max_position_embeddings=256,
        tie_word_embeddings=tied,
    )
    torch.manual_seed(0)
    model = getattr(transformers, f"{family}ForCausalLM")(config)
    model.to(torch.bfloat16).save_pretrained(place)


def form(tensor: Any) -> Any:
    raw = tensor.detach().clone().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    told = [str(tensor.dtype), list(tensor.shape), list(tensor.stride())]
    return [*told, hashlib.sha256(raw).hexdigest()]


def tied(model: Any) -> bool:
    head = getattr(model, "lm_head", None)
    return head is None or head.weight is model.model.embed_tokens.weight


def load(told: Any) -> Any:
    args = EngineArgs(
        model=told["model"], skip_tokenizer_init=True, dtype="bfloat16", enforce_eager=True,
        max_model_len=128, load_format=told["format"],
        model_loader_extra_config=told.get("extra", {}),
        tensor_parallel_size=told.get("ranks", 1), **told.get("args", {}),
    )
    config = args.create_engine_config()
    reads = []
    reading = DefaultModelLoader.load_weights

    def load_weights(self: Any, *given: Any) -> Any:
        reads.append(1)
        return reading(self, *given)

    DefaultModelLoader.load_weights = load_weights  # type: ignore[method-assign]
    with set_current_vllm_config(config), tempfile.TemporaryDirectory() as place:
        rank, ranks = told.get("rank", 0), told.get("ranks", 1)
        meeting = f"file://{told.get('place', place)}/meeting"
        init_distributed_environment(ranks, rank, meeting, rank, "gloo")
        ensure_model_parallel_initialized(ranks, 1)
        external = get_model_loader(config.load_config).get_external_weight_memory(config)
        # Another object, as in vLLM's worker.
        loader = get_model_loader(config.load_config)
        model = loader.load_model(vllm_config=config, model_config=config.model_config)
        hidden = torch.linspace(-1, 1, 8 * WIDTH, dtype=torch.bfloat16).reshape(8, WIDTH)
        layer = model.model.layers[0]
        computed = [layer.mlp(hidden), layer.input_layernorm(hidden)]
        rotary = getattr(layer.self_attn, "rotary_emb", None)
        if rotary is not None:
            q, k = hidden.clone(), hidden[:, :32].clone()
            computed += list(rotary.forward_native(torch.arange(8), q, k))
        return {
            "loader": type(loader).__name__,
            "reads": len(reads),
            "external": external,
            "tied": tied(model),
            "state": {name: form(tensor) for name, tensor in model.state_dict().items()},
            "buffers": {name: form(tensor) for name, tensor in model.named_buffers()},
            "computed": [form(tensor) for tensor in computed],
        }


def main() -> None:
    told = json.loads(sys.argv[1])
    if not os.path.exists(told["model"]):
        write_checkpoint(told["model"], told.get("family", "Llama"), told.get("tied", True))
    try:
        answer = load(told)
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print("\n" + json.dumps(answer), flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
