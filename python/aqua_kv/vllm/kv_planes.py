# SPDX-License-Identifier: Apache-2.0
"""vLLM's KV caches of attention layers as planes with axes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, Mapping

from ..layout import Layout


@dataclass(frozen=True)
class KvPlanes:
    layout: Layout  # one plane a layer
    layers: Dict[str, int]  # place by name
    heads: int  # of this rank
    head_bytes: int  # of a token: its key, and then its value
    format: str  # type of elements


def planes_of(kv_caches: Mapping[str, Any], block_size: int) -> KvPlanes:
    """Caches of shape (blocks, heads, block_size, content), as vLLM has had them since 0.33
    (KVCacheLayout), in any order of memory: a head's content is its key and then its value, or a
    latent, which is one head. All layers alike. ValueError: other caches."""
    names = sorted(kv_caches, key=_number_in)
    if not names:
        raise ValueError("there are no KV caches")
    parts = [_part(name, kv_caches[name], block_size) for name in names]
    for name, part in zip(names, parts):
        if part != parts[0]:
            raise ValueError(f"{name} is {part}, {names[0]} is {parts[0]}")
    addresses = [kv_caches[name].data_ptr() for name in names]
    for i, name in enumerate(names[1:], 1):
        if _number_in(name) == _number_in(names[i - 1]):
            raise ValueError(f"{name} and {names[i - 1]} have one number: a draft model's layers?")
        if addresses[i] in addresses[:i]:
            raise ValueError(f"{name} shares its KV with {names[addresses.index(addresses[i])]}")
    layout = Layout.make(
        addresses, planes_per_layer=1, tokens_per_block=block_size, **parts[0]
    )
    return KvPlanes(
        layout, {name: i for i, name in enumerate(names)}, parts[0]["heads"],
        parts[0]["run_bytes"], str(kv_caches[names[0]].dtype),
    )


def _number_in(name: str) -> int:
    numbers = re.findall(r"(?:^|\.)(\d+)(?=\.|$)", name)
    if len(numbers) != 1:
        raise ValueError(f"{name!r} names no layer by one number")
    return int(numbers[0])


def _part(name: str, cache: Any, block_size: int) -> Dict[str, int]:
    shape, item = tuple(cache.shape), cache.element_size()
    if len(shape) != 4:
        raise ValueError(f"{name}: a KV cache of shape {shape}; vLLM 0.33 has four axes")
    if shape[2] != block_size:
        raise ValueError(
            f"{name}: its attention has blocks of {shape[2]} tokens, vLLM blocks of {block_size}:"
            f" start it with --block-size {shape[2]}"
        )
    block, head, token, element = (each * item for each in cache.stride())
    if element != item:
        raise ValueError(f"{name}: a head lies in pieces, its strides are {cache.stride()}")
    return {
        "block_count": shape[0], "block_stride": block, "heads": shape[1], "head_stride": head,
        "token_stride": token, "run_bytes": shape[3] * item,
    }
