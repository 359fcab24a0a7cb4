# SPDX-License-Identifier: Apache-2.0
"""What a serving engine and libaqua tell each other (aqua/northbound/load.hpp). Units: bytes; times
say theirs."""

from __future__ import annotations

import enum
from dataclasses import astuple, dataclass
from typing import Any

from ._c.structs import CLoadBand, CLoadProfile, CLoadReport, CMemoryBudget, CProducerOptions


class BudgetReason(enum.IntEnum):
    """Why a budget was told."""

    OPENED = 0  # the first one of this runtime
    WANTED = 1  # the engine frees memory until it uses at most engine_bytes, then calls lend()
    OFFERED = 2  # part of the engine's memory was put up for lending
    RECLAIMED = 3  # lent memory came back, all or a slab of it
    GRANTED = 4  # a neighbour's memory was leased to us
    REVOKED = 5  # a neighbour took its memory back; no byte was lost
    LOST = 6  # memory died; its tensors report data loss


@dataclass(frozen=True)
class MemoryBudget:
    engine_bytes: int  # of its own device: what the engine may use from now on
    lent_bytes: int  # of its own device: put up for lending, held by others or not
    peer_bytes: int  # neighbours' memory leased to us
    host_bytes: int  # this server's DRAM that we may use
    reason: BudgetReason
    shared_bytes: int = 0  # of its own device: weights and KV pools that are mapped here

    @classmethod
    def from_c(cls, c: CMemoryBudget) -> "MemoryBudget":
        told: Any = c
        return cls(
            told.engine_bytes, told.lent_bytes, told.peer_bytes, told.host_bytes,
            BudgetReason(told.reason), told.shared_bytes,
        )


@dataclass(frozen=True)
class LoadReport:
    requests_per_second: float = 0.0  # arrivals, a mean over some ten seconds
    queue_length: float = 0.0  # waiting to be scheduled, now
    kv_bytes_used: int = 0  # KV cache on the device now
    kv_bytes_wanted: int = 0  # if memory were no limit; at least kv_bytes_used
    # For people and dashboards; 0 where not measured. p50 <= p99.
    time_to_first_token_p50_us: int = 0
    time_to_first_token_p99_us: int = 0
    time_per_output_token_p50_us: int = 0
    time_per_output_token_p99_us: int = 0

    def to_c(self) -> CLoadReport:
        return CLoadReport(**_checked(self))


@dataclass(frozen=True)
class LoadProfile:
    """What a profiler found for one model on one device at its stable request rate."""

    steady_requests_per_second: float
    steady_queue_length: float
    kv_bytes_total: int  # all KV memory of the engine when none is lent
    steady_free_bytes: int  # of it, never used: the most that is ever lent
    producer_threshold_bytes: int = 10_000_000_000  # less than this free: no producer

    def to_c(self) -> CLoadProfile:
        return CLoadProfile(**_checked(self))


@dataclass(frozen=True)
class LoadBand:
    """Above it: a rate over steady * rate_ratio + rate_slack, or a queue likewise."""

    rate_ratio: float = 1.0
    rate_slack: float = 0.0  # requests per second
    queue_ratio: float = 1.0
    queue_slack: float = 0.0  # requests


@dataclass(frozen=True)
class ProducerOptions:
    """When to lend and when to reclaim. Every value is taken as it stands, 0 too."""

    rise: LoadBand = LoadBand(1.5, 0.5, 2.0, 8.0)  # above: reclaim
    settle: LoadBand = LoadBand(1.2, 0.25, 1.25, 2.0)  # not above for settle_ms: offer
    settle_ms: int = 15_000
    min_ms_between_flips: int = 30_000  # from a reclaim to the next offer
    headroom: float = 0.1  # of kv_bytes_total, kept free when offering
    min_offer_bytes: int = 256 << 20

    def to_c(self) -> CProducerOptions:
        values = _checked(self)
        values["rise"] = CLoadBand(*astuple(self.rise))
        values["settle"] = CLoadBand(*astuple(self.settle))
        return CProducerOptions(**values)


def _checked(options: Any) -> "dict[str, Any]":
    values = dict(vars(options))
    for name, value in values.items():
        if isinstance(value, int) and not 0 <= value < 2**63:
            raise ValueError(f"{type(options).__name__}: {name} is {value}")
    return values
