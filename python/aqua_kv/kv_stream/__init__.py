# SPDX-License-Identifier: Apache-2.0
"""KV of pipelines: streams from one to another of any other shape (Streamer), replicas that outlive
a stage (Replicator, ReplicaReader), and microbatches that are swapped (MicrobatchSwap)."""

from .metrics import to_metrics
from .microbatch_swap import MicrobatchSwap, MicrobatchSwapStatus
from .replica_reader import ReplicaReader, ReplicaReaderStatus, SamplerState
from .replicator import ReplicaOwner, Replicator, ReplicatorStatus, WrittenTokens
from .shape import KvShape, Parallelism, StreamGroup
from .streamer import Arrived, CutOff, Streamer, StreamerStatus
from .streams import StreamIn, StreamOut

__all__ = [
    "Arrived", "CutOff", "KvShape", "MicrobatchSwap", "MicrobatchSwapStatus", "Parallelism",
    "ReplicaOwner", "ReplicaReader", "ReplicaReaderStatus", "Replicator", "ReplicatorStatus",
    "SamplerState", "StreamGroup", "StreamIn", "StreamOut", "Streamer", "StreamerStatus",
    "WrittenTokens", "to_metrics",
]
