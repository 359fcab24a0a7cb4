# SPDX-License-Identifier: Apache-2.0
"""SharedWeights: a model's weights as aqua-keeper has them, once in a device's memory and mapped to
be read by every engine there; publish_weights(): how the first engine puts its own there.

    with aqua_kv.SharedWeights.attach(rt, "smollm2") as weights:   # NOT_FOUND: publish or load them
        q = weights["blk.0.attn_q.weight"]                         # where it lies, type, shape

Nothing is ever read from a disk here, and nothing falls back to it.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Optional, Tuple

from . import _dlpack, arrays
from ._errors import Code, Error, raise_error
from ._library import lib
from ._numbers import size, text, uint32
from ._locked import Locked
from ._owned import Owned
from ._c.weights_structs import (
    AXES,
    CWeightsInfo,
    CWeightsOptions,
    CWeightSpec,
    CWeightTensor,
    WeightsHandle,
    WeightsPublisherHandle,
)
from .device import DeviceArray, DeviceBytes

if TYPE_CHECKING:
    from ctypes import Array

    from .runtime import Runtime

_PART_MS = 500

# Types whose elements stand alone, as NumPy's array interface calls them. BF16 it does not know.
_TYPESTRS = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<V2",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip


class WeightArray(DeviceArray):
    """An array over a WeightTensor. It shows itself by DLPack as well, to those that ask for version
    1.0: an earlier one cannot say that memory is read-only (BufferError). Memory of an emulated GPU
    is the CPU's to DLPack, and is not shown where only work of the device may reach it."""

    owner: "WeightTensor"

    def __dlpack_device__(self) -> _dlpack.Device:
        return self.owner.__dlpack_device__()

    def __dlpack__(self, **asked: Any) -> object:
        return _dlpack.read_only_capsule(
            self.data, self.owner.dlpack_device, self.shape, self.strides, self.typestr,
            self.owner.type, self, asked,
        )


class WeightTensor(DeviceBytes):
    """Where a tensor lies, to be read. Valid until its weights are closed or suspended."""

    def __init__(self, owner: "SharedWeights", c: CWeightTensor) -> None:
        self.owner = owner  # keeps the mapping from being collected
        self.name = c.name.decode()
        self.type = c.type.decode()  # as in safetensors ("BF16") or ggml ("Q4_0")
        self.block_elements = int(c.block_elements)  # that are stored together ...
        self.block_bytes = int(c.block_bytes)  # ... in so many bytes
        self.shape: Tuple[int, ...] = tuple(c.shape[: c.axes])
        self.strides: Tuple[int, ...] = tuple(c.strides[: c.axes])  # in bytes
        self._data = int(c.address)
        self._bytes = int(c.bytes)

    @property
    def read_only(self) -> bool:
        return True

    @property
    def dlpack_device(self) -> Optional[_dlpack.Device]:
        """None where DLPack has no name for it: it was opened by a UUID, or is hostile."""
        return self.owner._runtime._state.dlpack_device

    def __dlpack_device__(self) -> _dlpack.Device:
        if self.dlpack_device is None:
            raise BufferError(f"{self.name}: DLPack has no name for its device")
        return self.dlpack_device

    def __dlpack__(self, **asked: Any) -> object:
        """Its bytes, as __cuda_array_interface__ shows them."""
        return self.array((self.bytes,)).__dlpack__(**asked)

    def array(
        self,
        shape: Tuple[int, ...],
        typestr: str = "|u1",
        *,
        offset: int = 0,
        strides: Optional[Tuple[int, ...]] = None,
    ) -> WeightArray:
        made = super().array(shape, typestr, offset=offset, strides=strides)
        return WeightArray(self, made.data, shape, typestr, made.strides)

    def values(self) -> WeightArray:
        """Its elements as an array. TypeError where they are packed in blocks (Q4_0 and the like)."""
        typestr = _TYPESTRS.get(self.type)
        alone = typestr is not None and self.block_elements == 1
        if typestr is None or not alone or self.block_bytes != int(typestr[2:]):
            raise TypeError(f"{self.name}: {self.type} has no elements that stand alone")
        return self.array(self.shape, typestr, strides=self.strides)


