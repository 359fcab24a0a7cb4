# SPDX-License-Identifier: Apache-2.0
"""What a model consists of once its weights are processed: every parameter, buffer and plain tensor
attribute by name, and which bytes of which storage it is.

One engine's state is published; another's model is given it. Tensors that share a storage are
published as one range of bytes, so that they share it in every engine: tied weights stay tied, and
views stay views, with the strides they have.

  declared   the tensors of a model as its constructor makes them, before any weights
  entries    its tensors after processing; a declared one may be gone by then, or have another form
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Callable, Dict, Iterator, List, Mapping, Tuple

from ..weights import NewWeight, SharedWeights, WeightTensor
from .tensors import SAFETENSORS, RawBytes, dtype_name, extent, is_dense, mapped_bytes, torch

FORMAT = 1
DESCRIPTION = "aqua.vllm"  # the name under which the description is published
_ALIGNMENT = 16  # no type is wider
_AXES = 8  # that the keeper knows

PARAMETER, BUFFER, ATTRIBUTE = "parameter", "buffer", "attribute"


class SharingError(RuntimeError):
    """What stands in the way of sharing a model's weights, and what to do about it."""


@dataclass(frozen=True)
class Declared:
    kind: str
    dtype: str
    shape: Tuple[int, ...]


@dataclass(frozen=True)
class Entry:
    kind: str
    dtype: str
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]  # in elements
    region: str  # the name of the published bytes; empty: it has no elements
    offset: int  # of its first byte there
    persistent: bool = True  # a buffer's, of state_dict()
    on_host: bool = False
    same_as: str = ""  # the name of an entry that is the same object


@dataclass(frozen=True)
class Description:
    identity: Mapping[str, Any]
    declared: Dict[str, Declared]
    entries: Dict[str, Entry]

    def to_bytes(self) -> bytes:
        return json.dumps({"format": FORMAT, **asdict(self)}).encode()  # order is state_dict()'s

    @classmethod
    def parse(cls, text: bytes) -> "Description":
        told = json.loads(text)
        if told.get("format") != FORMAT:
            raise SharingError(
                f"the published weights are described in format {told.get('format')}, this aqua_kv "
                f"reads format {FORMAT}: use the same version of it in all engines, or retire them"
            )
        return cls(
            told["identity"],
            {name: Declared(**_tuples(entry)) for name, entry in told["declared"].items()},
            {name: Entry(**_tuples(entry)) for name, entry in told["entries"].items()},
        )


