# SPDX-License-Identifier: Apache-2.0
"""Streams: KV from one pipeline to another of any other shape (Streamer)."""

from .shape import KvShape, Parallelism, StreamGroup
from .streamer import Arrived, CutOff, Streamer, StreamerStatus
from .streams import StreamIn, StreamOut

__all__ = [
    "Arrived", "CutOff", "KvShape", "Parallelism", "StreamGroup", "StreamIn", "StreamOut",
    "Streamer", "StreamerStatus",
]
