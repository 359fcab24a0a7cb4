# SPDX-License-Identifier: Apache-2.0
"""The structs of include/aqua/c/layer_pool.h and block_pool.h, as structs.py has the others."""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_char_p, c_double, c_size_t, c_uint32, c_uint64, c_void_p
from typing import ClassVar

from .structs import NAME_BYTES, Fields, Sized


class LayerPoolHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


class BlockPoolHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


# block_pool.h
class CBlockMove(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("sequence", c_uint64), ("from", c_uint32), ("to", c_uint32)]


class CBlockPoolInfo(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("layers", c_uint32),
        ("usable_blocks", c_uint32),
        ("target_blocks", c_uint32),
        ("free_blocks", c_uint32),
        ("resizing", c_uint32),
        ("vacated", c_uint32),
    ]


# layer_pool.h
class CLayerPoolChange(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("frames", c_uint32),
        ("usable_blocks", c_uint32),
        ("preempt", ctypes.POINTER(c_uint64)),
        ("preempt_count", c_size_t),
        ("moved", ctypes.POINTER(CBlockMove)),
        ("moved_count", c_size_t),
        ("done", c_uint32),
    ]


ChangeFunction = ctypes.CFUNCTYPE(None, c_void_p, ctypes.POINTER(CLayerPoolChange))


class CLayerPoolOptions(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("layers", c_uint32),
        ("planes_per_layer", c_uint32),
        ("block_bytes", c_size_t),
        ("device_bytes", c_size_t),
        ("frames", c_uint32),
        ("goal", c_char_p),
        ("user", c_void_p),
        ("on_resize", ChangeFunction),
        ("schedule", c_char_p),
        ("slab_bytes", c_size_t),
        ("name", c_char_p),
    ]


class CStepLoad(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("blocks_used", c_uint32),
        ("blocks_wanted", c_uint32),
    ]


class CLayerPoolStatus(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("frames", c_uint32),
        ("usable_blocks", c_uint32),
        ("streamed_layers", c_uint32),
        ("proposed_frames", c_uint32),
        ("steps", c_uint64),
        ("fetched_bytes", c_uint64),
        ("written_bytes", c_uint64),
        ("away_bytes", c_size_t),
        ("away_peer_bytes", c_size_t),
        ("resizes", c_uint64),
        ("compute_seconds", c_double),
        ("stall_seconds", c_double),
        ("fetch_seconds", c_double),
        ("write_seconds", c_double),
        ("reason", c_char * NAME_BYTES),
    ]