def _tuples(entry: Mapping[str, Any]) -> Dict[str, Any]:
    return {key: tuple(v) if isinstance(v, list) else v for key, v in entry.items()}


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
    model: Any, declared: Dict[str, Declared], identity: Mapping[str, Any], device: Any
) -> Collected:
    """SharingError names a tensor that cannot be shared. Plain attributes are taken where the
    constructor made them: what processing makes, it makes in every engine."""
    entries: Dict[str, Entry] = {}
    storages: Dict[Tuple[str, int], _Storage] = {}
    seen: Dict[int, str] = {}
    found: Dict[str, Any] = {}
    for name, kind, tensor, module in tensors_of(model):
        if kind == ATTRIBUTE and name not in declared or name in found:
            continue
        _check(name, kind, tensor, device)
        found[name] = tensor
        key = (str(tensor.device), int(tensor.untyped_storage().data_ptr()))
        first, end = extent(tensor)
        if first < end:
            first -= first % _ALIGNMENT
            storage = storages.setdefault(key, _Storage(tensor, first, end))
            storage.first, storage.end = min(storage.first, first), max(storage.end, end)
            storage.names.append(name)
        leaf = name.rpartition(".")[2]
        entries[name] = Entry(
            kind, dtype_name(tensor), tuple(tensor.shape), tuple(tensor.stride()), "", 0,
            persistent=leaf not in module._non_persistent_buffers_set,
            on_host=str(tensor.device.type) != str(device.type),
            same_as=seen.get(id(tensor), ""),
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
        if whole and item == _item_bytes(entry.dtype):
            return NewWeight(region, type_name, data, shape=entry.shape, block_bytes=item)
    return NewWeight(region, "U8", data, shape=(length,), block_bytes=1)


def _end(entry: Entry) -> int:
    """Behind its last byte, in its region."""
    last = sum((n - 1) * step for n, step in zip(entry.shape, entry.strides))
    return entry.offset + (last + 1) * _item_bytes(entry.dtype)


def _item_bytes(dtype: str) -> int:
    return int(getattr(torch(), dtype).itemsize)


def read_description(weights: SharedWeights, to_host: Callable[[WeightTensor], bytes]) -> Description:
    try:
        described = weights[DESCRIPTION]
    except KeyError:
        raise SharingError(
            "the published weights have no description by this loader: another program has "
            "published them under this name; retire them with `aqua models retire`"
        ) from None
    return Description.parse(to_host(described))


class Placement:
    """Gives a model the tensors of published weights. They keep the weights mapped."""

    def __init__(
        self, description: Description, weights: SharedWeights, device: Any, *, map_buffers: bool
    ) -> None:
        self._description = description
        self._weights = weights
        self._device = device
        self._map_buffers = map_buffers
        self._bytes: Dict[Tuple[str, bool], Any] = {}
        self._filled: Dict[str, Any] = {}
        self._mapped = {
            entry.region
            for entry in description.entries.values()
            if entry.kind == PARAMETER or (map_buffers and entry.kind == BUFFER)
        }
        self._check_regions()

    def check_declared(self, declared: Mapping[str, Declared]) -> None:
        """SharingError names how a model's parameters and buffers differ from those of the one that
        was published, before either had weights."""
        declared = _registered(declared)
        theirs = _registered(self._description.declared)
        wrong = [f"{name} is missing there" for name in declared if name not in theirs]
        wrong += [f"{name} is there and not in this model" for name in theirs if name not in declared]
        for name in declared:
            if name in theirs and declared[name] != theirs[name]:
                mine, other = declared[name], theirs[name]
                wrong.append(
                    f"{name} is a {mine.kind} of {mine.dtype} {list(mine.shape)} here, a "
                    f"{other.kind} of {other.dtype} {list(other.shape)} there"
                )
        _refuse_differences(wrong)

    def fill(self, model: Any) -> None:
        """Puts published tensors in place of a model's parameters and buffers."""
        modules = dict(model.named_modules(remove_duplicate=False))
        made = self._filled
        for name, entry in self._description.entries.items():
            if entry.kind == ATTRIBUTE:
                continue
            prefix, _, leaf = name.rpartition(".")
            module = modules.get(prefix)
            if module is None:
                raise SharingError(f"{name} is published, and this model has no module {prefix!r}")
            tensor = made[entry.same_as] if entry.same_as in made else self._tensor(entry)
            module._parameters.pop(leaf, None)
            module._buffers.pop(leaf, None)
            if entry.kind == PARAMETER:
                if not isinstance(tensor, torch().nn.Parameter):
                    tensor = torch().nn.Parameter(tensor, requires_grad=False)
                module.register_parameter(leaf, tensor)
            else:
                module.register_buffer(leaf, tensor, persistent=entry.persistent)
            made[name] = tensor

    def complete(self, model: Any) -> int:
        """After processing: drops what the publisher's processing dropped, fills plain attributes
        that the constructor left without memory, and compares what there is by then with what was
        published. SharingError names the differences. Answers the bytes that processing made anew
        here, in memory of this engine's own."""
        entries = self._description.entries
        wrong: List[str] = []
        names = set()
        anew: Dict[int, int] = {}
        for name, kind, tensor, module in list(tensors_of(model)):
            names.add(name)
            entry = entries.get(name)
            on_meta = tensor.device.type == "meta"
            leaf = name.rpartition(".")[2]
            if kind == ATTRIBUTE:
                if on_meta and entry is not None and entry.kind == ATTRIBUTE:
                    setattr(module, leaf, self._tensor(entry))
                elif on_meta:
                    wrong.append(f"the attribute {name} has no memory, and was not published")
            elif entry is None and on_meta:
                names.discard(name)
                if leaf in module._parameters or leaf in module._buffers:  # not by another name
                    delattr(module, leaf)
            elif entry is None:
                wrong.append(f"{name} was made by processing here, and is not published")
            elif (kind, dtype_name(tensor), tuple(tensor.shape)) != (
                entry.kind, entry.dtype, entry.shape,
            ):
                wrong.append(
                    f"{name} became a {kind} of {dtype_name(tensor)} {list(tensor.shape)} here, and "
                    f"is published as a {entry.kind} of {entry.dtype} {list(entry.shape)}"
                )
            elif tensor is not self._filled.get(name):
                anew[id(tensor)] = int(tensor.numel() * tensor.element_size())
        wrong += [
            f"{name} is published, and was dropped by processing here"
            for name, entry in entries.items()
            if entry.kind != ATTRIBUTE and name not in names
        ]
        _refuse_differences(wrong)
        return sum(anew.values())

    def _check_regions(self) -> None:
        wrong = []
        for name, entry in self._description.entries.items():
            if not entry.region:
                continue
            try:
                there = self._weights[entry.region].bytes
            except KeyError:
                wrong.append(f"{name} lies in {entry.region}, which is not published")
                continue
            end = _end(entry)
            if end > there or entry.offset < 0 or min(entry.strides, default=0) < 0:
                wrong.append(f"{name} ends at byte {end} of {entry.region}, which has {there}")
        _refuse_differences(wrong)

    def _tensor(self, entry: Entry) -> Any:
        dtype = getattr(torch(), entry.dtype)
        device = torch().device("cpu") if entry.on_host else self._device
        if not entry.region:
            return torch().empty(entry.shape, dtype=dtype, device=device)
        raw = self._region(entry)[entry.offset : _end(entry)]
        return torch().as_strided(raw.view(dtype), entry.shape, entry.strides)

    def _region(self, entry: Entry) -> Any:
        key = (entry.region, entry.on_host)
        if key not in self._bytes:
            raw = mapped_bytes(self._weights[entry.region], self._device)
            if entry.region not in self._mapped:
                raw = raw.cpu() if entry.on_host and self._device.type != "cpu" else raw.clone()
            self._bytes[key] = raw
        return self._bytes[key]


def _registered(declared: Mapping[str, Declared]) -> Dict[str, Declared]:
    return {name: one for name, one in declared.items() if one.kind != ATTRIBUTE}


def _refuse_differences(wrong: List[str]) -> None:
    if wrong:
        more = f"; and {len(wrong) - 8} more" if len(wrong) > 8 else ""
        raise SharingError(
            "the published weights are not this model's: " + "; ".join(wrong[:8]) + more
            + ". Retire them with `aqua models retire`, or use another load format"
        )

