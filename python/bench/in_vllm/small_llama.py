# SPDX-License-Identifier: Apache-2.0
"""A Llama of 8 layers with random weights, the same on every machine, as a checkpoint. Its weights are
scaled so that each prompt has an answer of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict

LAYERS, HIDDEN, INNER, HEADS, KV_HEADS, HEAD_DIM, VOCABULARY = 8, 1024, 2816, 16, 4, 64, 2048
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM,
    "hidden_act": "silu", "max_position_embeddings": 2048, "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    "tie_word_embeddings": False, "attention_bias": False, "mlp_bias": False,
    "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "dtype": "bfloat16",
}


def make(directory: Path) -> None:
    import torch
    from safetensors.torch import save_file

    random = torch.Generator().manual_seed(20260)
    tensors: Dict[str, Any] = {}

    def weight(name: str, rows: int, columns: int, gain: float) -> None:
        values = torch.randn(rows, columns, generator=random) * (gain / columns**0.5)
        tensors[f"{name}.weight"] = values.to(torch.bfloat16)

    weight("model.embed_tokens", VOCABULARY, HIDDEN, HIDDEN**0.5)
    for layer in range(LAYERS):
        of = f"model.layers.{layer}"
        weight(f"{of}.self_attn.q_proj", HEADS * HEAD_DIM, HIDDEN, 1.6)
        weight(f"{of}.self_attn.k_proj", KV_HEADS * HEAD_DIM, HIDDEN, 1.6)
        weight(f"{of}.self_attn.v_proj", KV_HEADS * HEAD_DIM, HIDDEN, 2.0)
        weight(f"{of}.self_attn.o_proj", HIDDEN, HEADS * HEAD_DIM, 2.0)
        for name in ("gate_proj", "up_proj"):
            weight(f"{of}.mlp.{name}", INNER, HIDDEN, 1.5)
        weight(f"{of}.mlp.down_proj", HIDDEN, INNER, 1.5)
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"{of}.{name}.weight"] = torch.ones(HIDDEN, dtype=torch.bfloat16)
    tensors["model.norm.weight"] = torch.ones(HIDDEN, dtype=torch.bfloat16)
    weight("lm_head", VOCABULARY, HIDDEN, 4.0)
    directory.mkdir(parents=True)
    save_file(tensors, str(directory / "model.safetensors"), metadata={"format": "pt"})
    (directory / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
