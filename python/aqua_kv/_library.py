# SPDX-License-Identifier: Apache-2.0
"""Finds libaqua.so and declares its calls.

Looked for in this order; the first that is there is taken, and what is wrong with it is told
instead of another being tried:
  1. the path in AQUA_LIBRARY
  2. the one bundled in the wheel (aqua_kv/lib)
  3. the system's libaqua.so.0
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from ._c import kv_pool_structs as kv
from ._c import kv_stream_calls
from ._c import layout_structs as ls
from ._c import packer_structs as k
from ._c import pool_structs as p
from ._c import structs as s
from ._c import weights_structs as w

SONAME = "libaqua.so.0"


def find() -> str:
    """Path or soname of the library to load."""
    named = os.environ.get("AQUA_LIBRARY")
    if named:
        return named
    bundled = Path(__file__).parent / "lib" / SONAME
    return str(bundled) if bundled.exists() else SONAME


def load() -> ctypes.CDLL:
    path = find()
    try:
        # CDLL, not PyDLL: every call lets go of the GIL, so that one that waits stops nobody and
        # a callback never waits for a thread that is inside a call.
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"libaqua cannot be loaded: {error}. Set AQUA_LIBRARY to a libaqua.so, install the "
            "Debian package libaqua0, or use a wheel built with AQUA_LIBRARY set"
        ) from None
    if not hasattr(library, "aqua_version"):
        raise ImportError(f"{path} is no libaqua: it has no aqua_version")
    return library


_OUT_SIZE = POINTER(c_size_t)
_OUT_INT = POINTER(c_int)
_OUT_POINTER = POINTER(c_void_p)
_OUT_UINT32 = POINTER(c_uint32)
_PLANES = POINTER(c_void_p)

# What returns an error object, and its parameters. c_void_p stands for memory of the caller's.
CALLS: "dict[str, list[Any]]" = {
    "aqua_runtime_open": [POINTER(s.CRuntimeOptions), POINTER(s.RuntimeHandle)],
    "aqua_runtime_close": [s.RuntimeHandle],
    "aqua_runtime_get_status": [s.RuntimeHandle, POINTER(s.CRuntimeStatus)],
    "aqua_runtime_tick": [s.RuntimeHandle],
    "aqua_runtime_lend": [s.RuntimeHandle, c_size_t],
    "aqua_runtime_reclaim": [s.RuntimeHandle, c_size_t, c_uint32, POINTER(s.ReclaimHandle)],
    "aqua_runtime_set_profile": [
        s.RuntimeHandle, POINTER(s.CLoadProfile), POINTER(s.CProducerOptions),
    ],
    "aqua_runtime_report": [s.RuntimeHandle, POINTER(s.CLoadReport)],
    "aqua_runtime_get_budget": [s.RuntimeHandle, POINTER(s.CMemoryBudget)],
    "aqua_tensor_allocate": [s.RuntimeHandle, POINTER(s.CTensorOptions), POINTER(s.TensorHandle)],
    "aqua_tensor_free": [s.TensorHandle],
    "aqua_tensor_get_tier": [s.TensorHandle, POINTER(c_uint32)],
    "aqua_tensor_get_info": [s.TensorHandle, POINTER(s.CTensorInfo)],
    "aqua_tensor_pin": [
        s.TensorHandle, c_uint32, c_size_t, c_size_t, c_size_t, POINTER(s.PinHandle), _OUT_POINTER,
    ],
    "aqua_pin_get_info": [s.PinHandle, POINTER(s.CPinInfo)],
    "aqua_pin_release": [s.PinHandle],
    "aqua_pin_release_on": [s.PinHandle, c_size_t],
    "aqua_layout_create": [POINTER(ls.CLayoutSpec), POINTER(s.LayoutHandle)],
    "aqua_layout_create_mha": [
        POINTER(ls.CPagedShape), c_uint32, c_uint32, _PLANES, _PLANES, POINTER(s.LayoutHandle),
    ],
    "aqua_layout_create_mla": [POINTER(ls.CPagedShape), c_uint32, _PLANES, POINTER(s.LayoutHandle)],
    "aqua_layout_free": [s.LayoutHandle],
    "aqua_layout_get_info": [s.LayoutHandle, POINTER(ls.CLayoutInfo)],
    "aqua_layout_packed_bytes": [s.LayoutHandle, c_size_t, _OUT_SIZE],
    "aqua_layout_packed_offset": [
        s.LayoutHandle, c_uint32, c_uint32, c_size_t, c_size_t, _OUT_SIZE,
    ],
    "aqua_layout_range_bytes": [
        s.LayoutHandle, c_size_t, POINTER(ls.CKvRange), _OUT_SIZE,
    ],
    "aqua_offload_range": [
        s.LayoutHandle, c_void_p, c_size_t, POINTER(ls.CKvRange), s.TensorHandle, c_size_t,
        c_size_t, POINTER(s.TicketHandle),
    ],
    "aqua_fetch_range": [
        s.TensorHandle, s.LayoutHandle, c_void_p, c_size_t, POINTER(ls.CKvRange), c_size_t,
        c_size_t, POINTER(s.TicketHandle),
    ],
    "aqua_offload_pages": [
        s.LayoutHandle, c_void_p, c_size_t, POINTER(ls.CKvRange), s.TensorHandle,
        POINTER(ls.CTensorPages), c_size_t, POINTER(s.TicketHandle),
    ],
    "aqua_fetch_pages": [
        s.TensorHandle, POINTER(ls.CTensorPages), s.LayoutHandle, c_void_p, c_size_t,
        POINTER(ls.CKvRange), c_size_t, POINTER(s.TicketHandle),
    ],
    "aqua_offload": [
        s.LayoutHandle, c_void_p, c_size_t, s.TensorHandle, c_size_t, c_size_t,
        POINTER(s.TicketHandle),
    ],
    "aqua_fetch": [
        s.TensorHandle, s.LayoutHandle, c_void_p, c_size_t, c_size_t, c_size_t,
        POINTER(s.TicketHandle),
    ],
    "aqua_ticket_done": [s.TicketHandle, _OUT_INT],
    "aqua_ticket_wait": [s.TicketHandle],
    "aqua_ticket_layer_done": [s.TicketHandle, c_uint32, _OUT_INT],
    "aqua_ticket_stream_wait": [s.TicketHandle, c_size_t, c_uint32],
    "aqua_ticket_cancel": [s.TicketHandle],
    "aqua_ticket_get_bytes": [s.TicketHandle, _OUT_SIZE],
    "aqua_ticket_free": [s.TicketHandle],
    "aqua_reclaim_get_progress": [s.ReclaimHandle, POINTER(s.CReclaimProgress)],
    "aqua_reclaim_get_holder": [s.ReclaimHandle, c_size_t, POINTER(s.CHolder)],
    "aqua_reclaim_wait": [s.ReclaimHandle, POINTER(s.CReclaimProgress)],
    "aqua_reclaim_free": [s.ReclaimHandle],
    "aqua_pool_create": [s.RuntimeHandle, POINTER(s.CPoolOptions), POINTER(s.PoolHandle)],
    "aqua_pool_free": [s.PoolHandle],
    "aqua_pool_get_plane": [s.PoolHandle, c_size_t, _OUT_POINTER],
    "aqua_pool_get_info": [s.PoolHandle, POINTER(s.CPoolInfo)],
    "aqua_pool_lend": [s.PoolHandle, c_size_t, c_size_t],
    "aqua_layer_pool_create": [
        s.RuntimeHandle, POINTER(p.CLayerPoolOptions), POINTER(p.LayerPoolHandle),
    ],
    "aqua_layer_pool_free": [p.LayerPoolHandle],
    "aqua_layer_pool_get_plane": [p.LayerPoolHandle, c_uint32, c_uint32, _OUT_POINTER],
    "aqua_layer_pool_usable_blocks": [p.LayerPoolHandle, _OUT_UINT32],
    "aqua_layer_pool_usable_blocks_with": [p.LayerPoolHandle, c_uint32, _OUT_UINT32],
    "aqua_layer_pool_packed_bytes": [p.LayerPoolHandle, c_size_t, _OUT_SIZE],
    "aqua_layer_pool_get_status": [p.LayerPoolHandle, POINTER(p.CLayerPoolStatus)],
    "aqua_layer_pool_begin_step": [
        p.LayerPoolHandle, c_size_t, c_void_p, c_size_t, c_void_p, c_size_t,
    ],
    "aqua_layer_pool_begin_layer": [p.LayerPoolHandle, c_uint32],
    "aqua_layer_pool_end_layer": [p.LayerPoolHandle, c_uint32],
    "aqua_layer_pool_end_step": [p.LayerPoolHandle, POINTER(p.CStepLoad), POINTER(c_uint64)],
    "aqua_layer_pool_step_done": [p.LayerPoolHandle, c_uint64, _OUT_INT],
    "aqua_layer_pool_offload": [
        p.LayerPoolHandle, c_void_p, c_size_t, s.TensorHandle, c_size_t, c_size_t,
        POINTER(s.TicketHandle),
    ],
    "aqua_layer_pool_fetch": [
        p.LayerPoolHandle, s.TensorHandle, c_void_p, c_size_t, c_size_t, c_size_t,
        POINTER(s.TicketHandle),
    ],
    "aqua_layer_pool_resize": [p.LayerPoolHandle, c_uint32],
    "aqua_layer_pool_resize_with": [
        p.LayerPoolHandle, c_uint32, p.BlockPoolHandle, c_size_t, _OUT_INT,
    ],
    "aqua_layer_pool_propose": [p.LayerPoolHandle, _OUT_UINT32],
    "aqua_layer_pool_adapt": [p.LayerPoolHandle, p.BlockPoolHandle, c_size_t, _OUT_INT],
    "aqua_layer_pool_discard": [p.LayerPoolHandle],
    "aqua_block_pool_create": [c_uint32, c_uint32, POINTER(p.BlockPoolHandle)],
    "aqua_block_pool_free": [p.BlockPoolHandle],
    "aqua_block_pool_get_info": [p.BlockPoolHandle, POINTER(p.CBlockPoolInfo)],
    "aqua_block_pool_allocate": [p.BlockPoolHandle, c_uint64, c_uint32, _OUT_UINT32],
    "aqua_block_pool_release": [p.BlockPoolHandle, c_uint64],
    "aqua_block_pool_get_blocks": [
        p.BlockPoolHandle, c_uint64, _OUT_UINT32, c_size_t, _OUT_SIZE,
    ],
    "aqua_block_pool_get_sequences": [
        p.BlockPoolHandle, POINTER(c_uint64), c_size_t, _OUT_SIZE,
    ],
    "aqua_block_pool_resize": [
        p.BlockPoolHandle, c_uint32, POINTER(c_uint64), c_size_t, _OUT_SIZE,
    ],
    "aqua_block_pool_take_moves": [
        p.BlockPoolHandle, POINTER(p.CBlockMove), c_size_t, _OUT_SIZE,
    ],
    "aqua_block_pool_moved": [p.BlockPoolHandle, c_uint32],
    "aqua_block_pool_layer_ready": [p.BlockPoolHandle, c_uint32],
    "aqua_packer_create": [c_char_p, POINTER(k.CPackerOptions), POINTER(k.PackerHandle)],
    "aqua_packer_free": [k.PackerHandle],
    "aqua_packer_join": [k.PackerHandle, POINTER(k.CPackerEngine)],
    "aqua_packer_resize": [k.PackerHandle, c_uint64, c_uint64],
    "aqua_packer_drain": [k.PackerHandle, c_uint64],
    "aqua_packer_gone": [k.PackerHandle, c_uint64],
    "aqua_packer_lost": [k.PackerHandle, c_uint64, POINTER(POINTER(c_uint64)), _OUT_SIZE],
    "aqua_packer_arrive": [
        k.PackerHandle, POINTER(k.CPackerRequest), POINTER(k.CPackerPlacement),
    ],
    "aqua_packer_grew": [k.PackerHandle, c_uint64, c_uint64],
    "aqua_packer_ended": [k.PackerHandle, c_uint64],
    "aqua_packer_epoch": [k.PackerHandle, POINTER(k.CPackerPlan)],
    "aqua_packer_moved": [k.PackerHandle, c_uint64, c_uint64],
    "aqua_packer_failed": [k.PackerHandle, c_uint64, c_uint64],
    "aqua_packer_get_engine": [k.PackerHandle, c_uint64, POINTER(k.CPackerEngineStatus)],
    "aqua_packer_get_request": [k.PackerHandle, c_uint64, POINTER(k.CPackerRequestStatus)],
    "aqua_packer_get_status": [k.PackerHandle, POINTER(k.CPackerStatus)],
    "aqua_packer_divide": [
        POINTER(k.CPackerMove), c_size_t, POINTER(k.CPackerEngineBoundary), c_size_t,
        POINTER(k.CPackerServerBoundary), c_size_t, c_uint32, _OUT_UINT32,
    ],
    "aqua_emulated_allocate": [
        s.RuntimeHandle, c_size_t, POINTER(s.MemoryHandle), _OUT_POINTER,
    ],
    "aqua_emulated_free": [s.MemoryHandle],
    "aqua_emulated_stream_create": [s.RuntimeHandle, _OUT_SIZE],
    "aqua_emulated_stream_destroy": [s.RuntimeHandle, c_size_t],
    "aqua_emulated_synchronize": [s.RuntimeHandle, c_size_t],
    "aqua_emulated_write": [s.RuntimeHandle, c_size_t, c_void_p, c_void_p, c_size_t],
    "aqua_emulated_read": [s.RuntimeHandle, c_size_t, c_void_p, c_void_p, c_size_t],
    "aqua_emulated_launch": [s.RuntimeHandle, c_size_t, s.KernelFunction, c_void_p],
    "aqua_weights_attach": [s.RuntimeHandle, POINTER(w.CWeightsOptions), POINTER(w.WeightsHandle)],
    "aqua_weights_free": [w.WeightsHandle],
    "aqua_weights_get_info": [w.WeightsHandle, POINTER(w.CWeightsInfo)],
    "aqua_weights_get_tensor": [w.WeightsHandle, c_uint64, POINTER(w.CWeightTensor)],
    "aqua_weights_find": [w.WeightsHandle, c_char_p, POINTER(w.CWeightTensor)],
    "aqua_weights_verify": [w.WeightsHandle],
    "aqua_weights_suspend": [w.WeightsHandle],
    "aqua_weights_resume": [w.WeightsHandle],
    "aqua_weights_publish": [
        s.RuntimeHandle, POINTER(w.CWeightsOptions), POINTER(w.CWeightSpec), c_size_t,
        POINTER(w.WeightsPublisherHandle),
    ],
    "aqua_weights_publisher_write": [
        w.WeightsPublisherHandle, c_uint64, c_uint64, c_void_p, c_uint64,
    ],
    "aqua_weights_publisher_commit": [w.WeightsPublisherHandle],
    "aqua_weights_publisher_free": [w.WeightsPublisherHandle],
    "aqua_kv_pool_attach": [
        s.RuntimeHandle, POINTER(kv.CKvPoolOptions), POINTER(kv.KvPoolHandle),
    ],
    "aqua_kv_pool_free": [kv.KvPoolHandle],
    "aqua_kv_pool_get_status": [kv.KvPoolHandle, POINTER(kv.CKvPoolStatus)],
    "aqua_kv_pool_get_plane": [kv.KvPoolHandle, c_uint32, c_uint32, _OUT_POINTER],
    "aqua_kv_pool_create_layout": [kv.KvPoolHandle, POINTER(s.LayoutHandle)],
    "aqua_kv_pool_allocate": [kv.KvPoolHandle, c_size_t, c_void_p],
    "aqua_kv_pool_release": [kv.KvPoolHandle, c_void_p, c_size_t, c_size_t],
    "aqua_kv_pool_share": [kv.KvPoolHandle, c_void_p, c_size_t],
    "aqua_kv_pool_hand_over": [kv.KvPoolHandle, POINTER(kv.CParcel), c_char_p, c_size_t],
    "aqua_kv_pool_undelivered": [
        kv.KvPoolHandle, POINTER(POINTER(POINTER(kv.CUndelivered))), _OUT_SIZE,
    ],
    "aqua_kv_pool_open": [kv.KvPoolHandle, c_char_p, c_uint64, c_char_p, POINTER(c_uint64)],
    "aqua_kv_pool_get_parcel_state": [kv.KvPoolHandle, c_uint64, _OUT_UINT32],
    "aqua_kv_pool_close": [kv.KvPoolHandle, c_uint64, POINTER(kv.CParcel), c_size_t],
    "aqua_kv_pool_recall": [kv.KvPoolHandle, c_uint64],
    "aqua_kv_pool_cancel_parcel": [c_char_p, c_char_p, c_char_p],
    "aqua_kv_pool_move_quota": [c_char_p, c_char_p, c_char_p, c_uint32, c_char_p],
    "aqua_kv_pool_release_quarantined": [c_char_p, c_char_p],
    "aqua_kv_pool_remove": [c_char_p, c_char_p],
    "aqua_kv_pool_deliveries": [
        kv.KvPoolHandle, POINTER(POINTER(POINTER(kv.CDelivery))), _OUT_SIZE,
    ],
    "aqua_kv_pool_accept": [
        kv.KvPoolHandle, c_size_t, POINTER(POINTER(POINTER(kv.CParcel))), _OUT_SIZE,
    ],
    "aqua_kv_pool_confirm": [kv.KvPoolHandle, c_uint64],
    "aqua_kv_pool_finish": [kv.KvPoolHandle, c_uint64, c_size_t],
    "aqua_kv_pool_superseded": [kv.KvPoolHandle, POINTER(POINTER(c_uint64)), _OUT_SIZE],
    "aqua_kv_pool_cut_off": [
        kv.KvPoolHandle, POINTER(POINTER(POINTER(kv.CParcelHead))), _OUT_SIZE,
    ],
    "aqua_kv_pool_wait": [kv.KvPoolHandle, c_uint32, _OUT_INT],
    **kv_stream_calls.CALLS,
}

# What returns something else.
QUERIES: "dict[str, tuple[Any, list[Any]]]" = {
    "aqua_error_code": (c_uint32, [c_void_p]),
    "aqua_error_message": (c_char_p, [c_void_p]),
    "aqua_error_free": (None, [c_void_p]),
    "aqua_code_name": (c_char_p, [c_uint32]),
    "aqua_tier_name": (c_char_p, [c_uint32]),
    "aqua_budget_reason_name": (c_char_p, [c_uint32]),
    "aqua_packer_policy": (c_char_p, [c_size_t]),
    "aqua_packer_reason_name": (c_char_p, [c_uint32]),
    "aqua_version": (c_uint32, []),
    "aqua_version_string": (c_char_p, []),
    "aqua_has_feature": (c_int, [c_char_p]),
    "aqua_emulated_view": (c_void_p, [c_void_p]),
}


def declare(library: ctypes.CDLL) -> ctypes.CDLL:
    for name, parameters in CALLS.items():
        function = getattr(library, name)
        function.argtypes = parameters
        function.restype = c_void_p
    for name, (result, parameters) in QUERIES.items():
        function = getattr(library, name)
        function.argtypes = parameters
        function.restype = result
    return library


lib: Any = declare(load())
