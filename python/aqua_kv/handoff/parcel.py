# SPDX-License-Identifier: Apache-2.0
"""Parcels: the KV cache of one request on its way from one process to another (KvPool)."""

from __future__ import annotations

import ctypes
import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Tuple

from .._c.kv_pool_structs import CDelivery, CParcel, CParcelHead, CUndelivered
from .._errors import Code, Error

if TYPE_CHECKING:
    from .._blocks import BlockList
    from .._numbers import Stream
    from .pool import KvPool


class ParcelState(enum.IntEnum):
    RESERVED = 0  # the keeper has not answered yet
    OPEN = 1  # being filled by its giver
    CLOSED = 2  # complete, also if its giver ends; it waits for a taker
    TAKEN = 3  # one process has it
    CONFIRMED = 4  # and the giver keeps nothing any more


@dataclass(frozen=True)
class Parcel:
    """One that was accepted, or that could not be delivered."""

    number: int  # names it; never given twice
    id: str  # of the request
    turn: int  # a taker's: what it speaks for the request under
    blocks: Tuple[int, ...]  # where its tokens lie, in their order
    tokens: int
    note: bytes  # the giver's words to the taker
    # Nothing is to be appended in place: copy the last, partly filled block, and append to your own.
    tail_in_doubt: bool

    @classmethod
    def _from_c(cls, c: CParcel) -> "Parcel":
        blocks = (ctypes.c_uint32 * c.block_count).from_address(c.blocks) if c.block_count else ()
        note = ctypes.string_at(c.note, c.note_bytes) if c.note_bytes else b""
        return cls(
            number=int(c.number), id=c.id.decode(), turn=int(c.turn), blocks=tuple(blocks),
            tokens=int(c.tokens), note=note, tail_in_doubt=bool(c.tail_in_doubt),
        )


@dataclass(frozen=True)
class Undelivered:
    """A parcel that was handed over and did not get to the keeper."""

    parcel: Parcel
    role: str
    error: Error
    # It may have arrived all the same, and its blocks are not this member's any more: compute it
    # anew. Otherwise all is as it was before it was handed over.
    in_doubt: bool

    @classmethod
    def _from_c(cls, c: CUndelivered) -> "Undelivered":
        return cls(
            Parcel._from_c(c.parcel.contents), c.role.decode(), _error(c.code, c.message),
            bool(c.in_doubt),
        )


class DeliveryOutcome(enum.IntEnum):
    CONFIRMED = 0  # its taker has all of it
    SUPERSEDED = 1  # a higher turn of the request counts
    CANCELLED = 2  # by name, before it was taken
    RECALLED = 3  # as asked
    REFUSED = 4  # `error` says why
    IN_DOUBT = 5  # the keeper is away: it may have arrived or not
    DECLINED = 6  # its taker has no use for it


@dataclass(frozen=True)
class Delivery:
    """The last that its giver hears of a parcel that was opened."""

    number: int  # OpenParcel.number
    outcome: DeliveryOutcome
    # All is as it was before it was closed, if it was. Shared blocks are had as often as then, less
    # what was released since.
    returned: bool
    error: Optional[Error]  # of REFUSED and IN_DOUBT

    @classmethod
    def _from_c(cls, c: CDelivery) -> "Delivery":
        return cls(
            int(c.number), DeliveryOutcome(c.outcome), bool(c.returned),
            _error(c.code, c.message) if c.code else None,
        )


@dataclass(frozen=True)
class ParcelHead:
    """Names a parcel that does not come."""

    id: str
    turn: int  # under which its giver spoke

    @classmethod
    def _from_c(cls, c: CParcelHead) -> "ParcelHead":
        return cls(c.id.decode(), int(c.turn))


class OpenParcel:
    """A parcel that is being filled, by work of the caller's: no call tells of that, since no byte
    is carried. At the end of its `with` block it is recalled, unless it was closed."""

    def __init__(self, pool: "KvPool", number: int) -> None:
        self._pool = pool
        self.number = number
        self._closed = False

    @property
    def state(self) -> ParcelState:
        """RESERVED, OPEN or CLOSED. NOT_FOUND: its delivery has come."""
        return self._pool._state_of(self.number)

    def close(
        self, blocks: "BlockList", *, tokens: int, note: bytes = b"", stream: "Stream" = 0
    ) -> None:
        """It is complete once the work posted to `stream` so far has ended. Blocks as in
        KvPool.hand_over(). FAILED_PRECONDITION: it is closed. NOT_FOUND: its delivery has come."""
        self._pool._close_parcel(self.number, blocks, tokens, note, stream)
        self._closed = True

    def recall(self) -> None:
        """Takes it back, if nobody has taken it by then: KvPool.deliveries() tells which it was.
        FAILED_PRECONDITION: it continues one that was accepted."""
        self._pool._recall(self.number)

    def __enter__(self) -> "OpenParcel":
        return self

    def __exit__(self, *_: Any) -> None:
        if self._closed:
            return
        try:
            self.recall()
        except Error as error:  # it has ended: refused, or with its pool or the keeper
            if error.code not in (Code.NOT_FOUND, Code.UNAVAILABLE):
                raise


def _error(code: int, message: bytes) -> Error:
    return Error(Code(code), message.decode("utf-8", "replace"))
