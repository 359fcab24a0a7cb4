# SPDX-License-Identifier: Apache-2.0
"""The structs of include/aqua/c, field by field.

Those that begin with struct_size set it when they are made. tests/test_abi.py holds every offset
against the headers.
"""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_char_p, c_double, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, ClassVar, Sequence, Tuple

NAME_BYTES = 64
WHOLE_TENSOR = ctypes.c_size_t(-1).value

Fields = Sequence[Tuple[str, Any]]


class Sized(ctypes.Structure):
    """Begins with struct_size, which is set when one is made."""

    _fields_: ClassVar[Fields]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=ctypes.sizeof(self), **values)


# Handles: 64 bits each, types of their own so that one is never taken for another.
class RuntimeHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


class TensorHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


class PinHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


class LayoutHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


class TicketHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


class ReclaimHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


class PoolHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


class MemoryHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


# northbound.h
class CMemoryBudget(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("engine_bytes", c_size_t),
        ("lent_bytes", c_size_t),
        ("peer_bytes", c_size_t),
        ("host_bytes", c_size_t),
        ("reason", c_uint32),
        ("shared_bytes", c_size_t),
    ]


class CLoadReport(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("requests_per_second", c_double),
        ("queue_length", c_double),
        ("kv_bytes_used", c_size_t),
        ("kv_bytes_wanted", c_size_t),
        ("time_to_first_token_p50_us", c_uint64),
        ("time_to_first_token_p99_us", c_uint64),
        ("time_per_output_token_p50_us", c_uint64),
        ("time_per_output_token_p99_us", c_uint64),
    ]


class CLoadProfile(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("steady_requests_per_second", c_double),
        ("steady_queue_length", c_double),
        ("kv_bytes_total", c_size_t),
        ("steady_free_bytes", c_size_t),
        ("producer_threshold_bytes", c_size_t),
    ]


class CLoadBand(ctypes.Structure):
    _fields_: ClassVar[Fields] = [
        ("rate_ratio", c_double),
        ("rate_slack", c_double),
        ("queue_ratio", c_double),
        ("queue_slack", c_double),
    ]


class CProducerOptions(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("rise", CLoadBand),
        ("settle", CLoadBand),
        ("settle_ms", c_uint32),
        ("min_ms_between_flips", c_uint32),
        ("headroom", c_double),
        ("min_offer_bytes", c_size_t),
    ]


# options.h
class CEmulatedGpu(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("total_bytes", c_size_t),
        ("seed", c_uint64),
        ("link_bytes_per_second", c_uint64),
        ("peer_bytes_per_second", c_uint64),
        ("hostile", c_uint32),
        ("calibrate", c_uint32),
    ]


class CPinnedTensor(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("tensor_id", c_uint64),
        ("name", c_char_p),
        ("age_ms", c_uint64),
        ("read_pins", c_uint32),
        ("write_pins", c_uint32),
    ]


BudgetFunction = ctypes.CFUNCTYPE(None, c_void_p, ctypes.POINTER(CMemoryBudget))
DataLossFunction = ctypes.CFUNCTYPE(None, c_void_p, c_uint64, c_char_p)
PinsWantedFunction = ctypes.CFUNCTYPE(
    None, c_void_p, ctypes.POINTER(ctypes.POINTER(CPinnedTensor)), c_size_t, c_uint64
)
LogFunction = ctypes.CFUNCTYPE(None, c_void_p, c_uint32, c_char_p)
KernelFunction = ctypes.CFUNCTYPE(None, c_void_p)


class CCallbacks(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("user", c_void_p),
        ("on_budget", BudgetFunction),
        ("on_data_loss", DataLossFunction),
        ("on_pins_wanted", PinsWantedFunction),
        ("on_log", LogFunction),
    ]


class CRuntimeOptions(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("device", c_char_p),
        ("coordinator", c_char_p),
        ("name", c_char_p),
        ("domain", c_char_p),
        ("socket_directory", c_char_p),
        ("host_bytes", c_size_t),
        ("max_peer_bytes", c_size_t),
        ("local_bytes", c_size_t),
        ("slab_bytes", c_size_t),
        ("reclaim_deadline_ms", c_uint32),
        ("callbacks_in_tick", c_uint32),
        ("callbacks", ctypes.POINTER(CCallbacks)),
        ("emulated", ctypes.POINTER(CEmulatedGpu)),
        ("curve_directory", c_char_p),
        ("profile", c_char_p),
    ]


# runtime.h
class CTierStatus(ctypes.Structure):
    _fields_: ClassVar[Fields] = [
        ("tensors", c_size_t),
        ("tensor_bytes", c_size_t),
        ("capacity_bytes", c_size_t),
    ]


class CCopyStatus(ctypes.Structure):
    _fields_: ClassVar[Fields] = [
        ("kernel", c_uint64),
        ("batched", c_uint64),
        ("each", c_uint64),
        ("unsupported", c_uint64),
        ("unreachable", c_uint64),
        ("full", c_uint64),
        ("refused", c_uint64),
    ]


class CRuntimeStatus(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("local", CTierStatus),
        ("peer", CTierStatus),
        ("host", CTierStatus),
        ("lost_tensors", c_size_t),
        ("lent_bytes", c_size_t),
        ("held_bytes", c_size_t),
        ("promotions", c_uint64),
        ("evacuations", c_uint64),
        ("promoted_bytes", c_uint64),
        ("evacuated_bytes", c_uint64),
        ("peer_fragmentation", c_double),
        ("connected", c_uint32),
        ("device", c_char * NAME_BYTES),
        ("last_error", c_char * 256),
        ("not_borrowing", c_char * 256),
        ("coordinator_calls", c_uint64),
        ("copies", CCopyStatus),
    ]


# tensor.h
class CTensorOptions(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("bytes", c_size_t),
        ("name", c_char_p),
        ("discardable", c_uint32),
        ("host_only", c_uint32),
        ("off_device", c_uint32),
    ]


class CTensorInfo(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("tensor_id", c_uint64),
        ("bytes", c_size_t),
        ("tier", c_uint32),
        ("lost", c_uint32),
        ("name", c_char * NAME_BYTES),
    ]


class CPinInfo(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("data", c_void_p),
        ("bytes", c_size_t),
        ("tier", c_uint32),
    ]


# lending.h
class CReclaimProgress(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("bytes_wanted", c_size_t),
        ("bytes_returned", c_size_t),
        ("slabs_returned", c_size_t),
        ("first_slab_us", c_uint64),
        ("last_slab_us", c_uint64),
        ("holders", c_uint32),
        ("done", c_uint32),
    ]


class CHolder(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("bytes", c_size_t),
        ("pid", c_int64),
        ("slab", c_uint32),
        ("name", c_char * NAME_BYTES),
    ]


# pool.h
class CPoolOptions(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("planes", c_size_t),
        ("plane_bytes", c_size_t),
        ("slab_bytes", c_size_t),
        ("filler", c_uint32),
    ]


class CPoolInfo(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("planes", c_size_t),
        ("quantum_bytes", c_size_t),
        ("total_quanta", c_size_t),
        ("lent_quanta", c_size_t),
        ("usable_bytes_per_plane", c_size_t),
    ]
