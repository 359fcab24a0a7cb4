# SPDX-License-Identifier: Apache-2.0
"""How a published model is described: every parameter, buffer and plain tensor attribute by name, and
which bytes of which published tensor it is. The description is published beside them, as JSON.

  declared   the tensors of a model as its constructor makes them, before any weights
  entries    its tensors after processing, in the order of state_dict(); a declared one may be gone
             by then, or have another form
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict, Mapping, Tuple

from ..weights import SharedWeights, WeightTensor
from .tensors import torch

FORMAT = 2
DESCRIPTION = "aqua.vllm"  # the name under which the description is published

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
    # A parameter's: see attributes.py.
    type_name: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    others: Mapping[str, str] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """Behind its last byte, in its region."""
        last = sum((n - 1) * step for n, step in zip(self.shape, self.strides))
        return self.offset + (last + 1) * item_bytes(self.dtype)


@dataclass(frozen=True)
class Description:
    identity: Mapping[str, Any]
    declared: Dict[str, Declared]
    entries: Dict[str, Entry]

    def to_bytes(self) -> bytes:
        return json.dumps({"format": FORMAT, **asdict(self)}).encode()

    @classmethod
    def parse(cls, text: bytes, retire: str) -> "Description":
        told = json.loads(text)
        if told.get("format") != FORMAT:
            raise SharingError(
                f"the published weights are described in format {told.get('format')}, this aqua_kv "
                f"reads format {FORMAT}: use the same version of it in all engines, or {retire}"
            )
        return cls(
            told["identity"],
            {name: Declared(**_tuples(entry)) for name, entry in told["declared"].items()},
            {name: Entry(**_tuples(entry)) for name, entry in told["entries"].items()},
        )


def _tuples(entry: Mapping[str, Any]) -> Dict[str, Any]:
    return {key: tuple(v) if isinstance(v, list) else v for key, v in entry.items()}


def item_bytes(dtype: str) -> int:
    return int(getattr(torch(), dtype).itemsize)


def read_description(
    weights: SharedWeights, to_host: Callable[[WeightTensor], bytes], retire: str
) -> Description:
    """`retire`: how to be rid of them, for messages."""
    try:
        described = weights[DESCRIPTION]
    except KeyError:
        raise SharingError(
            "the published weights have no description by this loader: another program has "
            f"published them under this name; {retire}"
        ) from None
    return Description.parse(to_host(described), retire)
