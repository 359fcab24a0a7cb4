# SPDX-License-Identifier: Apache-2.0
"""vLLM's KV caches of attention layers as planes with axes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping

from ..layout import Layout


@dataclass(frozen=True)
class KvPlanes:
    layout: Layout
    layers: Dict[str, int]  # place by name
    planes_per_layer: int
    heads: int  # of this rank
    head_bytes: int
    format: str  # type of elements


def planes_of(kv_caches: Mapping[str, Any], block_size: int) -> KvPlanes:
    """Keys and values of shape (2, blocks, block_size, heads, dim) or (blocks, 2, ...), at any
    strides, or latents (blocks, block_size, dim); all layers alike. ValueError: other caches."""
    names = sorted(kv_caches, key=_number_in)
    if not names:
        raise ValueError("there are no KV caches")
    parts = [_part(name, kv_caches[name], block_size) for name in names]
    first = parts[0]
    for name, part in zip(names, parts):
        if part.shape != first.shape:
            raise ValueError(f"{name} is {part.shape}, {names[0]} is {first.shape}")
    heads, head_bytes = first.shape["heads"], first.shape["run_bytes"]
    layout = Layout.make(
        [address for part in parts for address in part.addresses],
        planes_per_layer=len(first.addresses),
        tokens_per_block=block_size,
        **first.shape,
    )
    return KvPlanes(
        layout, {name: i for i, name in enumerate(names)}, len(first.addresses), heads, head_bytes,
        str(kv_caches[names[0]].dtype),
    )


@dataclass(frozen=True)
class _Part:
    addresses: List[int]
    shape: Dict[str, int]


def _number_in(name: str) -> int:
    numbers = re.findall(r"(?:^|\.)(\d+)(?=\.|$)", name)
    if len(numbers) != 1:
        raise ValueError(f"{name!r} names no layer by one number")
    return int(numbers[0])


def _part(name: str, cache: Any, block_size: int) -> _Part:
    shape, item = tuple(cache.shape), cache.element_size()
    stride = [each * item for each in cache.stride()]
    base = cache.data_ptr()
    if len(shape) == 5 and (shape[0] == 2) != (shape[1] == 2) and shape[2] == block_size:
        kv, blocks = (0, 1) if shape[0] == 2 else (1, 0)
        addresses = [base, base + stride[kv]]
        heads, head_stride, dim = shape[3], stride[3], 4
    elif len(shape) == 3 and shape[1] == block_size:
        blocks, addresses = 0, [base]
        heads, head_stride, dim = 1, 0, 2
    else:
        raise ValueError(f"{name}: a KV cache of shape {shape} with blocks of {block_size} tokens")
    if stride[dim] != item:
        raise ValueError(f"{name}: a head lies in pieces, its strides are {cache.stride()}")
    tokens = 2 if dim == 4 else 1
    return _Part(addresses, {
        "block_count": shape[blocks], "block_stride": stride[blocks],
        "token_stride": stride[tokens], "heads": heads, "head_stride": head_stride,
        "run_bytes": shape[dim] * item,
    })
