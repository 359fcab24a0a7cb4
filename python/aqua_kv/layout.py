# SPDX-License-Identifier: Apache-2.0
"""Layouts describe an engine's paged KV cache once, so that block numbers are enough to move
blocks in every layer with one call.

    address(layer, plane, block, token, head, run) =
        planes[layer * planes_per_layer + plane] + block * block_stride
            + token * token_stride + head * head_stride + run * run_stride

A run is what lies together of one head of one token; all of it, but for caches such as
FasterTransformer's keys. Where tokens and heads lie is asked by ranges (KvRange) alone.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any, List, Optional, Sequence, Tuple, Union

from ._c import layout_structs as ls
from ._c import structs as s
from ._errors import raise_error
from ._library import lib
from ._numbers import size, uint32
from ._owned import Owned
from .arrays import Span, dense_from, device_span
from .kv_range import KvRange

# A device address, or an array in device memory.
Plane = Union[int, Any]


class Layout(Owned):
    """Never changes and belongs to no runtime. Keeps the arrays that it was made from; memory
    that was given as addresses stays the engine's, in place for as long as work is queued."""

    __slots__ = ("_info", "_keep", "_read_only")
    _free = lib.aqua_layout_free

    def __init__(self, handle: s.LayoutHandle, keep: object, read_only: bool) -> None:
        super().__init__(handle, None)
        self._keep = keep
        self._read_only = read_only
        self._info: Any = ls.CLayoutInfo()
        error = lib.aqua_layout_get_info(handle, self._info)
        if error:
            raise_error(error)

    @classmethod
    def make(
        cls,
        planes: Sequence[Plane],
        *,
        block_count: int,
        block_stride: int,
        run_bytes: int,
        planes_per_layer: int = 1,
        tokens_per_block: int = 1,
        token_stride: int = 0,
        heads: int = 1,
        head_stride: int = 0,
        runs_per_head: int = 1,
        run_stride: int = 0,
    ) -> "Layout":
        """Any shape. `planes`: layer by layer. A stride is unused where there is one. Of a block of
        whose inside nothing is told, run_bytes is all of it. Error(INVALID_ARGUMENT) names the
        field when a size is zero or overflows, or when two runs would share a byte."""
        per_layer = uint32(planes_per_layer, "planes_per_layer")
        if per_layer == 0 or len(planes) % per_layer != 0:
            raise ValueError(f"{len(planes)} planes, {per_layer} a layer")
        addresses, keep, read_only = _addresses(planes, "planes")
        spec = ls.CLayoutSpec(
            layers=len(planes) // per_layer,
            planes_per_layer=per_layer,
            planes=ctypes.cast(addresses, ctypes.POINTER(ctypes.c_void_p)),
            plane_count=len(planes),
            block_count=uint32(block_count, "block_count"),
            tokens_per_block=uint32(tokens_per_block, "tokens_per_block"),
            heads=uint32(heads, "heads"),
            runs_per_head=uint32(runs_per_head, "runs_per_head"),
            block_stride=size(block_stride, "block_stride"),
            token_stride=size(token_stride, "token_stride"),
            head_stride=size(head_stride, "head_stride"),
            run_stride=size(run_stride, "run_stride"),
            run_bytes=size(run_bytes, "run_bytes"),
        )
        handle = s.LayoutHandle()
        error = lib.aqua_layout_create(spec, handle)
        if error:
            raise_error(error)
        return cls(handle, keep, read_only)

    @classmethod
    def from_arrays(
        cls, arrays: Sequence[Any], *, planes_per_layer: int = 1, axes: str = ""
    ) -> "Layout":
        """One array a plane, all alike: blocks along the first axis, and what follows of a block
        in one piece. `axes` names what follows, at any strides: T for tokens, H for heads, R for
        runs, and the rest in one piece. "TH" is vLLM's NHD, "HT" its HND, "HRT" FasterTransformer's
        keys, "T" a cache of latents."""
        if sorted(set(axes)) != sorted(axes) or set(axes) - set("THR"):
            raise ValueError(f"axes: each of T, H and R once, not {axes!r}")
        spans = [device_span(array, f"arrays[{i}]") for i, array in enumerate(arrays)]
        if not spans:
            raise ValueError("a layout of no arrays")
        first = spans[0]
        for i, span in enumerate(spans):
            if not span.shape or span.bytes == 0:
                raise ValueError(f"arrays[{i}] has no blocks: its shape is {span.shape}")
            if min(span.strides) < 0:
                raise ValueError(f"arrays[{i}] runs backwards: strides {span.strides}")
            if len(span.shape) <= len(axes):
                raise ValueError(f"arrays[{i}] lacks axes of {axes!r}: its shape is {span.shape}")
            if not dense_from(span, 1 + len(axes)):
                raise ValueError(
                    f"arrays[{i}]: a {'run' if axes else 'block'} is not contiguous (shape "
                    f"{span.shape}, strides {span.strides}); describe it with Layout.make()"
                )
            if _block_shape(span) != _block_shape(first):
                raise ValueError(f"arrays[{i}] is not like arrays[0]: {span.shape}, {first.shape}")
        block_bytes = first.bytes // first.shape[0]
        count = {axis: first.shape[1 + i] for i, axis in enumerate(axes)}
        stride = {axis: first.strides[1 + i] for i, axis in enumerate(axes)}
        return cls.make(
            arrays,
            block_count=first.shape[0],
            block_stride=first.strides[0] if first.shape[0] > 1 else block_bytes,
            run_bytes=block_bytes // math.prod(count.values()),
            planes_per_layer=planes_per_layer,
            tokens_per_block=count.get("T", 1),
            token_stride=stride.get("T", 0),
            heads=count.get("H", 1),
            head_stride=stride.get("H", 0),
            runs_per_head=count.get("R", 1),
            run_stride=stride.get("R", 0),
        )

    @classmethod
    def mha(
        cls,
        key_planes: Sequence[Plane],
        value_planes: Sequence[Plane],
        *,
        block_count: int,
        tokens_per_block: int,
        kv_heads: int,
        head_dim: int,
        element_bytes: int,
        heads_first: bool = False,
    ) -> "Layout":
        """Keys and values in planes of their own, one of each per layer, blocks densely packed:
        [token][head], or [head][token] where heads_first says so. kv_heads counts the heads that
        are stored, so this serves MHA, GQA and MQA."""
        if len(key_planes) != len(value_planes):
            raise ValueError(f"{len(key_planes)} key planes, {len(value_planes)} value planes")
        keys, keep_keys, keys_read_only = _addresses(key_planes, "key_planes")
        values, keep_values, values_read_only = _addresses(value_planes, "value_planes")
        shape = _shape(
            len(key_planes), block_count, tokens_per_block, element_bytes, int(heads_first)
        )
        handle = s.LayoutHandle()
        error = lib.aqua_layout_create_mha(
            shape, uint32(kv_heads, "kv_heads"), uint32(head_dim, "head_dim"), keys, values, handle
        )
        if error:
            raise_error(error)
        return cls(handle, (keep_keys, keep_values), keys_read_only or values_read_only)

    @classmethod
    def mla(
        cls,
        latent_planes: Sequence[Plane],
        *,
        block_count: int,
        tokens_per_block: int,
        latent_dim: int,
        element_bytes: int,
    ) -> "Layout":
        """One plane of latents per layer; latent_dim includes the rope part."""
        planes, keep, read_only = _addresses(latent_planes, "latent_planes")
        shape = _shape(len(latent_planes), block_count, tokens_per_block, element_bytes)
        handle = s.LayoutHandle()
        error = lib.aqua_layout_create_mla(shape, uint32(latent_dim, "latent_dim"), planes, handle)
        if error:
            raise_error(error)
        return cls(handle, keep, read_only)

    @property
    def layers(self) -> int:
        return int(self._info.layers)

    @property
    def planes_per_layer(self) -> int:
        return int(self._info.planes_per_layer)

    @property
    def block_count(self) -> int:
        return int(self._info.block_count)

    @property
    def tokens_per_block(self) -> int:
        """1 where nothing was told of them, as for the next."""
        return int(self._info.tokens_per_block)

    @property
    def heads(self) -> int:
        return int(self._info.heads)

    @property
    def plane_block_bytes(self) -> int:
        """Of one block in one plane."""
        return int(self._info.plane_block_bytes)

    @property
    def block_bytes(self) -> int:
        """Of one block in all layers and planes: what it takes of a tensor."""
        return int(self._info.block_bytes)

    @property
    def read_only(self) -> bool:
        """An array that it was made from is read-only: nothing can be fetched into it."""
        return self._read_only

    def packed_bytes(self, count: int) -> int:
        """What `count` listed blocks take of a tensor: layer by layer, then plane by plane, then
        in list order, without gaps."""
        out = ctypes.c_size_t()
        error = lib.aqua_layout_packed_bytes(self._handle, size(count, "count"), out)
        if error:
            raise_error(error)
        return out.value

    def range_bytes(self, count: int, part: KvRange) -> int:
        """What a part of a sequence that has `count` blocks takes of a tensor: layer by layer,
        plane by plane, token by token, head by head, without gaps, whatever the layout."""
        out = ctypes.c_size_t()
        error = lib.aqua_layout_range_bytes(self._handle, size(count, "count"), part._for_c(), out)
        if error:
            raise_error(error)
        return out.value

    def packed_offset(self, layer: int, plane: int, index: int, count: int) -> int:
        """Where the index-th of `count` listed blocks begins."""
        out = ctypes.c_size_t()
        error = lib.aqua_layout_packed_offset(
            self._handle, uint32(layer, "layer"), uint32(plane, "plane"), size(index, "index"),
            size(count, "count"), out,
        )
        if error:
            raise_error(error)
        return out.value


def _addresses(planes: Sequence[Plane], what: str) -> Tuple[Any, List[object], bool]:
    """Addresses as the library takes them, what keeps the memory, whether any is read-only."""
    addresses: List[Optional[int]] = []
    keep: List[object] = []
    read_only = False
    for i, plane in enumerate(planes):
        if isinstance(plane, int):
            addresses.append(size(plane, f"{what}[{i}]", 2**64 - 1))
            continue
        span = device_span(plane, f"{what}[{i}]")
        addresses.append(span.address)
        keep.append(span.keep)
        read_only = read_only or span.read_only
    return (ctypes.c_void_p * len(addresses))(*addresses), keep, read_only


def _shape(
    layers: int, block_count: int, tokens_per_block: int, element_bytes: int, order: int = 0
) -> object:
    return ls.CPagedShape(
        layers=layers,
        block_count=uint32(block_count, "block_count"),
        tokens_per_block=uint32(tokens_per_block, "tokens_per_block"),
        element_bytes=uint32(element_bytes, "element_bytes"),
        order=order,
    )


def _block_shape(span: Span) -> Tuple[object, ...]:
    return span.shape, span.strides, span.item_bytes
