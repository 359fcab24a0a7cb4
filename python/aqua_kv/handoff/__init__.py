# SPDX-License-Identifier: Apache-2.0
"""How KV changes process: KvPool, and the parcels that travel in it."""

from .memory import KvPoolPlane, KvPoolShape
from .parcel import (
    Delivery,
    DeliveryOutcome,
    OpenParcel,
    Parcel,
    ParcelHead,
    ParcelState,
    Undelivered,
)
from .pool import KvPool, KvPoolStatus
from .pools import cancel_parcel, move_quota, release_quarantined, remove_pool

__all__ = [
    "Delivery", "DeliveryOutcome", "KvPool", "KvPoolPlane", "KvPoolShape", "KvPoolStatus",
    "OpenParcel", "Parcel", "ParcelHead", "ParcelState", "Undelivered", "cancel_parcel",
    "move_quota", "release_quarantined", "remove_pool",
]
