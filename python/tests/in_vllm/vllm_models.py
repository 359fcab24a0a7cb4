# SPDX-License-Identifier: Apache-2.0
"""Models for the tests of aqua_kv.vllm's loader: made of torch's modules, or of the stand-in's. As
vLLM's they are made without weights, loaded, and processed by their layers' quantization methods."""

from __future__ import annotations

import hashlib
import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from vllm.config.device import DeviceConfig
from vllm.config.load import LoadConfig
from vllm.config.model import ModelConfig
from vllm.config.vllm import VllmConfig
from vllm.model_executor.layers.quantization.base_config import QuantizeMethodBase
from vllm.model_executor.utils import is_weights_pre_processed


@dataclass
class HfConfig:
    kind: str = "Small"
    width: int = 48
    seed: int = 1  # of what is on the "disk"
    downloads: int = 0
    reads: int = 0

    def model_class(self) -> Any:
        return lambda config: make(config)

    def __repr__(self) -> str:
        return f"HfConfig({self.kind}, {self.width})"


def torch() -> Any:
    return importlib.import_module("torch")


class Plain(QuantizeMethodBase):
    supports_pre_processed_weights = True


class Packed(QuantizeMethodBase):
    """Turns a weight of 16 bits into one of 8, transposed, with a scale of its own; what it packs
    from is gone then."""

    supports_pre_processed_weights = True

    def process_weights_after_loading(self, layer: Any) -> None:
        if not is_weights_pre_processed():
            weight = layer.weight
            rows, columns = weight.shape
            packed = torch().empty((rows, columns), dtype=torch().uint8, device=weight.device)
            fill(packed, f"packed {rows}x{columns}")
            layer.weight = torch().nn.Parameter(packed.t(), requires_grad=False)
            scale = torch().empty((rows,), dtype=torch().float32, device=weight.device)
            fill(scale, f"scale {rows}")
            layer.weight_scale = torch().nn.Parameter(scale, requires_grad=False)
            del layer.input_scale
        layer.ready = True  # state that is no tensor, which every engine makes


class Unsupported(QuantizeMethodBase):
    pass


def fill(tensor: Any, what: str) -> None:
    """Bytes that follow from `what` alone, into a tensor's whole storage."""
    length = tensor.numel() * tensor.element_size()
    seed = int.from_bytes(hashlib.sha256(what.encode()).digest()[:4], "big")
    raw = np.random.default_rng(seed).integers(0, 256, length, dtype=np.uint8)
    torch().as_strided(tensor, (tensor.numel(),), (1,)).view(torch().uint8).copy_(
        torch().from_numpy(raw)
    )


def make(config: ModelConfig) -> Any:
    nn, hf = torch().nn, config.hf_config
    width = hf.width

    def parameter(*shape: int, dtype: Any = None) -> Any:
        return nn.Parameter(torch().empty(shape, dtype=dtype), requires_grad=False)

    class Layer(nn.Module):
        def __init__(self, method: Any, *shape: int) -> None:
            super().__init__()
            self.weight = parameter(*shape)
            self.quant_method = method
            if isinstance(method, Packed):
                self.input_scale = parameter(1, dtype=torch().float32)

    class Rotary(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("cache", torch().empty((16, 8)), persistent=False)
            self.register_buffer("scale", torch().empty((), dtype=torch().float32))
            self.kv_cache = torch().empty((0,))  # a plain attribute
            self.window = torch().empty((3,), dtype=torch().int32)

    class Small(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = Layer(Plain(), 64, width)
            self.qkv = Layer(Plain(), 3 * width, width)
            # Two parameters in one storage, the second transposed.
            both = torch().empty((2 * width, width), dtype=torch().float32)
            self.up = nn.Parameter(both[:width], requires_grad=False)
            self.down = nn.Parameter(both[width:].t(), requires_grad=False)
            self.rotary = Rotary()
            self.flags = nn.Parameter(torch().empty((5,), dtype=torch().bool), requires_grad=False)
            if hf.kind == "Quantized":
                self.packed = Layer(Packed(), 32, width)
            if hf.kind == "Unsupported":
                self.packed = Layer(Unsupported(), 32, width)
            if hf.kind == "Extra":
                self.extra = Layer(Plain(), 4, 4)
            if hf.kind == "Second":
                self.secondary_weights = ("another",)
            self.head = self.embed  # tied, as a module ...
            self.bias = None
            self.norm = parameter(width)
            self.norm_too = self.norm  # ... and as a parameter

        def load(self, config: ModelConfig) -> None:
            hf.reads += 1
            for prefix, module in self.named_modules():
                for kind in (module._parameters, module._buffers, vars(module)):
                    for leaf, tensor in kind.items():
                        whole = leaf not in ("up", "down") and isinstance(tensor, torch().Tensor)
                        if whole and tensor.numel():
                            fill(tensor, f"{prefix}.{leaf} {hf.seed}")
            both = torch().as_strided(self.up, (2 * width, width), (width, 1))
            fill(both, f"both {hf.seed}")
            torch().as_strided(self.flags, (5,), (1,)).view(torch().uint8).copy_(
                torch().from_numpy(np.array([1, 0, 1, 1, 0], np.uint8))
            )

    return Small()


def configuration(
    kind: str = "Small", seed: int = 1, width: int = 48, **extra: Any
) -> VllmConfig:
    """Of an engine whose worker has torch's CPU as the memory of an emulated GPU."""
    return VllmConfig(
        model_config=ModelConfig(
            model="small", dtype=torch().bfloat16,
            hf_config=HfConfig(kind, width, seed),
        ),
        device_config=DeviceConfig("cpu"),
        load_config=LoadConfig("aqua", {"device": "emu:0", "version": "1", **extra}),
    )


def contents(model: Any) -> Any:
    """What a model's state is: type, shape, strides and bytes by name, in order."""
    return {name: form(tensor) for name, tensor in model.state_dict().items()}


def form(tensor: Any) -> Any:
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    dense = tensor.clone()
    flat = torch().as_strided(dense, (tensor.numel(),), (1,)).view(torch().uint8)
    # clone() keeps the strides of a dense tensor in torch: the bytes are compared in that order.
    return str(tensor.dtype), shape, strides, hashlib.sha256(flat.numpy().tobytes()).hexdigest()
