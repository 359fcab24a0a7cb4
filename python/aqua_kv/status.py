# SPDX-License-Identifier: Apache-2.0
"""What a runtime tells about itself. Units: bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._c.structs import CCopyStatus, CRuntimeStatus


@dataclass(frozen=True)
class TierStatus:
    tensors: int
    tensor_bytes: int
    capacity_bytes: int


@dataclass(frozen=True)
class CopyStatus:
    """Batches of copies that really ran by each way; then why the first two were passed over."""

    kernel: int
    batched: int
    each: int
    unsupported: int  # the device, its driver or the stream has no such way
    unreachable: int  # memory that the GPU is not known to reach
    full: int  # no room for a kernel's list, or too many commands in flight
    refused: int  # by the driver


@dataclass(frozen=True)
class RuntimeStatus:
    device: str
    connected: bool  # to the coordinator
    last_error: str  # of the connection
    not_borrowing: str  # why no more is borrowed, while there is room for more
    coordinator_calls: int  # so far, but for renewals and waiting for events
    local: TierStatus
    peer: TierStatus
    host: TierStatus
    lost_tensors: int
    lent_bytes: int  # slabs put up by us, held by others or not
    held_bytes: int  # of these, in others' hands
    promotions: int  # tensors moved up ...
    evacuations: int  # ... and off slabs being reclaimed
    promoted_bytes: int
    evacuated_bytes: int
    peer_fragmentation: float  # 0: all free leased memory is one piece
    copies: CopyStatus

    @classmethod
    def from_c(cls, c: CRuntimeStatus) -> "RuntimeStatus":
        told: Any = c
        return cls(
            told.device.decode("utf-8", "replace"),
            told.connected != 0,
            told.last_error.decode("utf-8", "replace"),
            told.not_borrowing.decode("utf-8", "replace"),
            told.coordinator_calls,
            _tier(told.local),
            _tier(told.peer),
            _tier(told.host),
            told.lost_tensors,
            told.lent_bytes,
            told.held_bytes,
            told.promotions,
            told.evacuations,
            told.promoted_bytes,
            told.evacuated_bytes,
            told.peer_fragmentation,
            CopyStatus(**{name: getattr(told.copies, name) for name, _ in CCopyStatus._fields_}),
        )


def _tier(told: Any) -> TierStatus:
    return TierStatus(told.tensors, told.tensor_bytes, told.capacity_bytes)