class SharedWeights(Locked):
    """A mapping from names to tensors. No work of a GPU may be in flight on it when it is closed or
    suspended (an emulated GPU's is waited for when it is closed)."""

    __slots__ = ()
    _free = lib.aqua_weights_free

    def __init__(self, runtime: "Runtime", handle: WeightsHandle) -> None:
        super().__init__(runtime, handle, runtime._state.weights)

    @classmethod
    def attach(
        cls,
        runtime: "Runtime",
        model: str,
        *,
        version: str = "",
        shard: int = 0,
        shards: int = 1,
        keeper: str = "",
        patience_ms: int = 0,
    ) -> "SharedWeights":
        """Asks the keeper and maps what it has. `version`: the newest that is whole, if empty.
        `keeper`: its socket; else $AQUA_KEEPER, else where aqua-keeper puts it. `patience_ms`: how
        long to wait, without the GIL, for another process that is publishing this shard on this
        device, or for the other shards. NOT_FOUND: it has no such model; FAILED_PRECONDITION: none on
        this device; DEADLINE_EXCEEDED: it is still being published; UNAVAILABLE: no keeper
        listens."""
        handle = WeightsHandle()
        options = _options(model, version, shard, shards, keeper)
        deadline = time.monotonic() + patience_ms / 1000
        while True:
            # In parts, between which Python hears signals.
            left = math.ceil((deadline - time.monotonic()) * 1000)
            part = min(max(left, 1), _PART_MS) if uint32(patience_ms, "patience_ms") else 0
            options.patience_ms = part
            error = lib.aqua_weights_attach(runtime._handle, options, handle)
            if not error:
                return cls(runtime, handle)
            try:
                raise_error(error)
            except Error as raised:
                if raised.code is not Code.DEADLINE_EXCEEDED or left <= part:
                    raise

    def __len__(self) -> int:
        return int(self._info().tensors)

    def __iter__(self) -> Iterator[str]:
        for number in range(len(self)):
            c = CWeightTensor()
            with self._lock:
                error = lib.aqua_weights_get_tensor(self._handle, number, c)
                if error:
                    raise_error(error)
                name = c.name.decode()
            yield name

    def __getitem__(self, name: str) -> WeightTensor:
        c = CWeightTensor()
        with self._lock:
            error = lib.aqua_weights_find(self._handle, text(name), c)
            if not error:
                return WeightTensor(self, c)
        try:
            raise_error(error)
        except Error as raised:
            if raised.code is not Code.NOT_FOUND:
                raise
        len(self)  # raises where it is not the tensor that is not there, but the weights
        raise KeyError(name)

    @property
    def version(self) -> str:
        with self._lock:  # the text is the library's
            return str(self._info().version.decode())

    @property
    def bytes(self) -> int:
        """Mapped, all of it: MemoryBudget.shared_bytes counts it."""
        return int(self._info().bytes)

    @property
    def enforced(self) -> bool:
        """Whether the kernel refuses each write. False on CUDA: there it is a convention."""
        return bool(self._info().enforced)

    def verify(self) -> None:
        """Reads every tensor and compares its digest. DATA_LOSS names the first that differs."""
        error = lib.aqua_weights_verify(self._handle)
        if error:
            raise_error(error)

    def suspend(self) -> None:
        """Unmaps them and lets go of them; addresses stay reserved, and fault."""
        with self._lock:
            error = lib.aqua_weights_suspend(self._handle)
        if error:
            raise_error(error)

    def resume(self) -> None:
        """Maps them at the same addresses: the newest version by now, unless attach() named one.
        FAILED_PRECONDITION: that one is laid out in another way; attach anew."""
        with self._lock:
            error = lib.aqua_weights_resume(self._handle)
        if error:
            raise_error(error)

    def _info(self) -> Any:
        info = CWeightsInfo()
        with self._lock:  # or a runtime that closes meanwhile would find them in use
            error = lib.aqua_weights_get_info(self._handle, info)
        if error:
            raise_error(error)
        return info


