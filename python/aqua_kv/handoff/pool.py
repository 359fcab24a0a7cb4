# SPDX-License-Identifier: Apache-2.0
"""KvPool: a KV cache that several processes on one GPU share, whose blocks change process without a
byte being copied. Prefill hands a request over, decode accepts it; aqua-keeper has the memory.

    shape = aqua_kv.KvPoolShape(layers=30, plane_block_bytes=6144, tokens_per_block=16, blocks=64)
    with aqua_kv.KvPool.attach(rt, "smollm2", "prefill", shape) as pool:
        blocks = pool.allocate(8)
        keys = pool.plane(0, 0).blocks((16, 3, 64), "<f2")      # of layer 0, for kernels of yours
        pool.hand_over("request 7", blocks, "decode", turn=1, tokens=120, note=b"pending token")

    with aqua_kv.KvPool.attach(rt, "smollm2", "decode", shape) as pool:   # in another process
        for parcel in pool.accept():                            # none yet: pool.wait(), and again
            pool.finish(parcel)                                 # its answer is complete
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Tuple, Type, TypeVar, Union

from .._blocks import BlockList, to_uint32
from .._c.kv_pool_structs import (
    CDelivery,
    CKvPoolOptions,
    CKvPoolStatus,
    CParcel,
    CParcelHead,
    CUndelivered,
    KvPoolHandle,
)
from .._c.structs import LayoutHandle
from .._errors import raise_error
from .._library import lib
from .._locked import Locked
from .._numbers import Stream, native_stream, size, text, uint32
from ..layout import Layout
from .memory import KvPoolPlane, KvPoolShape
from .parcel import Delivery, OpenParcel, Parcel, ParcelHead, ParcelState, Undelivered

if TYPE_CHECKING:
    from ..runtime import Runtime

Item = TypeVar("Item")


@dataclass(frozen=True)
class KvPoolStatus:
    connected: bool  # to the keeper. Once False it stays so
    error: str  # why not, or what the keeper refused last and has not granted since
    idle: int  # blocks that allocate() has at hand
    used: int  # given out by it, this member's alone
    taken: int  # parcels accepted, and not finished or handed on
    ready: int  # parcels that accept() has at hand
    waiting: int  # parcels at the keeper that it may take, by the last answer


class KvPool(Locked):
    """Closing it waits until what was posted so far has ended, and what was handed over is the
    keeper's; no work of a GPU may be in flight on it otherwise. Parcels that were not finished wait
    for the next member of this role. In a callback or kernel closing does nothing."""

    __slots__ = ("shape",)
    _free = lib.aqua_kv_pool_free

    def __init__(self, runtime: "Runtime", handle: KvPoolHandle, shape: KvPoolShape) -> None:
        super().__init__(runtime, handle, runtime._state.kv_pools)
        self.shape = shape

    @classmethod
    def attach(
        cls,
        runtime: "Runtime",
        name: str,
        role: str,
        shape: KvPoolShape,
        *,
        slab_bytes: int = 64 << 20,
        reserve: int = 64,
        quota_blocks: int = 0,
        keeper: str = "",
    ) -> "KvPool":
        """Joins the pool, or makes it where there is none of this name. `role`: what parcels are
        handed to. `reserve`: blocks to have here ahead of need. `quota_blocks`: the most that the
        members of the role may have together, with what they have handed over and nobody has taken;
        it counts where the role has no quota yet. `keeper`: its socket; else $AQUA_KEEPER, else where
        aqua-keeper puts it. FAILED_PRECONDITION: it has another shape, or lies on another device;
        UNAVAILABLE: no keeper listens; RESOURCE_EXHAUSTED: no room for it."""
        named = shape._to_c()
        options = CKvPoolOptions(
            name=text(name),
            role=text(role),
            shape=ctypes.pointer(named),
            slab_bytes=size(slab_bytes, "slab_bytes"),
            keeper=text(keeper),
            reserve=uint32(reserve, "reserve"),
            quota_blocks=uint32(quota_blocks, "quota_blocks"),
        )
        handle = KvPoolHandle()
        error = lib.aqua_kv_pool_attach(runtime._handle, options, handle)
        if error:
            raise_error(error)
        return cls(runtime, handle, shape)

    def plane(self, layer: int, plane: int = 0) -> KvPoolPlane:
        """Its address is fixed for the pool's life."""
        address = ctypes.c_void_p()
        error = lib.aqua_kv_pool_get_plane(
            self._handle, uint32(layer, "layer"), uint32(plane, "plane"), address
        )
        if error:
            raise_error(error)
        return KvPoolPlane(self, address.value or 0)

    def layout(self) -> Layout:
        """Of the whole pool, to offload and fetch its blocks by."""
        handle = LayoutHandle()
        error = lib.aqua_kv_pool_create_layout(self._handle, handle)
        if error:
            raise_error(error)
        return Layout(handle, self, False)

    def allocate(self, count: int) -> List[int]:
        """Blocks of this member alone, of undefined content; asks nobody, more are fetched in the
        background, as many as were refused last, until 0 are allocated: then they are not wanted any
        more. RESOURCE_EXHAUSTED: not so many are at hand now; wait() and try again, or preempt."""
        blocks = (ctypes.c_uint32 * size(count, "count", self.shape.blocks))()
        error = lib.aqua_kv_pool_allocate(self._handle, count, ctypes.addressof(blocks))
        if error:
            raise_error(error)
        return list(blocks)

    def release(self, blocks: BlockList, stream: Stream = 0) -> None:
        """Lets go of blocks once the work posted to `stream` so far has ended. INVALID_ARGUMENT: one
        that is not this member's, or is named twice."""
        keep, address, count = to_uint32(blocks)
        error = lib.aqua_kv_pool_release(self._handle, address, count, native_stream(stream))
        del keep
        if error:
            raise_error(error)

    def share(self, blocks: BlockList) -> None:
        """From now on they are read only, and can be in any number of parcels: a common prefix. What
        is shared already this member has once more, and is to release as often."""
        keep, address, count = to_uint32(blocks)
        error = lib.aqua_kv_pool_share(self._handle, address, count)
        del keep
        if error:
            raise_error(error)

    def hand_over(
        self,
        id: str,
        blocks: BlockList,
        role: str,
        *,
        turn: int,
        tokens: int,
        note: bytes = b"",
        stream: Stream = 0,
    ) -> None:
        """Hands a request to whoever has this role, once the work posted to `stream` so far has
        ended. Its blocks are of allocate(), and this member's no more then; shared ones; or those of
        the parcel of the same id that it has accepted, which ends by this. `turn`: higher than every
        one of this id so far. UNAVAILABLE: the keeper is away. What goes wrong later is told by
        undelivered()."""
        keep, parcel = _parcel(blocks, tokens, note)
        parcel.id = text(id)
        parcel.turn = size(turn, "turn", 2**64 - 1)
        error = lib.aqua_kv_pool_hand_over(
            self._handle, parcel, text(role), native_stream(stream)
        )
        del keep
        if error:
            raise_error(error)

    def open(self, id: str, role: str, *, turn: int) -> OpenParcel:
        """A parcel before there is anything in it: a higher turn of the request counts from here on.
        What is wrong with the turn is told by deliveries()."""
        number = ctypes.c_uint64()
        error = lib.aqua_kv_pool_open(
            self._handle, text(id), size(turn, "turn", 2**64 - 1), text(role), number
        )
        if error:
            raise_error(error)
        return OpenParcel(self, number.value)

    def undelivered(self) -> List[Undelivered]:
        """What could not be handed over since the last call: work on its stream failed (DATA_LOSS),
        the keeper refused (ABORTED: the id has a higher turn) or is away. What is handed over behind
        failed work, and before this has told of it, comes back too."""
        return self._list(lib.aqua_kv_pool_undelivered, CUndelivered, Undelivered._from_c)

    def deliveries(self) -> List[Delivery]:
        """What has become of parcels of open() since the last call."""
        return self._list(lib.aqua_kv_pool_deliveries, CDelivery, Delivery._from_c)

    def accept(self, most: int = 1) -> List[Parcel]:
        """Parcels for this role, at most so many of those that are at hand, the oldest first; as many
        are fetched ahead in the background. They are this member's until finish(). If it dies before,
        the next of its role accepts them under a higher turn, as they were closed: append behind
        their tokens alone."""
        wanted = size(most, "most")
        return self._list(
            lambda pool, *out: lib.aqua_kv_pool_accept(pool, wanted, *out), CParcel, Parcel._from_c
        )

    def confirm(self, parcel: Union[Parcel, int]) -> None:
        """All of it is where it is needed: the giver is told. NOT_FOUND: no such parcel is this
        member's."""
        error = lib.aqua_kv_pool_confirm(self._handle, _number(parcel))
        if error:
            raise_error(error)

    def finish(self, parcel: Union[Parcel, int], stream: Stream = 0) -> None:
        """The work on it has ended: lets go of its blocks once the work posted to `stream` so far
        has. NOT_FOUND as above."""
        error = lib.aqua_kv_pool_finish(self._handle, _number(parcel), native_stream(stream))
        if error:
            raise_error(error)

    def superseded(self) -> List[int]:
        """Numbers of this member's parcels that are superseded since the last call: what it makes of
        them counts no more, and they are to be finished."""
        numbers = ctypes.POINTER(ctypes.c_uint64)()
        count = ctypes.c_size_t()
        with self._lock:
            error = lib.aqua_kv_pool_superseded(self._handle, numbers, count)
            if not error:
                return numbers[: count.value]
        raise_error(error)

    def cut_off(self) -> List[ParcelHead]:
        """Parcels for this role that do not come under this turn, since the last call: their giver
        ended before they were closed, or took them back, or they were cancelled. What was complete
        of a lower turn comes all the same, and another turn may come, or have come. Of what is not
        asked for up to 4,096 are kept."""
        return self._list(lib.aqua_kv_pool_cut_off, CParcelHead, ParcelHead._from_c)

    def wait(self, patience_ms: int) -> bool:
        """Waits, without the GIL, until there is news since the last call: parcels, blocks, something
        undelivered, delivered or cut off, or the keeper's end. False: none came within that time. A
        pool that is closed meanwhile goes when this returns, and until then its runtime cannot be
        closed."""
        news = ctypes.c_int()
        error = lib.aqua_kv_pool_wait(self._handle, uint32(patience_ms, "patience_ms"), news)
        if error:
            raise_error(error)
        return bool(news.value)

    def status(self) -> KvPoolStatus:
        c: Any = CKvPoolStatus()
        error = lib.aqua_kv_pool_get_status(self._handle, c)
        if error:
            raise_error(error)
        return KvPoolStatus(
            connected=bool(c.connected), error=c.error.decode("utf-8", "replace"), idle=int(c.idle),
            used=int(c.used), taken=int(c.taken), ready=int(c.ready), waiting=int(c.waiting),
        )

    def _list(
        self, answer: Callable[..., Optional[int]], item: Type[Any], convert: Callable[[Any], Item]
    ) -> List[Item]:
        rows: Any = ctypes.POINTER(ctypes.POINTER(item))()
        count = ctypes.c_size_t()
        with self._lock:
            error = answer(self._handle, rows, count)
            if not error:
                return [convert(rows[i].contents) for i in range(count.value)]
        raise_error(error)

    def _state_of(self, number: int) -> ParcelState:
        state = ctypes.c_uint32()
        error = lib.aqua_kv_pool_get_parcel_state(self._handle, number, state)
        if error:
            raise_error(error)
        return ParcelState(state.value)

    def _close_parcel(
        self, number: int, blocks: BlockList, tokens: int, note: bytes, stream: Stream
    ) -> None:
        keep, parcel = _parcel(blocks, tokens, note)
        error = lib.aqua_kv_pool_close(self._handle, number, parcel, native_stream(stream))
        del keep
        if error:
            raise_error(error)

    def _recall(self, number: int) -> None:
        error = lib.aqua_kv_pool_recall(self._handle, number)
        if error:
            raise_error(error)


def _number(parcel: Union[Parcel, int]) -> int:
    return parcel.number if isinstance(parcel, Parcel) else size(parcel, "parcel", 2**64 - 1)


def _parcel(blocks: BlockList, tokens: int, note: bytes) -> Tuple[object, CParcel]:
    """What keeps blocks and note, and the struct that names them."""
    keep, address, count = to_uint32(blocks)
    words = ctypes.create_string_buffer(note, len(note)) if note else None
    parcel = CParcel(
        blocks=address,
        block_count=count,
        tokens=uint32(tokens, "tokens"),
        note=ctypes.addressof(words) if words is not None else None,
        note_bytes=len(note),
    )
    return (keep, words), parcel
