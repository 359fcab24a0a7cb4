# SPDX-License-Identifier: Apache-2.0
"""What a parameter is beside its bytes: its class, and what Python code has noted on it, which
kernels may ask for (that it is shuffled, say). What is plain data is published; the rest, such as a
weight loader, a parameter that is to be like it must have of its own."""

from __future__ import annotations

import sys
from typing import Any, Dict, Tuple

from .description import Entry, SharingError
from .tensors import torch


def attributes_of(name: str, parameter: Any) -> Tuple[Dict[str, Any], Dict[str, str]]:
    """Those that are plain data, and of what sort the others are. SharingError where one is a tensor."""
    plain, others = {}, {}
    for key, value in vars(parameter).items():
        if _is_plain(value):
            plain[key] = value
        elif isinstance(value, torch().Tensor):
            raise SharingError(
                f"{name} has a tensor as an attribute, {key}: use another load format for this model"
            )
        else:
            others[key] = _sort(value)
    return plain, others


def _sort(value: Any) -> str:
    """Code is not told apart: a weight loader may be a method here, and a function there."""
    return "callable" if callable(value) else type_name(value)


def type_name(value: Any) -> str:
    return f"{type(value).__module__}:{type(value).__qualname__}"


def like(name: str, entry: Entry, tensor: Any, own: Any) -> Any:
    """A parameter over `tensor` that is as the one that was published. `own`: what this model's
    constructor made in its place, or None. SharingError where it cannot be made."""
    made = torch().nn.Parameter(tensor, requires_grad=False)
    if entry.type_name != type_name(made):
        wanted = type(own) if type_name(own) == entry.type_name else _class(entry.type_name)
        try:
            made.__class__ = wanted
        except TypeError:
            raise SharingError(
                f"{name} is published as a {entry.type_name}, which cannot be made here: use another "
                "load format for this model"
            ) from None
    vars(made).update(entry.attributes)
    for key, kind in entry.others.items():
        mine = getattr(own, "__dict__", {}).get(key)
        if _sort(mine) != kind:
            raise SharingError(
                f"{name} is published with an attribute {key}, a {kind}, which this model's has not: "
                "use another load format for this model"
            )
        vars(made)[key] = mine
    return made


def _class(named: str) -> Any:
    module, _, path = named.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def _is_plain(value: Any) -> bool:
    """Whether JSON gives it back as it is."""
    if type(value) is list:
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(type(key) is str and _is_plain(each) for key, each in value.items())
    return value is None or type(value) in (bool, int, float, str)
