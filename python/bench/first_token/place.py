# SPDX-License-Identifier: Apache-2.0
"""Where the engine works: a GPU through PyTorch, or an emulated one, whose memory only its kernels
can follow. The rest of the program does not know which."""

from __future__ import annotations

import time
from typing import Any, Callable, List, Tuple

import aqua_kv
from aqua_kv import emulated

from maths import Maths


class Place:
    """The planes of a KV cache, two streams, and a clock that runs with them: `compute` for the
    model, `copies` for what brings keys and values back."""

    addresses: List[int]
    compute: Any
    copies: Any

    def run(self, work: Callable[[List[Any]], Any]) -> Any:
        """work(planes) on the compute stream; its result. Planes are arrays there only."""
        raise NotImplementedError

    def overwrite(self) -> None:
        """Every byte of the cache, and waits: what is read afterwards was brought back."""
        raise NotImplementedError

    def mark(self) -> Any:
        """This point of the compute stream."""
        raise NotImplementedError

    def seconds(self, start: Any, end: Any) -> float:
        """Between two marks, once all() has returned."""
        raise NotImplementedError

    def all(self) -> None:
        """Waits for all that is queued."""
        raise NotImplementedError

    def pinned(self, plane_bytes: int) -> "PinnedCopy":
        """Host memory for one sequence, and copies of its blocks one by one, as an engine without
        libaqua would have them."""
        raise NotImplementedError


class PinnedCopy:
    def save(self, blocks: List[int]) -> None:
        raise NotImplementedError

    def load(self, blocks: List[int]) -> None:
        """Queued on the copy stream, and the compute stream waits for it."""
        raise NotImplementedError


class OnEmulatedGpu(Place):
    def __init__(self, runtime: aqua_kv.Runtime, maths: Maths, planes: int, shape: Tuple[int, ...],
                 block_bytes: int) -> None:
        self._runtime = runtime
        self._maths = maths
        self._shape = shape
        self.block_bytes = block_bytes
        self.plane_bytes = shape[0] // 16 * block_bytes
        self._memory = emulated.allocate(runtime, planes * self.plane_bytes)
        self.addresses = [self._memory.data + i * self.plane_bytes for i in range(planes)]
        self.compute = emulated.create_stream(runtime)
        self.copies = self.compute  # a kernel is waited for, so a second stream would stand idle

    def run(self, work: Callable[[List[Any]], Any]) -> Any:
        outcome: List[Any] = []

        def kernel() -> None:
            try:
                views = [emulated.view(a, self.plane_bytes) for a in self.addresses]
                outcome.append(work([self._maths.over(v, self._shape) for v in views]))
            except Exception as error:  # told to the caller, not to the device's thread
                outcome.append(error)

        emulated.launch(self._runtime, kernel, self.compute)
        emulated.synchronize(self._runtime, self.compute)
        if isinstance(outcome[0], Exception):
            raise outcome[0]
        return outcome[0]

    def overwrite(self) -> None:
        for address in self.addresses:
            emulated.write(self._runtime, address, b"\x3f" * self.plane_bytes, self.compute)
        self.all()

    def mark(self) -> float:
        self.all()
        return time.perf_counter()

    def seconds(self, start: float, end: float) -> float:
        return end - start

    def all(self) -> None:
        emulated.synchronize(self._runtime, self.compute)

    def pinned(self, plane_bytes: int) -> PinnedCopy:
        return _EmulatedCopy(self, self._runtime, plane_bytes)


class _EmulatedCopy(PinnedCopy):
    def __init__(self, place: OnEmulatedGpu, runtime: aqua_kv.Runtime, plane_bytes: int) -> None:
        self._place, self._runtime = place, runtime
        self._planes = [bytearray(plane_bytes) for _ in place.addresses]

    def _each(self, blocks: List[int], copy: Callable[..., None]) -> None:
        step = self._place.block_bytes
        for plane, base in zip(self._planes, self._place.addresses):
            host = memoryview(plane)
            for i, block in enumerate(blocks):
                copy(self._runtime, base + block * step, host[i * step:(i + 1) * step],
                     self._place.copies)

    def save(self, blocks: List[int]) -> None:
        self._each(blocks, emulated.read)

    def load(self, blocks: List[int]) -> None:
        self._each(blocks, emulated.write)


class OnGpu(Place):
    def __init__(self, maths: Any, planes: int, shape: Tuple[int, ...], block_bytes: int) -> None:
        self._torch = maths.xp
        self.block_bytes = block_bytes
        # Not the default stream: as the legacy one it would wait for the others.
        self.compute = self._torch.cuda.Stream()
        self._torch.cuda.set_stream(self.compute)
        self.planes = [self._torch.zeros(shape, dtype=maths.type, device=maths.device)
                       for _ in range(planes)]
        self.addresses = [plane.data_ptr() for plane in self.planes]
        self.copies = self._torch.cuda.Stream()

    def run(self, work: Callable[[List[Any]], Any]) -> Any:
        return work(self.planes)

    def overwrite(self) -> None:
        for plane in self.planes:
            plane.fill_(0.75)
        self.all()

    def mark(self) -> Any:
        event = self._torch.cuda.Event(enable_timing=True)
        event.record(self.compute)
        return event

    def seconds(self, start: Any, end: Any) -> float:
        return float(start.elapsed_time(end)) / 1000

    def all(self) -> None:
        self._torch.cuda.synchronize()

    def pinned(self, plane_bytes: int) -> PinnedCopy:
        return _TorchCopy(self, self._torch, plane_bytes // self.block_bytes)


class _TorchCopy(PinnedCopy):
    def __init__(self, place: OnGpu, torch: Any, blocks: int) -> None:
        self._place, self._torch = place, torch
        first = place.planes[0]
        self._device = [plane.view(-1, 16, *first.shape[1:]) for plane in place.planes]
        shape = (len(place.planes), blocks, *self._device[0].shape[1:])
        self._host = torch.empty(shape, dtype=first.dtype, pin_memory=True)

    def save(self, blocks: List[int]) -> None:
        for host, plane in zip(self._host, self._device):
            for i, block in enumerate(blocks):
                host[i].copy_(plane[block], non_blocking=True)
        self._place.all()

    def load(self, blocks: List[int]) -> None:
        with self._torch.cuda.stream(self._place.copies):
            for host, plane in zip(self._host, self._device):
                for i, block in enumerate(blocks):
                    plane[block].copy_(host[i], non_blocking=True)
        self._place.compute.wait_stream(self._place.copies)
