# SPDX-License-Identifier: Apache-2.0
"""Streams: KV from one pipeline to another of any other shape (Streamer)."""

from .shape import KvShape, Parallelism, StreamGroup
from .streamer import Arrived, Streamer, StreamerStatus
from .streams import StreamIn, StreamOut

__all__ = [
    "Arrived", "KvShape", "Parallelism", "StreamGroup", "StreamIn", "StreamOut", "Streamer",
    "StreamerStatus",
]
