# SPDX-License-Identifier: Apache-2.0
"""What a runtime tells about itself. Units: bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._structs import CRuntimeStatus


@dataclass(frozen=True)
class TierStatus:
    tensors: int
    tensor_bytes: int
    capacity_bytes: int


@dataclass(frozen=True)
class RuntimeStatus:
    device: str
    connected: bool  # to the coordinator
    last_error: str  # of the connection
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

    @classmethod
    def from_c(cls, c: CRuntimeStatus) -> "RuntimeStatus":
        told: Any = c
        return cls(
            told.device.decode("utf-8", "replace"),
            told.connected != 0,
            told.last_error.decode("utf-8", "replace"),
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
        )


def _tier(told: Any) -> TierStatus:
    return TierStatus(told.tensors, told.tensor_bytes, told.capacity_bytes)
