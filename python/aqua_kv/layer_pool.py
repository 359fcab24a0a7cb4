# SPDX-License-Identifier: Apache-2.0
"""LayerPool: the paged KV of a model's layers in fewer frames than there are layers, so that the
same device memory holds more blocks. The guide is docs/engine/layer_swap.md."""

from __future__ import annotations

import ctypes
import itertools
import weakref
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Tuple

from ._c import pool_structs as s
from ._blocks import BlockList, to_uint32
from ._callbacks import being_called
from ._errors import raise_error
from ._library import lib
from ._numbers import Stream, native_stream, size, text, uint32
from ._owned import Owned
from ._c.structs import TicketHandle
from .block_pool import BlockPool
from .device import DeviceBytes
from .layer_status import LayerPoolChange, LayerPoolStatus
from .tensor import AquaTensor
from .transfer import Ticket

if TYPE_CHECKING:
    from .runtime import Runtime


class LayerPlane(DeviceBytes):
    """One plane of a layer. Its address never changes, but with "fifo"; of a layer that streams the
    bytes are its own only between begin_layer() and end_layer(), in stream order."""

    def __init__(self, pool: "LayerPool", data: int) -> None:
        self._pool = pool
        self._data = data

    @property
    def bytes(self) -> int:
        """Of the blocks that are usable now."""
        return self._pool.usable_blocks * self._pool.block_bytes


