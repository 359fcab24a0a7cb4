# SPDX-License-Identifier: Apache-2.0
"""As much of PyTorch as aqua_kv.vllm's loader meets, over NumPy arrays: tensors that are views of a
storage, types, the meta device, modules with parameters and buffers. Written anew for tests where
torch is not installed; where it is, they run with it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np

__version__ = "stand-in"
strided = "torch.strided"


class dtype:
    def __init__(self, name: str, like: Any) -> None:
        self.name = name
        self.numpy = np.dtype(like)
        self.itemsize = self.numpy.itemsize

    def __repr__(self) -> str:
        return f"torch.{self.name}"


float32, float16 = dtype("float32", np.float32), dtype("float16", np.float16)
bfloat16 = dtype("bfloat16", np.uint16)  # its bits
int32, int8 = dtype("int32", np.int32), dtype("int8", np.int8)
uint8, bool = dtype("uint8", np.uint8), dtype("bool", np.bool_)
float8_e4m3fn = dtype("float8_e4m3fn", np.uint8)
_default = [float32]


def get_default_dtype() -> dtype:
    return _default[0]


def set_default_dtype(given: dtype) -> None:
    _default[0] = given


class device(AbstractContextManager):  # type: ignore[type-arg]
    _stack: List["device"] = []

    def __init__(self, named: Union[str, "device"]) -> None:
        kind, _, index = str(named).partition(":")
        self.type = kind
        self.index = int(index) if index else None

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __enter__(self) -> "device":
        device._stack.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        device._stack.pop()


def _here(given: Any) -> device:
    if given is not None:
        return device(given)
    return device._stack[-1] if device._stack else device("cpu")


class UntypedStorage:
    def __init__(self, memory: Optional[Any]) -> None:
        self.memory = memory  # an array of bytes; none on the meta device

    def data_ptr(self) -> int:
        return 0 if self.memory is None else int(self.memory.ctypes.data)


class Tensor:
    __slots__ = (
        "_storage", "dtype", "device", "shape", "_strides", "_offset", "__dict__", "__weakref__",
    )
    layout = strided

    def __init__(
        self, storage: UntypedStorage, kind: dtype, shape: Sequence[int], strides: Sequence[int],
        offset: int, where: device,
    ) -> None:
        self._storage, self.dtype, self.device = storage, kind, where
        self.shape, self._strides, self._offset = tuple(shape), tuple(strides), offset

    def untyped_storage(self) -> UntypedStorage:
        return self._storage

    def stride(self) -> Tuple[int, ...]:
        return self._strides

    def storage_offset(self) -> int:
        return self._offset

    def element_size(self) -> int:
        return self.dtype.itemsize

    def numel(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def data_ptr(self) -> int:
        return self._storage.data_ptr() + self._offset * self.dtype.itemsize

    @property
    def data(self) -> "Tensor":
        return self._over(self.shape, self._strides, self._offset)

    @data.setter
    def data(self, other: "Tensor") -> None:
        assert "meta" not in (self.device.type, other.device.type), "torch refuses it"
        self._storage, self.dtype, self.shape = other._storage, other.dtype, other.shape
        self._strides, self._offset = other._strides, other._offset

    def detach(self) -> "Tensor":
        return self.data

    def contiguous(self) -> "Tensor":
        return self.clone()

    def reshape(self, length: int) -> "Tensor":
        assert length == -1  # of one that is contiguous
        return self._over((self.numel(),), (1,), self._offset)

    def numpy(self) -> Any:
        assert self._storage.memory is not None, "a tensor on the meta device has no elements"
        item = self.dtype.itemsize
        return np.ndarray(
            self.shape, self.dtype.numpy, self._storage.memory.data, self._offset * item,
            [stride * item for stride in self._strides],
        )

    def view(self, kind: dtype) -> "Tensor":
        (length,) = self.shape
        first = self._offset * self.dtype.itemsize
        assert first % kind.itemsize == 0 and self._strides == (1,)
        count = length * self.dtype.itemsize // kind.itemsize
        return Tensor(self._storage, kind, (count,), (1,), first // kind.itemsize, self.device)

    def __getitem__(self, piece: slice) -> "Tensor":
        start, stop, _ = piece.indices(self.shape[0])
        shape = (max(stop - start, 0), *self.shape[1:])
        return self._over(shape, self._strides, self._offset + start * self._strides[0])

    def t(self) -> "Tensor":
        return self._over(self.shape[::-1], self._strides[::-1], self._offset)

    def clone(self) -> "Tensor":
        copy = empty(self.shape, dtype=self.dtype, device=self.device)
        return copy.copy_(self)

    def cpu(self) -> "Tensor":
        return self

    def copy_(self, other: Any) -> "Tensor":
        if self._storage.memory is not None and self.numel():
            self.numpy()[...] = other.numpy() if isinstance(other, Tensor) else other
        return self

    def _over(self, shape: Sequence[int], strides: Sequence[int], offset: int) -> "Tensor":
        return Tensor(self._storage, self.dtype, shape, strides, offset, self.device)


class Parameter(Tensor):
    def __init__(self, data: Tensor, requires_grad: Any = True) -> None:
        super().__init__(
            data._storage, data.dtype, data.shape, data._strides, data._offset, data.device
        )


def empty(shape: Sequence[int], *, dtype: Optional[dtype] = None, device: Any = None) -> Tensor:
    kind, where = dtype or get_default_dtype(), _here(device)
    strides, step = [], 1
    for n in reversed(tuple(shape)):
        strides.append(step)
        step *= n
    memory = None if where.type == "meta" else np.zeros(max(step, 0) * kind.itemsize, np.uint8)
    return Tensor(UntypedStorage(memory), kind, shape, strides[::-1], 0, where)


def zeros(shape: Sequence[int], *, dtype: Optional[dtype] = None, device: Any = None) -> Tensor:
    return empty(shape, dtype=dtype, device=device)


def from_numpy(array: Any) -> Tensor:
    kinds = {k.numpy: k for k in (float32, float16, int32, int8, uint8, bool)}
    made = empty(array.shape, dtype=kinds[array.dtype], device="cpu")
    return made.copy_(array)


def frombuffer(memory: Any, dtype: dtype) -> Tensor:
    array = np.frombuffer(memory, np.uint8)
    count = array.size // dtype.itemsize
    return Tensor(UntypedStorage(array), dtype, (count,), (1,), 0, device("cpu"))


def as_strided(tensor: Tensor, shape: Sequence[int], strides: Sequence[int]) -> Tensor:
    return tensor._over(shape, strides, tensor._offset)


def equal(one: Tensor, other: Tensor) -> Any:
    return one.numpy().tobytes() == other.numpy().tobytes()


class Module:
    def __init__(self) -> None:
        for name in ("_parameters", "_buffers", "_modules"):
            object.__setattr__(self, name, {})
        object.__setattr__(self, "_non_persistent_buffers_set", set())
        self.training = True

    def register_parameter(self, name: str, parameter: Optional[Parameter]) -> None:
        assert parameter is None or isinstance(parameter, Parameter)
        self._parameters[name] = parameter

    def register_buffer(self, name: str, tensor: Optional[Tensor], persistent: Any = True) -> None:
        self._buffers[name] = tensor
        (self._non_persistent_buffers_set.discard if persistent
         else self._non_persistent_buffers_set.add)(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._modules[name] = value
        elif isinstance(value, Tensor) and name in self._buffers:
            self._buffers[name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(kind, {}):
                return self.__dict__[kind][name]
        raise AttributeError(name)

    def __delattr__(self, name: str) -> None:
        for kind in (self._parameters, self._buffers, self._modules):
            if kind.pop(name, self) is not self:
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def named_modules(
        self, memo: Any = None, prefix: str = "", remove_duplicate: Any = True
    ) -> Iterator[Tuple[str, "Module"]]:
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            inner = f"{prefix}.{name}" if prefix else name
            yield from module.named_modules(memo, inner, remove_duplicate)

    def state_dict(self) -> Dict[str, Tensor]:
        found: Dict[str, Tensor] = {}
        for prefix, module in self.named_modules(remove_duplicate=False):
            start = f"{prefix}." if prefix else ""
            found.update({start + n: p for n, p in module._parameters.items() if p is not None})
            found.update({
                start + n: b for n, b in module._buffers.items()
                if b is not None and n not in module._non_persistent_buffers_set
            })
        return found

    def eval(self) -> "Module":
        for _, module in self.named_modules():
            module.training = False
        return self


class nn:
    Module = Module
    Parameter = Parameter
