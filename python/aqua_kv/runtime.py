# SPDX-License-Identifier: Apache-2.0
"""The runtime: libaqua in one process, for one device."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Optional, Tuple, Type

from . import _callbacks, _dlpack
from ._c import layout_structs as ls
from ._c import structs as s
from ._blocks import BlockList, to_uint32
from ._callbacks import Callbacks
from ._errors import raise_error
from ._library import lib
from ._numbers import Stream, native_stream, size, text, uint32
from ._state import State
from .kv_range import KvRange, TensorPages
from .layout import Layout
from .lending import Reclaim
from .northbound import LoadProfile, LoadReport, MemoryBudget, ProducerOptions
from .status import RuntimeStatus
from .tensor import AquaTensor
from .transfer import Ticket


@dataclass(frozen=True)
class EmulatedGpu:
    """How an emulated GPU ("emu:N") behaves. Ignored for other devices."""

    total_bytes: int = 0  # 0: 1 GiB
    seed: int = 1  # of the delays of a hostile one
    link_bytes_per_second: int = 0  # to host memory; 0: as fast as the host copies
    peer_bytes_per_second: int = 0  # to lent memory; 0: link_bytes_per_second
    hostile: bool = False  # for tests: seeded delays, closed memory, slow remapping
    calibrate: bool = False  # measure copy times as on a GPU; otherwise built-in ones serve


class Runtime:
    """Lends the device's spare memory to neighbours, borrows theirs, and keeps AquaTensors in the
    fastest memory there is.

    Threads: every method may be called concurrently; those that wait say so, and let go of the
             GIL as every call does.
    Fork:    in a forked child every object of the parent raises FAILED_PRECONDITION; the child
             opens a runtime of its own.
    """

    def __init__(self, state: State) -> None:
        """Runtime.open() makes one."""
        self._state = state
        self._handle = state.handle

    @classmethod
    def open(
        cls,
        *,
        device: str = "",
        coordinator: str = "",
        name: str = "",
        domain: str = "",
        socket_directory: str = "",
        host_bytes: int = 0,
        max_peer_bytes: int = 0,
        local_bytes: int = 0,
        slab_bytes: int = 0,
        reclaim_deadline_ms: int = 0,
        callbacks_in_tick: bool = False,
        callbacks: Optional[Callbacks] = None,
        emulated: Optional[EmulatedGpu] = None,
        curve_directory: str = "",
        profile: str = "",
    ) -> "Runtime":
        """Blocks until the host tier is touched (about 0.3 s a GiB), not for the coordinator.

        device            "cuda:N" (as this process counts its GPUs), "GPU-UUID" (as nvidia-smi -L
                          prints it) or "emu:N" (emulated, for tests); empty: $AQUA_DEVICE, which must then be set
        coordinator       "unix:PATH", "HOST:PORT" or "none"; empty: $AQUA_COORDINATOR, else "none"
        name              for people; empty: the program's name
        domain            NVLink domain; empty: the server's only one
        socket_directory  empty: $XDG_RUNTIME_DIR/aqua, else /tmp/aqua-UID
        host_bytes        host tier, taken and touched now. 0: 256 MiB
        max_peer_bytes    the most to borrow; 0: nothing. Never more than host_bytes, in whole slabs
                          of the lender's (64 MiB): with host_bytes below one slab nothing is ever
                          borrowed
        local_bytes       of this device's own memory, for tensors
        slab_bytes        of what is lent. 0: 64 MiB
        reclaim_deadline_ms  for reclaims that reports decide, at most a day. 0: 2000
        callbacks_in_tick    callbacks run in tick()
        curve_directory   copy times measured on this machine; empty: $XDG_CACHE_HOME/aqua, else
                          ~/.cache/aqua. "off": neither kept nor measured
        profile           a file of `aqua profile`. A producer's is set as by set_profile(). From a
                          consumer's, where max_peer_bytes is 0, max_peer_bytes is taken, and
                          host_bytes is raised to as much
        """
        options = s.CRuntimeOptions(
            device=text(device),
            coordinator=text(coordinator),
            name=text(name),
            domain=text(domain),
            socket_directory=text(socket_directory),
            host_bytes=size(host_bytes, "host_bytes"),
            max_peer_bytes=size(max_peer_bytes, "max_peer_bytes"),
            local_bytes=size(local_bytes, "local_bytes"),
            slab_bytes=size(slab_bytes, "slab_bytes"),
            reclaim_deadline_ms=uint32(reclaim_deadline_ms, "reclaim_deadline_ms"),
            callbacks_in_tick=int(callbacks_in_tick),
            curve_directory=text(curve_directory),
            profile=text(profile),
        )
        given: Any = options
        if emulated is not None:
            given.emulated = ctypes.pointer(
                s.CEmulatedGpu(
                    total_bytes=size(emulated.total_bytes, "total_bytes"),
                    seed=size(emulated.seed, "seed"),
                    link_bytes_per_second=size(emulated.link_bytes_per_second, "link"),
                    peer_bytes_per_second=size(emulated.peer_bytes_per_second, "peer"),
                    hostile=int(emulated.hostile),
                    calibrate=int(emulated.calibrate),
                )
            )
        key = 0
        if callbacks is not None:
            key = _callbacks.register(callbacks)
            given.callbacks = ctypes.pointer(_callbacks.to_c(callbacks, key))
        handle = s.RuntimeHandle()
        error = lib.aqua_runtime_open(options, handle)
        if error:
            _callbacks.forget(key)
            raise_error(error)
        return cls(State(handle, key, _dlpack_device(device, emulated)))

    def close(self) -> None:
        """Releases its pins, frees its tensors, pools, layer pools and emulated memory, gives back what is
        leased, withdraws what is offered, leaves. No work may be in flight on its pools and its
        emulated memory. Waits for calls of other threads, and for about a second at most beyond.
        Does nothing when it is closed; FAILED_PRECONDITION in one of its callbacks, and while a thread
        waits for news of a KvPool, Streamer or Replicator: all else is freed by then, and closing
        again closes it once that has returned."""
        self._state.close()

    @property
    def closed(self) -> bool:
        return not self._state.open

    def allocate(
        self,
        bytes: int,
        name: str = "",
        *,
        discardable: bool = False,
        host_only: bool = False,
        off_device: bool = False,
    ) -> AquaTensor:
        """A tensor. `discardable`: no exit reserved; may be dropped (DATA_LOSS) when memory is
        reclaimed. `host_only`: keep to the host tier. `off_device`: never in this device's own
        memory (local_bytes). RESOURCE_EXHAUSTED says what is free where."""
        length = size(bytes, "bytes")
        options = s.CTensorOptions(
            bytes=length,
            name=text(name),
            discardable=int(discardable),
            host_only=int(host_only),
            off_device=int(off_device),
        )
        handle = s.TensorHandle()
        error = lib.aqua_tensor_allocate(self._handle, options, handle)
        if error:
            raise_error(error)
        return AquaTensor(self, handle, length)

    def offload(
        self,
        layout: Layout,
        blocks: BlockList,
        tensor: AquaTensor,
        stream: Stream = 0,
        offset: int = 0,
        *,
        part: Optional[KvRange] = None,
        pages: Optional[TensorPages] = None,
    ) -> Ticket:
        """Queues the move of the listed blocks to the tensor, from `offset` on, in the layout's
        packed form: after the work posted to `stream` before, before what is posted afterwards.
        `part`: a part of the sequence that the blocks hold, and nothing else, in the packed form of
        a range; the ticket counts its layers from 0. `pages` instead of the offset: to these pages,
        each token and head to its place in them, while all other bytes stay.
        INVALID_ARGUMENT: a block number twice or too large, more bytes than the tensor has from
        `offset` on, a stream of another device. DATA_LOSS: the tensor's bytes are gone."""
        return self._move(True, layout, blocks, tensor, stream, offset, part, pages)

    def fetch(
        self,
        tensor: AquaTensor,
        layout: Layout,
        blocks: BlockList,
        stream: Stream = 0,
        offset: int = 0,
        *,
        part: Optional[KvRange] = None,
        pages: Optional[TensorPages] = None,
    ) -> Ticket:
        """The other way: from the tensor to the listed blocks."""
        if layout.read_only:
            raise ValueError("fetch: an array of the layout is read-only")
        return self._move(False, layout, blocks, tensor, stream, offset, part, pages)

    def _move(
        self,
        out: bool,
        layout: Layout,
        blocks: BlockList,
        tensor: AquaTensor,
        stream: Stream,
        offset: int,
        part: Optional[KvRange],
        pages: Optional[TensorPages],
    ) -> Ticket:
        if tensor._runtime is not self:
            raise ValueError("the tensor belongs to another runtime")
        keep, address, count = to_uint32(blocks)
        start = size(offset, "offset")
        handle = s.TicketHandle()
        of, at, lane = tensor._handle, layout._handle, native_stream(stream)
        named = part._for_c() if part is not None else None
        if pages is not None:
            if start != 0:
                raise ValueError("offset: pages have their own")
            kept, of_pages = _pages(pages, count)
            if out:
                error = lib.aqua_offload_pages(
                    at, address, count, named, of, of_pages, lane, handle
                )
            else:
                error = lib.aqua_fetch_pages(of, of_pages, at, address, count, named, lane, handle)
            del kept
        elif named is not None and out:
            error = lib.aqua_offload_range(at, address, count, named, of, lane, start, handle)
        elif named is not None:
            error = lib.aqua_fetch_range(of, at, address, count, named, lane, start, handle)
        elif out:
            error = lib.aqua_offload(at, address, count, of, lane, start, handle)
        else:
            error = lib.aqua_fetch(of, at, address, count, lane, start, handle)
        del keep  # the list is not needed once the call returns
        if error:
            raise_error(error)
        return Ticket(handle, layout)

    def lend(self, bytes: int) -> None:
        """Takes `bytes` of the device's free memory, rounded down to slabs, and offers it.
        INVALID_ARGUMENT: less than a slab. RESOURCE_EXHAUSTED: the device has less free."""
        error = lib.aqua_runtime_lend(self._handle, size(bytes, "bytes"))
        if error:
            raise_error(error)

    def reclaim(self, bytes: int, deadline_ms: int) -> Reclaim:
        """Wants `bytes` of lent memory back within deadline_ms; more than is lent means all, and
        more than a day a day."""
        wanted = size(bytes, "reclaim: bytes")
        within = uint32(deadline_ms, "reclaim: deadline_ms", "an int of milliseconds")
        handle = s.ReclaimHandle()
        error = lib.aqua_runtime_reclaim(self._handle, wanted, within, handle)
        if error:
            raise_error(error)
        return Reclaim(handle, None)

    def set_profile(self, profile: LoadProfile, options: Optional[ProducerOptions] = None) -> None:
        """From now on report() decides when to lend and when to reclaim."""
        producer = options.to_c() if options is not None else None
        error = lib.aqua_runtime_set_profile(self._handle, profile.to_c(), producer)
        if error:
            raise_error(error)

    def report(self, report: LoadReport) -> None:
        """Tells the engine's load, about once a second. A decision to lend is told by on_budget
        (WANTED); a reclaim is begun at once. INVALID_ARGUMENT when it cannot be true."""
        error = lib.aqua_runtime_report(self._handle, report.to_c())
        if error:
            raise_error(error)

    def budget(self) -> MemoryBudget:
        budget = s.CMemoryBudget()
        error = lib.aqua_runtime_get_budget(self._handle, budget)
        if error:
            raise_error(error)
        return MemoryBudget.from_c(budget)

    def tick(self) -> None:
        """Call it once every few iterations. Runs callbacks that wait, where they are to run
        here."""
        error = lib.aqua_runtime_tick(self._handle)
        if error:
            raise_error(error)

    def status(self) -> RuntimeStatus:
        told = s.CRuntimeStatus()
        error = lib.aqua_runtime_get_status(self._handle, told)
        if error:
            raise_error(error)
        return RuntimeStatus.from_c(told)

    def __enter__(self) -> "Runtime":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __del__(self) -> None:
        state = getattr(self, "_state", None)
        if state is not None:
            state.drop()


def _dlpack_device(device: str, emulated: Optional[EmulatedGpu]) -> Optional[_dlpack.Device]:
    kind, _, number = (device or os.environ.get("AQUA_DEVICE", "")).partition(":")
    if kind == "cuda" and number.isdigit():
        return _dlpack.CUDA, int(number)
    if kind in ("emu", "host") and not (emulated is not None and emulated.hostile):
        return _dlpack.CPU, 0
    return None


def _pages(pages: TensorPages, count: int) -> Tuple[object, ls.CTensorPages]:
    """What keeps the numbers, and the struct that names them."""
    keep, address, numbers = to_uint32(pages.pages)
    if numbers != count:
        raise ValueError(f"{numbers} pages for {count} blocks")
    return keep, ls.CTensorPages(
        count=uint32(pages.count, "pages.count"), pages=address,
        offset=size(pages.offset, "pages.offset"),
    )
