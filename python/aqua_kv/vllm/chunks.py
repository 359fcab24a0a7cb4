# SPDX-License-Identifier: Apache-2.0
"""Where the chunks are: many in each of a few AquaTensors, which move between a neighbour's memory
and the host's on their own.

A tensor whose memory died is replaced when one of its chunks is stored anew. Its other chunks stay
lost until they are: a load of one fails, it never gives other bytes.
"""

from __future__ import annotations

from typing import List, Set, Tuple

from .._errors import Code, Error
from ..runtime import Runtime
from ..tensor import AquaTensor


class Chunks:
    def __init__(self, runtime: Runtime, count: int, chunk_bytes: int, tensor_bytes: int) -> None:
        """Takes tensors for all of them. RESOURCE_EXHAUSTED, and none is taken, when the host tier
        is too small to be everybody's exit."""
        self._runtime = runtime
        self._count = count
        self._chunk_bytes = chunk_bytes
        self._per_tensor = max(1, tensor_bytes // chunk_bytes) if chunk_bytes else 1
        self._lost: Set[int] = set()
        self._tensors: List[AquaTensor] = []
        try:
            for number in range(-(-count // self._per_tensor)):
                self._tensors.append(self._allocate(number))
        except Error:
            self.close()
            raise

    def place_to_load(self, chunk: int) -> Tuple[AquaTensor, int]:
        """Its tensor, and from which byte on. DATA_LOSS when its bytes are known to be gone."""
        if chunk in self._lost:
            raise Error(Code.DATA_LOSS, f"chunk {chunk}: the memory that it was in is gone")
        return self._place(chunk)

    def place_to_store(self, chunk: int) -> Tuple[AquaTensor, int]:
        place = self._place(chunk)
        self._lost.discard(chunk)
        return place

    def replace(self, chunk: int) -> None:
        """The tensor that the chunk is in is lost: another takes its place."""
        number = self._number(chunk)
        replaced = self._allocate(number)
        self._tensors[number].close()
        self._tensors[number] = replaced
        first = number * self._per_tensor
        self._lost.update(range(first, min(first + self._per_tensor, self._count)))

    def forget(self, chunk: int) -> None:
        """A store into it failed: what it holds is nothing."""
        self._lost.add(chunk)

    def close(self) -> None:
        for tensor in self._tensors:
            tensor.close()
        self._tensors.clear()
        self._count = 0

    def check(self, chunk: int) -> None:
        """ValueError when there is no such chunk."""
        if not 0 <= chunk < self._count:
            raise ValueError(f"chunk {chunk} of {self._count}")

    def _number(self, chunk: int) -> int:
        self.check(chunk)
        return chunk // self._per_tensor

    def _place(self, chunk: int) -> Tuple[AquaTensor, int]:
        offset = chunk % self._per_tensor * self._chunk_bytes
        return self._tensors[self._number(chunk)], offset

    def _allocate(self, number: int) -> AquaTensor:
        chunks = min(self._per_tensor, self._count - number * self._per_tensor)
        return self._runtime.allocate(chunks * self._chunk_bytes, f"vllm chunks {number}")
