# SPDX-License-Identifier: Apache-2.0
"""libaqua for Python: KV-cache offload into neighbouring GPUs' spare memory.

    with aqua_kv.Runtime.open(device="cuda:0", max_peer_bytes=8 << 30) as rt:
        layout = aqua_kv.Layout.from_arrays(kv_planes)   # anything with __cuda_array_interface__
        swap = rt.allocate(layout.packed_bytes(len(blocks)), "seq 42")
        rt.offload(layout, blocks, swap, stream)         # one call for all layers
        rt.fetch(swap, layout, other_blocks, stream).wait()

Names and meanings are those of the C++ headers; the KV bytes never pass through Python.
"""

from ._callbacks import Callbacks, LogLevel, PinnedTensor
from ._errors import Code, Error
from ._types import Access, Tier
from ._version import __version__, has_feature, library_path, library_version
from .block_pool import BlockMove, BlockPool
from .device import DeviceArray, DeviceBytes
from .handoff import (
    Delivery,
    DeliveryOutcome,
    KvPool,
    KvPoolPlane,
    KvPoolShape,
    KvPoolStatus,
    OpenParcel,
    Parcel,
    ParcelHead,
    ParcelState,
    Undelivered,
    cancel_parcel,
    move_quota,
    release_quarantined,
    remove_pool,
)
from .kv_range import KvRange, TensorPages
from .kv_stream import (
    Arrived,
    CutOff,
    KvShape,
    MicrobatchSwap,
    MicrobatchSwapStatus,
    Parallelism,
    ReplicaOwner,
    ReplicaReader,
    ReplicaReaderStatus,
    Replicator,
    ReplicatorStatus,
    SamplerState,
    StreamerStatus,
    StreamGroup,
    StreamIn,
    StreamOut,
    Streamer,
    WrittenTokens,
    to_metrics,
)
from .layer_pool import LayerPlane, LayerPool
from .layer_status import LayerPoolChange, LayerPoolStatus
from .layout import Layout
from .lending import Holder, Reclaim, ReclaimProgress
from .northbound import (
    BudgetReason,
    LoadBand,
    LoadProfile,
    LoadReport,
    MemoryBudget,
    ProducerOptions,
)
from .pool import ElasticPool
from .runtime import EmulatedGpu, Runtime
from .status import CopyStatus, RuntimeStatus, TierStatus
from .tensor import AquaTensor, Pin
from .transfer import Ticket
from .weights import NewWeight, SharedWeights, WeightTensor, publish_weights

__all__ = [
    "Access", "AquaTensor", "Arrived", "BlockMove", "BlockPool", "BudgetReason", "Callbacks",
    "Code", "CopyStatus", "CutOff", "Delivery", "DeliveryOutcome", "DeviceArray", "DeviceBytes",
    "ElasticPool", "EmulatedGpu", "Error", "Holder", "KvPool", "KvPoolPlane", "KvPoolShape",
    "KvPoolStatus", "KvRange", "KvShape", "LayerPlane", "LayerPool", "LayerPoolChange",
    "LayerPoolStatus", "Layout", "LoadBand", "LoadProfile", "LoadReport", "LogLevel",
    "MemoryBudget", "MicrobatchSwap", "MicrobatchSwapStatus", "NewWeight", "OpenParcel",
    "Parallelism", "Parcel", "ParcelHead", "ParcelState", "Pin", "PinnedTensor", "ProducerOptions",
    "Reclaim", "ReclaimProgress", "ReplicaOwner", "ReplicaReader", "ReplicaReaderStatus",
    "Replicator", "ReplicatorStatus", "Runtime", "RuntimeStatus", "SamplerState", "SharedWeights",
    "StreamGroup", "StreamIn", "StreamOut", "Streamer", "StreamerStatus", "TensorPages", "Ticket",
    "Tier", "TierStatus", "Undelivered", "WeightTensor", "WrittenTokens", "__version__",
    "cancel_parcel", "has_feature", "library_path", "library_version", "move_quota",
    "publish_weights", "release_quarantined", "remove_pool", "to_metrics",
]
