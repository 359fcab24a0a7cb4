# SPDX-License-Identifier: Apache-2.0
"""Published weights in place of a model's tensors, and the comparison of both: what is published must
be this model's, before its processing and after it."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Tuple

from ..weights import SharedWeights
from .attributes import like
from .description import ATTRIBUTE, BUFFER, PARAMETER, Declared, Description, Entry, SharingError
from .model_state import tensors_of
from .tensors import dtype_name, mapped_bytes, same_bytes, torch


class Placement:
    """Gives a model the tensors of published weights. They keep the weights mapped."""

    def __init__(
        self, description: Description, weights: SharedWeights, device: Any, *, map_buffers: bool,
        retire: str,
    ) -> None:
        self._description = description
        self._weights = weights
        self._device = device
        self._retire = retire  # how to be rid of them, for messages
        self._bytes: Dict[Tuple[str, bool], Any] = {}
        self._mapped = {
            entry.region
            for entry in description.entries.values()
            if entry.kind == PARAMETER or (map_buffers and entry.kind == BUFFER)
        }
        self._check_regions()

    @property
    def bytes(self) -> int:
        return self._weights.bytes

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
        self._refuse(wrong)

    def rebind(self, model: Any) -> None:
        """For the model that was published: its tensors are mapped, and stay the objects they are.
        Buffers that are not to be mapped stay where they are."""
        modules = dict(model.named_modules(remove_duplicate=False))
        for name, entry in self._description.entries.items():
            if entry.kind != ATTRIBUTE and not entry.same_as and entry.region in self._mapped:
                prefix, _, leaf = name.rpartition(".")
                module = modules[prefix]
                held = module._parameters if entry.kind == PARAMETER else module._buffers
                held[leaf].data = self._tensor(entry)

    def fill(self, model: Any) -> None:
        """Puts published tensors in place of a model's parameters and buffers."""
        modules = dict(model.named_modules(remove_duplicate=False))
        made: Dict[str, Any] = {}
        for name, entry in self._description.entries.items():
            if entry.kind == ATTRIBUTE:
                continue
            prefix, _, leaf = name.rpartition(".")
            module = modules.get(prefix)
            if module is None:
                raise SharingError(f"{name} is published, and this model has no module {prefix!r}")
            own = module._parameters.pop(leaf, None)
            module._buffers.pop(leaf, None)
            tensor = made[entry.same_as] if entry.same_as in made else self._tensor(entry)
            if entry.kind == PARAMETER:
                if not isinstance(tensor, torch().nn.Parameter):
                    tensor = like(name, entry, tensor, own)
                module.register_parameter(leaf, tensor)
            else:
                module.register_buffer(leaf, tensor, persistent=entry.persistent)
            made[name] = tensor

    def complete(self, model: Any) -> int:
        """After processing: drops what the publisher's processing dropped, fills plain attributes,
        and compares what there is by then with what was published, to the last byte. SharingError
        names the differences. Answers the bytes that processing made anew here, in memory of this
        engine's own."""
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
                wrong += self._complete_attribute(name, leaf, tensor, module)
            elif entry is None and on_meta:
                names.discard(name)
                if leaf in module._parameters or leaf in module._buffers:  # not by another name
                    delattr(module, leaf)
            elif on_meta:
                wrong.append(f"{name} was left without memory by processing here")
            elif entry is None:
                wrong.append(f"{name} was made by processing here, and is not published")
            else:
                told = _other_form(kind, tensor, entry) or self._other_bytes(tensor, entry)
                wrong += [f"{name} {told}"] if told else []
                if entry.region in self._mapped and not self._is_mapped(tensor, entry):
                    anew[id(tensor)] = int(tensor.numel() * tensor.element_size())
        for name, entry in entries.items():
            if name not in names and entry.kind == ATTRIBUTE:
                wrong.append(f"the attribute {name} is published, and this model lacks it")
            elif name not in names:
                wrong.append(f"{name} is published, and was dropped by processing here")
        self._refuse(wrong)
        return sum(anew.values())

    def _complete_attribute(self, name: str, leaf: str, tensor: Any, module: Any) -> List[str]:
        """Gives a module what is published in place of what its constructor, here, did not load."""
        entry = self._description.entries.get(name)
        if tensor.device.type == "meta":
            if entry is None or entry.kind != ATTRIBUTE:
                return [f"the attribute {name} has no memory, and was not published"]
        elif entry is None:
            return []
        else:
            told = _other_form(ATTRIBUTE, tensor, entry)
            if told or not self._other_bytes(tensor, entry):
                return [f"{name} {told}"] if told else []
        setattr(module, leaf, self._tensor(entry))
        return []

    def _other_bytes(self, tensor: Any, entry: Entry) -> str:
        """How a tensor of a published one's form differs from that, in words; empty: not at all."""
        if tensor.numel() == 0 or self._is_mapped(tensor, entry):
            return ""
        strides = tuple(tensor.stride())
        if any(n != 1 and a != b for n, a, b in zip(entry.shape, strides, entry.strides)):
            return f"has strides {list(strides)} here, and is published with {list(entry.strides)}"
        published = self._view(entry, self._mapped_bytes(entry))
        if entry.on_host and self._device.type != "cpu":
            published = published.cpu()
        if tensor.device.type != published.device.type:
            return f"is on {tensor.device} here, and is published on {published.device}"
        if not same_bytes(tensor, published):
            return "has other bytes here than are published"
        return ""

    def _is_mapped(self, tensor: Any, entry: Entry) -> bool:
        """Whether it is the published one itself."""
        if not entry.region or tensor.device.type != self._device.type:
            return False
        there = self._weights[entry.region].data + entry.offset
        return int(tensor.data_ptr()) == there and tuple(tensor.stride()) == entry.strides

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
            if entry.end > there or entry.offset < 0 or min(entry.strides, default=0) < 0:
                wrong.append(f"{name} ends at byte {entry.end} of {entry.region}, which has {there}")
        self._refuse(wrong)

    def _refuse(self, wrong: List[str]) -> None:
        if wrong:
            more = f"; and {len(wrong) - 8} more" if len(wrong) > 8 else ""
            raise SharingError(
                "the published weights are not this model's: " + "; ".join(wrong[:8]) + more
                + f". Use another load format; or {self._retire}"
            )

    def _tensor(self, entry: Entry) -> Any:
        dtype = getattr(torch(), entry.dtype)
        device = torch().device("cpu") if entry.on_host else self._device
        if not entry.region:
            return torch().empty(entry.shape, dtype=dtype, device=device)
        return self._view(entry, self._region(entry))

    def _view(self, entry: Entry, region: Any) -> Any:
        raw = region[entry.offset : entry.end].view(getattr(torch(), entry.dtype))
        return torch().as_strided(raw, entry.shape, entry.strides)

    def _mapped_bytes(self, entry: Entry) -> Any:
        return mapped_bytes(self._weights[entry.region], self._device)

    def _region(self, entry: Entry) -> Any:
        key = (entry.region, entry.on_host)
        if key not in self._bytes:
            raw = self._mapped_bytes(entry)
            if entry.region not in self._mapped:
                raw = raw.cpu() if entry.on_host and self._device.type != "cpu" else raw.clone()
            self._bytes[key] = raw
        return self._bytes[key]


def _other_form(kind: str, tensor: Any, entry: Entry) -> str:
    if (kind, dtype_name(tensor), tuple(tensor.shape)) == (entry.kind, entry.dtype, entry.shape):
        return ""
    return (
        f"became a {kind} of {dtype_name(tensor)} {list(tensor.shape)} here, and is published as a "
        f"{entry.kind} of {entry.dtype} {list(entry.shape)}"
    )


def _registered(declared: Mapping[str, Declared]) -> Dict[str, Declared]:
    return {name: one for name, one in declared.items() if one.kind != ATTRIBUTE}