class LayerPool(Owned):
    """No work of a GPU may be in flight on it when it is closed (an emulated GPU's is waited for).

    Threads: calls on one pool come one after the other, each waiting for the one before it. None is
             made in a kernel of an emulated GPU.
    """

    __slots__ = ("_runtime", "_shape", "_planes", "_on_resize")
    _free = lib.aqua_layer_pool_free
    _settles = True

    def __init__(
        self,
        runtime: "Runtime",
        handle: s.LayerPoolHandle,
        shape: Tuple[int, int, int],
        schedule: str,
        on_resize: Optional[Callable[[LayerPoolChange], None]],
    ) -> None:
        """LayerPool.create() makes one. `shape`: layers, planes of each, bytes of a block."""
        super().__init__(handle, runtime._state.layer_pools)
        self._runtime = runtime
        self._on_resize = on_resize
        self._shape = shape
        # Addresses by layer, where they never change.
        self._planes = [] if schedule == "fifo" else [self._addresses(k) for k in range(shape[0])]

    def _settle(self) -> bool:
        return self._runtime._state.settle()

    @classmethod
    def create(
        cls,
        runtime: "Runtime",
        *,
        layers: int,
        planes_per_layer: int,
        block_bytes: int,
        device_bytes: int,
        frames: int = 0,
        goal: str = "",
        on_resize: Optional[Callable[[LayerPoolChange], None]] = None,
        schedule: str = "",
        slab_bytes: int = 0,
        name: str = "",
    ) -> "LayerPool":
        """Takes its memory, and maps the frames there are to be at first.

        layers            that have KV, all of one size: 3 to 256
        planes_per_layer  two, or one where keys and values share
        block_bytes       of one block in one plane
        device_bytes      of all frames; whole slabs are taken
        frames            at first, from 3 to `layers`. 0: `layers`, nothing is away
        goal              what adapt() chooses the frames for. Empty: nothing. "capacity": the same
                          memory holds more blocks. "memory": fewer frames hold the same blocks, and
                          the memory that they leave is lent. With a goal every layer has a frame
                          at first
        on_resize         called within resize() and adapt() with a BlockPool. It may call
                          offload(), fetch(), what only asks, and the BlockPool; other calls raise
                          FAILED_PRECONDITION. An exception goes to sys.unraisablehook
        schedule          which layers move when; empty: "fixed", the same in every step. "fifo",
                          Pie's own, without a goal: where a layer is changes, and a host should wait
                          for a layer's kernels before it begins the next, or has its layers late
        slab_bytes        frames grow by a slab in each plane at a time. 0: 2 MiB
        name              of its tensors, for people
        RESOURCE_EXHAUSTED: the device has less memory, or host memory no room for the exits of what
        is to be away."""
        key = next(_keys)
        options = s.CLayerPoolOptions(
            layers=uint32(layers, "layers"),
            planes_per_layer=uint32(planes_per_layer, "planes_per_layer"),
            block_bytes=size(block_bytes, "block_bytes"),
            device_bytes=size(device_bytes, "device_bytes"),
            frames=uint32(frames, "frames"),
            goal=text(goal),
            user=key,
            on_resize=_on_resize,
            schedule=text(schedule),
            slab_bytes=size(slab_bytes, "slab_bytes"),
            name=text(name),
        )
        handle = s.LayerPoolHandle()
        error = lib.aqua_layer_pool_create(runtime._handle, options, handle)
        if error:
            raise_error(error)
        pool = cls(runtime, handle, (layers, planes_per_layer, block_bytes), schedule, on_resize)
        _pools[key] = pool
        return pool

    def _plane(self, layer: int, plane: int) -> int:
        address = ctypes.c_void_p()
        error = lib.aqua_layer_pool_get_plane(self._handle, layer, plane, address)
        if error:
            raise_error(error)
        return address.value or 0

    def _addresses(self, layer: int) -> List[int]:
        return [self._plane(layer, plane) for plane in range(self._shape[1])]

    def planes(self, layer: int) -> Tuple[LayerPlane, ...]:
        """Of a layer; block b is at b * block_bytes. Their addresses never change; with "fifo" they
        are those of the frame that it is in, comes into or leaves, until the next begin_layer(),
        change of frames or discard(). FAILED_PRECONDITION: it is away. IndexError: it is none."""
        if size(layer, "layer") >= self.layers:
            raise IndexError(f"layer {layer} of {self.layers}")
        addresses = self._planes[layer] if self._planes else self._addresses(layer)
        return tuple(LayerPlane(self, data) for data in addresses)

    @property
    def layers(self) -> int:
        return self._shape[0]

    @property
    def block_bytes(self) -> int:
        """Of one block in one plane."""
        return self._shape[2]

    @property
    def usable_blocks(self) -> int:
        """Blocks that the frames hold: those below may be used."""
        blocks = ctypes.c_uint32()
        error = lib.aqua_layer_pool_usable_blocks(self._handle, blocks)
        if error:
            raise_error(error)
        return blocks.value

    def usable_blocks_with(self, frames: int) -> int:
        """What so many frames would hold; 0 for fewer than 3, and for more than layers."""
        blocks = ctypes.c_uint32()
        error = lib.aqua_layer_pool_usable_blocks_with(
            self._handle, uint32(frames, "frames"), blocks)
        if error:
            raise_error(error)
        return blocks.value

    def packed_bytes(self, blocks: int) -> int:
        """What so many blocks take of a tensor."""
        out = ctypes.c_size_t()
        error = lib.aqua_layer_pool_packed_bytes(self._handle, size(blocks, "blocks"), out)
        if error:
            raise_error(error)
        return out.value

    def begin_step(self, stream: Stream, reads: BlockList, writes: BlockList) -> None:
        """Begins a step, whose kernels are launched on `stream`. It reads the blocks of `reads` and
        may write those of `writes`; a block that it writes only in part is in both.
        INVALID_ARGUMENT: a block that is not usable, or is listed twice; the stream.
        FAILED_PRECONDITION: the step before has not ended. DATA_LOSS: bytes are lost, discard()."""
        keep_reads, read_address, read_count = to_uint32(reads)
        keep_writes, write_address, write_count = to_uint32(writes)
        error = lib.aqua_layer_pool_begin_step(
            self._handle, native_stream(stream), read_address, read_count, write_address,
            write_count,
        )
        del keep_reads, keep_writes  # the lists are not needed once the call returns
        if error:
            raise_error(error)

    def begin_layer(self, layer: int) -> Tuple[LayerPlane, ...]:
        """From now on the stream has the layer's blocks of `reads` at its planes, which are
        answered. INVALID_ARGUMENT: another layer is next. FAILED_PRECONDITION: no step was begun,
        or the layer before has not ended. DATA_LOSS: the step cannot go on, discard(). With the
        schedule "fifo" also what end_layer() raises."""
        error = lib.aqua_layer_pool_begin_layer(self._handle, uint32(layer, "layer"))
        if error:
            raise_error(error)
        return self.planes(layer)

    def end_layer(self, layer: int) -> None:
        """The layer's kernels are launched. Raises as begin_layer(). UNAVAILABLE, at once: others'
        pins hold the old place of what is away; nothing is lost, call it again for this layer."""
        error = lib.aqua_layer_pool_end_layer(self._handle, uint32(layer, "layer"))
        if error:
            raise_error(error)

    def end_step(self, *, blocks_used: int = 0, blocks_wanted: int = 0) -> int:
        """The step's number, from 1 on. For a pool with a goal: the blocks used by sequences
        that are on the device, and those that these want and the ones that wait.
        FAILED_PRECONDITION: not every layer has ended."""
        load = s.CStepLoad(
            blocks_used=uint32(blocks_used, "blocks_used"),
            blocks_wanted=uint32(blocks_wanted, "blocks_wanted"),
        )
        step = ctypes.c_uint64()
        error = lib.aqua_layer_pool_end_step(self._handle, load, step)
        if error:
            raise_error(error)
        return step.value

    def step_done(self, step: int) -> bool:
        """True once everything that a step's kernels read has come in whole, and what they wrote is
        safe, of this step and all before; False while copies run. DATA_LOSS: use nothing of this
        step. INVALID_ARGUMENT: a step that has not ended. Any other code: ask again."""
        done = ctypes.c_int()
        error = lib.aqua_layer_pool_step_done(self._handle, size(step, "step"), done)
        if error:
            raise_error(error)
        return done.value != 0

    def offload(
        self, blocks: BlockList, tensor: AquaTensor, stream: Stream = 0, offset: int = 0
    ) -> Ticket:
        """Copies blocks to a tensor between steps, in the packed form of a layout of all layers,
        from `offset` on; in order with `stream`, also for layers that are away. INVALID_ARGUMENT: a
        block that is not usable or is listed twice, a tensor that is too small, the stream.
        FAILED_PRECONDITION: within a step. DATA_LOSS: bytes of the pool are lost, or the
        tensor's."""
        return self._move(True, blocks, tensor, stream, offset)

    def fetch(
        self, tensor: AquaTensor, blocks: BlockList, stream: Stream = 0, offset: int = 0
    ) -> Ticket:
        """The other way: from the tensor to the listed blocks."""
        return self._move(False, blocks, tensor, stream, offset)

    def _move(
        self, out: bool, blocks: BlockList, tensor: AquaTensor, stream: Stream, offset: int
    ) -> Ticket:
        if tensor._runtime is not self._runtime:
            raise ValueError("the tensor belongs to another runtime")
        keep, address, count = to_uint32(blocks)
        start, lane = size(offset, "offset"), native_stream(stream)
        handle, of = TicketHandle(), tensor._handle
        if out:
            error = lib.aqua_layer_pool_offload(
                self._handle, address, count, of, lane, start, handle)
        else:
            error = lib.aqua_layer_pool_fetch(self._handle, of, address, count, lane, start, handle)
        del keep
        if error:
            raise_error(error)
        return Ticket(handle)

    def resize(self, frames: int, blocks: Optional[BlockPool] = None, stream: Stream = 0) -> bool:
        """Changes the number of frames between steps, and waits for the steps so far. Blocks that
        are usable before and after keep their bytes; those at or past the new usable_blocks must
        not be needed any more.

        With `blocks`, the engine's list, the list follows and on_resize is told; `stream` is that
        of the copies which on_resize posts. True when the frames are there; False while blocks are
        held that were to be given back, or memory is lent that is being taken back: call again.

        UNAVAILABLE: some of the memory is lent, Runtime.reclaim() it. INVALID_ARGUMENT: frames that
        cannot be, a list that is not the pool's. FAILED_PRECONDITION: within a step, or a change
        with a list is under way. RESOURCE_EXHAUSTED: host memory has no room for what is to be away
        or is moved; no sequence was named then."""
        wanted = uint32(frames, "frames")
        if blocks is None:
            error = lib.aqua_layer_pool_resize(self._handle, wanted)
            if error:
                raise_error(error)
            return True
        done = ctypes.c_int()
        error = lib.aqua_layer_pool_resize_with(
            self._handle, wanted, blocks._handle, native_stream(stream), done)
        if error:
            raise_error(error)
        return done.value != 0

    def propose(self) -> int:
        """The frames that the steps measured so far ask for, and where layers lie now; those there
        are, without a goal. Ranks of one model resize() to the most that any of them proposes."""
        frames = ctypes.c_uint32()
        error = lib.aqua_layer_pool_propose(self._handle, frames)
        if error:
            raise_error(error)
        return frames.value

    def adapt(self, blocks: BlockPool, stream: Stream = 0) -> bool:
        """As resize() to propose(); does nothing where the frames are those. What has no room
        (RESOURCE_EXHAUSTED) is not proposed again for long."""
        done = ctypes.c_int()
        error = lib.aqua_layer_pool_adapt(
            self._handle, blocks._handle, native_stream(stream), done)
        if error:
            raise_error(error)
        return done.value != 0

    def discard(self) -> None:
        """Ends the step and the change that are under way, if any are, and empties every block,
        also after DATA_LOSS: no sequence of the engine's list has its KV any more. With "fifo"
        addresses change. RESOURCE_EXHAUSTED: no room for what is away; free some, call it again."""
        error = lib.aqua_layer_pool_discard(self._handle)
        if error:
            raise_error(error)

    def status(self) -> LayerPoolStatus:
        told = s.CLayerPoolStatus()
        error = lib.aqua_layer_pool_get_status(self._handle, told)
        if error:
            raise_error(error)
        return LayerPoolStatus.from_c(told)


_keys = itertools.count(1)
# Whose on_resize is meant. Weak: it is called within a call on the pool, which is then alive.
_pools: "weakref.WeakValueDictionary[int, LayerPool]" = weakref.WeakValueDictionary()


def _tell(user: int, change: Any) -> None:
    pool = _pools.get(user)
    if pool is not None and pool._on_resize is not None:
        with being_called():
            pool._on_resize(LayerPoolChange.from_c(change.contents))


_on_resize = s.ChangeFunction(_tell)  # one for all, so that none is freed while it runs