@dataclass(frozen=True)
class NewWeight:
    """A tensor to publish: a contiguous array in host or device memory, which it fills. Work on the
    device that still writes the array is over."""

    name: str
    type: str  # "F16", "BF16", "Q4_0" …
    data: Any
    shape: Optional[Tuple[int, ...]] = None  # in elements; none: that of `data`
    block_elements: int = 1
    block_bytes: Optional[int] = None  # none: an item of `data`


class _Publisher(Owned):
    __slots__ = ()
    _free = lib.aqua_weights_publisher_free


def publish_weights(
    runtime: "Runtime",
    model: str,
    version: str,
    weights: Iterable[NewWeight],
    *,
    shard: int = 0,
    shards: int = 1,
    keeper: str = "",
) -> None:
    """Copies tensors into memory that the keeper then has, sealed; nobody sees any of them before
    all are there. ALREADY_EXISTS: this shard of this version is there, or being published."""
    new = list(weights)
    spans = [_span(weight) for weight in new]
    specs = (CWeightSpec * max(len(new), 1))()
    for spec, weight, span in zip(specs, new, spans):
        shape = span.shape if weight.shape is None else weight.shape
        if len(shape) > AXES:
            raise ValueError(f"{weight.name} has {len(shape)} axes, at most {AXES} are possible")
        spec.name = text(weight.name)
        spec.type = text(weight.type)
        spec.block_elements = uint32(weight.block_elements, "block_elements")
        spec.block_bytes = uint32(
            span.item_bytes if weight.block_bytes is None else weight.block_bytes, "block_bytes"
        )
        wanted = spec.block_bytes * math.prod(shape) // max(spec.block_elements, 1)
        if wanted != span.bytes:
            raise ValueError(f"{weight.name} takes {wanted} bytes, its data has {span.bytes}")
        spec.axes = len(shape)
        spec.shape[: len(shape)] = [size(n, "shape") for n in shape]
    options = _options(model, version, shard, shards, keeper)
    with _begin(runtime, options, specs, len(new)) as publisher:
        handle = publisher._handle
        for number, span in enumerate(spans):
            error = lib.aqua_weights_publisher_write(handle, number, 0, span.address, span.bytes)
            if error:
                raise_error(error)
        error = lib.aqua_weights_publisher_commit(handle)
        if error:
            raise_error(error)


def claim_weights(
    runtime: "Runtime", model: str, version: str, *, shard: int = 0, shards: int = 1, keeper: str = ""
) -> Owned:
    """Takes a name until it is closed or this process dies, and publishes nothing under it: for
    engines that agree on who loads a model. ALREADY_EXISTS: another has it. It takes the smallest
    slab of the device's memory."""
    spec = CWeightSpec(name=b"claim", type=b"U8", block_elements=1, block_bytes=1, axes=0)
    options = _options(model, version, shard, shards, keeper)
    return _begin(runtime, options, (CWeightSpec * 1)(spec), 1)


def _begin(
    runtime: "Runtime", options: CWeightsOptions, specs: "Array[CWeightSpec]", count: int
) -> _Publisher:
    handle = WeightsPublisherHandle()
    error = lib.aqua_weights_publish(runtime._handle, options, specs, count, handle)
    if error:
        raise_error(error)
    return _Publisher(handle, runtime._state.publishers)


def _options(model: str, version: str, shard: int, shards: int, keeper: str) -> CWeightsOptions:
    return CWeightsOptions(
        model=text(model),
        version=text(version),
        shard=uint32(shard, "shard"),
        shards=uint32(shards, "shards"),
        keeper=text(keeper),
    )


def _span(weight: NewWeight) -> arrays.Span:
    on_device = hasattr(weight.data, "__cuda_array_interface__")
    if not on_device and hasattr(weight.data, "__dlpack_device__"):
        on_device = int(weight.data.__dlpack_device__()[0]) in (_dlpack.CUDA, _dlpack.CUDA_MANAGED)
    if not on_device:
        return arrays.host_span(weight.data, weight.name, writable=False)
    span = arrays.device_span(weight.data, weight.name)
    if not span.contiguous:
        raise ValueError(f"{weight.name} is not contiguous (strides {span.strides})")
    return span
