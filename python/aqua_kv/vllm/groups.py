# SPDX-License-Identifier: Apache-2.0
"""vLLM's KV-cache groups as layouts, and the form of a chunk in a tensor.

A chunk is blocks_per_chunk blocks of one group. Its pages lie plane by plane, and in a plane block
by block, so that a whole chunk is one transfer (of each part) and any run of its blocks can still
be found: it is one piece in every plane.
"""

from __future__ import annotations

from typing import Any, Callable, Deque, Dict, List, Tuple

from vllm.v1.kv_offload.base import CanonicalKVCaches

from ..arrays import device_span
from ..layout import Layout
from ..transfer import Ticket

# Moves blocks of a layout from or to a byte of the chunk.
Move = Callable[[Layout, Any, int], Ticket]


class _Part:
    """Layers of a group that are alike: one layout for all, and one for each alone."""

    def __init__(self, arrays: List[Any], page_bytes: int) -> None:
        span = device_span(arrays[0], "KV cache")
        form = {
            "block_count": span.shape[0],
            "block_stride": span.strides[0],
            "run_bytes": page_bytes,
        }
        self.all_planes = Layout.make(arrays, **form)
        self.planes = [Layout.make([array], **form) for array in arrays]
        self.page_bytes = page_bytes

    @property
    def bytes_per_block(self) -> int:
        return len(self.planes) * self.page_bytes

    def close(self) -> None:
        for layout in (self.all_planes, *self.planes):
            layout.close()


class Group:
    def __init__(self, kv_caches: CanonicalKVCaches, group: int, blocks_per_chunk: int) -> None:
        alike: Dict[Tuple[int, int, int], List[Any]] = {}
        for ref in kv_caches.group_data_refs[group]:
            array = kv_caches.tensors[ref.tensor_idx].tensor
            span = device_span(array, f"KV cache tensor {ref.tensor_idx}")
            form = (span.shape[0], span.strides[0], ref.page_size_bytes)
            alike.setdefault(form, []).append(array)
        self._parts = [_Part(arrays, form[2]) for form, arrays in alike.items()]
        self._blocks_per_chunk = blocks_per_chunk
        self.bytes_per_block = sum(part.bytes_per_block for part in self._parts)

    def move(self, move: Move, first: int, blocks: Any, tickets: Deque[Ticket]) -> None:
        """Moves blocks `first`, `first` + 1, ... of a chunk and adds the tickets, also those of the
        moves before one that raises."""
        start = 0
        whole = len(blocks) == self._blocks_per_chunk
        for part in self._parts:
            if whole:
                tickets.append(move(part.all_planes, blocks, start))
                start += self._blocks_per_chunk * part.bytes_per_block
                continue
            for plane in part.planes:
                tickets.append(move(plane, blocks, start + first * part.page_bytes))
                start += self._blocks_per_chunk * part.page_bytes

    def close(self) -> None:
        for part in self._parts:
            part.close()
