# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see kv_offload/base.py."""

from enum import Enum


class CacheHitSource(str, Enum):
    DEVICE = "device"
    HOST = "host"
    P2P = "p2p"
    DISK = "disk"
    EXTERNAL_UNSPECIFIED = "external_unspecified"
