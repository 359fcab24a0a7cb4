# SPDX-License-Identifier: Apache-2.0
"""A model's tensors, and how they are published: those that share a storage as one range of bytes, so
that they share it in every engine. Tied weights stay tied, and views stay views, with the strides
they have."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import AbstractSet, Any, Dict, Iterator, List, Mapping, Tuple

from ..weights import NewWeight
from .attributes import attributes_of, type_name
from .description import (
    ATTRIBUTE,
    BUFFER,
    DESCRIPTION,
    PARAMETER,
    Declared,
    Description,
    Entry,
    SharingError,
    item_bytes,
)
from .tensors import SAFETENSORS, RawBytes, dtype_name, extent, is_dense, torch

_ALIGNMENT = 16  # no type is wider
_AXES = 8  # that the keeper knows


def tensors_of(model: Any) -> Iterator[Tuple[str, str, Any, Any]]:
    """Name, kind, tensor and module of all tensors of a model, once for each name they have."""
    tensor_type = torch().Tensor
    for prefix, module in model.named_modules(remove_duplicate=False):
        parts = (
            (PARAMETER, module._parameters), (BUFFER, module._buffers), (ATTRIBUTE, vars(module)),
        )
        for kind, members in parts:
            for leaf, tensor in list(members.items()):
                if isinstance(tensor, tensor_type):
                    yield f"{prefix}.{leaf}" if prefix else leaf, kind, tensor, module


def attributes_in(model: Any) -> AbstractSet[str]:
    """Names of the tensors that are plain attributes of modules."""
    return {name for name, kind, _, _ in tensors_of(model) if kind == ATTRIBUTE}


def declared_by(model: Any) -> Dict[str, Declared]:
    return {
        name: Declared(kind, dtype_name(tensor), tuple(tensor.shape))
        for name, kind, tensor, _ in tensors_of(model)
    }


@dataclass
class _Storage:
    """The range of a storage that entries lie in."""

    tensor: Any
    first: int
    end: int
    names: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class Collected:
    """A model's state, ready to be published. Its arrays keep the model's storages."""

    description: Description
    weights: List[NewWeight]


def collect(
    model: Any, declared: Dict[str, Declared], identity: Mapping[str, Any], device: Any,
    loaded: AbstractSet[str],
) -> Collected:
    """SharingError names a tensor that cannot be shared. Plain attributes are taken where the
    constructor made them, or loading (`loaded`): what processing makes, it makes in every engine."""
    entries: Dict[str, Entry] = {}
    storages: Dict[Tuple[str, int], _Storage] = {}
    seen: Dict[int, str] = {}  # the first name of each object
    found: Dict[str, Any] = {}
    for name, kind, tensor, module in tensors_of(model):
        of_processing = kind == ATTRIBUTE and name not in declared and name not in loaded
        if of_processing or name in found:
            continue
        _check(name, kind, tensor, device)
        found[name] = tensor
        _note_storage(storages, name, tensor)
        leaf = name.rpartition(".")[2]
        plain, others = attributes_of(name, tensor) if kind == PARAMETER else ({}, {})
        entries[name] = Entry(
            kind, dtype_name(tensor), tuple(tensor.shape), tuple(tensor.stride()), "", 0,
            persistent=leaf not in module._non_persistent_buffers_set,
            on_host=str(tensor.device.type) != str(device.type),
            same_as=seen.get(id(tensor), ""),
            type_name=type_name(tensor) if kind == PARAMETER else "",
            attributes=plain,
            others=others,
        )
        seen.setdefault(id(tensor), name)
    weights = []
    for storage in storages.values():
        region = storage.names[0]
        for name in storage.names:
            offset = extent(found[name])[0] - storage.first
            entries[name] = replace(entries[name], region=region, offset=offset)
        weights.append(_new_weight(region, storage, [entries[name] for name in storage.names]))
    description = Description(identity, declared, entries)
    weights.append(NewWeight(DESCRIPTION, "U8", description.to_bytes()))
    return Collected(description, weights)


def _note_storage(storages: Dict[Tuple[str, int], _Storage], name: str, tensor: Any) -> None:
    first, end = extent(tensor)
    if first == end:
        return
    first -= first % _ALIGNMENT
    key = (str(tensor.device), int(tensor.untyped_storage().data_ptr()))
    storage = storages.setdefault(key, _Storage(tensor, first, end))
    storage.first, storage.end = min(storage.first, first), max(storage.end, end)
    storage.names.append(name)


def _check(name: str, kind: str, tensor: Any, device: Any) -> None:
    def refuse(what: str) -> SharingError:
        return SharingError(f"{name} {what}: use another load format for this model")

    if hasattr(tensor, "__tensor_flatten__") or tensor.layout != torch().strided:
        raise refuse(f"is a {type(tensor).__name__} of layout {tensor.layout}, not bytes")
    if tensor.device.type == "meta":
        raise refuse("has no memory after the weights were processed")
    if tensor.device.type not in (device.type, "cpu"):
        raise refuse(f"is on {tensor.device}, not on {device}")
    if kind == PARAMETER and tensor.device.type != device.type:
        raise refuse("is a parameter in host memory")


def _new_weight(region: str, storage: _Storage, entries: List[Entry]) -> NewWeight:
    """Of the form of the entry that is all of the range, if there is one; else bytes."""
    length = storage.end - storage.first
    address = int(storage.tensor.untyped_storage().data_ptr()) + storage.first
    data = RawBytes(storage.tensor, address, length)
    for entry in entries:
        type_name = SAFETENSORS.get(entry.dtype)
        count = 1
        for n in entry.shape:
            count *= n
        if type_name is None or length % count or len(entry.shape) > _AXES:
            continue
        item = length // count
        whole = entry.offset == 0 and is_dense(entry.shape, entry.strides)
        if whole and item == item_bytes(entry.dtype):
            return NewWeight(region, type_name, data, shape=entry.shape, block_bytes=item)
    return NewWeight(region, "U8", data, shape=(length,), block_bytes=1)
