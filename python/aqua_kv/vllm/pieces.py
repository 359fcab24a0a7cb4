# SPDX-License-Identifier: Apache-2.0
"""What a job is made of: for each chunk, which of its blocks are where on the GPU."""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple

from vllm.v1.kv_offload.base import BlockIDsLoadStoreSpec, GPULoadStoreSpec


class Piece(NamedTuple):
    group: int
    chunk: int
    first: int  # the first block of the chunk that is moved
    blocks: Any  # array of GPU block numbers: chunk's blocks `first`, `first` + 1, ...


def pieces(
    gpu: GPULoadStoreSpec, chunks: BlockIDsLoadStoreSpec, blocks_per_chunk: int
) -> Iterator[Piece]:
    """Group by group: block_indices[g] says where in its request the group's first block stands,
    so how far into its first chunk; its last chunk, too, may be moved in part only. ValueError
    when the two lists do not fit together."""
    if len(gpu.group_sizes) != len(gpu.block_indices):
        raise ValueError(f"{len(gpu.group_sizes)} groups, {len(gpu.block_indices)} block indices")
    block_ids, chunk_ids = gpu.block_ids, chunks.block_ids
    block, chunk = 0, 0
    for group, (size, index) in enumerate(zip(gpu.group_sizes, gpu.block_indices)):
        first = index % blocks_per_chunk
        end = block + size
        while block < end:
            count = min(blocks_per_chunk - first, end - block)
            if chunk >= len(chunk_ids) or block + count > len(block_ids):
                raise ValueError(f"{len(block_ids)} blocks do not fit {len(chunk_ids)} chunks")
            yield Piece(group, int(chunk_ids[chunk]), first, block_ids[block : block + count])
            block, chunk, first = block + count, chunk + 1, 0
    if chunk != len(chunk_ids) or block != len(block_ids):
        raise ValueError(
            f"{len(block_ids)} blocks and {len(chunk_ids)} chunks, {block} and {chunk} in groups"
        )
