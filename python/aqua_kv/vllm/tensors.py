# SPDX-License-Identifier: Apache-2.0
"""PyTorch tensors over mapped weights, and where a tensor's bytes lie. torch is imported when it is
used: vLLM brings it."""

from __future__ import annotations

import ctypes
import importlib
from typing import Any, Mapping, Tuple

from ..weights import WeightTensor


def torch() -> Any:
    return importlib.import_module("torch")


def mapped_bytes(weight: WeightTensor, device: Any) -> Any:
    """A tensor of bytes over mapped weights, which it keeps mapped. It is not to be written: torch
    has no read-only tensors, and a write faults (emulated GPU) or may end the context (CUDA)."""
    if device.type == "cpu":  # an emulated GPU, whose memory this process can read
        memory = (ctypes.c_ubyte * weight.bytes).from_address(weight.data)
        memory.owner = weight  # type: ignore[attr-defined]
        return torch().frombuffer(memory, dtype=torch().uint8)
    return torch().as_tensor(_Writable(weight), device=device)


class _Writable:
    """Mapped weights without the flag that says read-only, which torch refuses."""

    def __init__(self, weight: WeightTensor) -> None:
        self.weight = weight

    @property
    def __cuda_array_interface__(self) -> Mapping[str, Any]:
        return {**self.weight.__cuda_array_interface__, "data": (self.weight.data, False)}


class RawBytes:
    """Bytes of a tensor's storage, as publish_weights() takes them."""

    def __init__(self, tensor: Any, address: int, length: int) -> None:
        self._tensor = tensor  # keeps the storage
        self._interface = {
            "version": 3, "data": (address, True), "shape": (length,), "typestr": "|u1",
            "strides": None,
        }
        if tensor.device.type == "cpu":
            self.__array_interface__ = self._interface
        else:
            self.__cuda_array_interface__ = self._interface


def extent(tensor: Any) -> Tuple[int, int]:
    """The bytes of its storage that a tensor's elements lie in: the first, and behind the last."""
    item = int(tensor.element_size())
    first = int(tensor.storage_offset()) * item
    if tensor.numel() == 0:
        return first, first
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride()))
    return first, first + (int(last) + 1) * item


def same_bytes(one: Any, other: Any) -> bool:
    """Of two tensors of one type and shape on one device: whether their elements are alike bit for
    bit, as not even each NaN is like itself."""
    flat = [t.detach().contiguous().reshape(-1).view(torch().uint8) for t in (one, other)]
    return bool(torch().equal(*flat))


def is_dense(shape: Tuple[int, ...], strides: Tuple[int, ...]) -> bool:
    """Whether the elements lie in C order without gaps. `strides` in elements."""
    step = 1
    for n, stride in zip(reversed(shape), reversed(strides)):
        if n != 1 and stride != step:
            return False
        step *= n
    return True


def dtype_name(tensor: Any) -> str:
    return str(tensor.dtype).replace("torch.", "")


# What safetensors calls torch's types.
SAFETENSORS = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64",
    "int32": "I32", "int16": "I16", "int8": "I8", "uint64": "U64", "uint32": "U32",
    "uint16": "U16", "uint8": "U8", "bool": "BOOL", "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0",
}  # fmt: skip
