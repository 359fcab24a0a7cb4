# SPDX-License-Identifier: Apache-2.0
"""The structs of include/aqua/c/streamer.h, as structs.py has the others."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from typing import ClassVar

from .structs import Fields, Sized

MAX_WORDS_BYTES = 3072

WantedFunction = ctypes.CFUNCTYPE(c_int, c_void_p, c_uint64)


class StreamerHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


class StreamOutHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


class StreamInHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


class CKvShape(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("layers", c_uint32),
        ("planes_per_layer", c_uint32),
        ("kv_heads", c_uint32),
        ("tokens_per_block", c_uint32),
        ("head_bytes", c_size_t),
        ("format", c_char_p),
    ]


class CParallelism(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("stage_layers", POINTER(c_uint32)),
        ("stage_layer_count", c_size_t),
        ("heads", POINTER(c_uint32)),
        ("head_count", c_size_t),
        ("tensor_ranks", c_uint32),
    ]


class CStreamGroup(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("shape", POINTER(CKvShape)),
        ("parallelism", POINTER(CParallelism)),
    ]


class CStreamerOptions(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("group", c_char_p),
        ("shape", POINTER(CKvShape)),
        ("parallelism", POINTER(CParallelism)),
        ("others", POINTER(POINTER(CStreamGroup))),
        ("other_count", c_size_t),
        ("name", c_char_p),
        ("keeper", c_char_p),
        ("parcel_bytes", c_size_t),
        ("rank", c_uint32),
        ("ready", c_uint32),
    ]


class CStreamerStatus(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("refused", c_uint64),
        ("giving", c_size_t),
        ("taken", c_size_t),
        ("ready", c_size_t),
        ("connected", c_uint32),
        ("error", c_char * 256),
        ("keeper_error", c_char * 256),
        ("arrived", c_uint64),
        ("cut_off", c_uint64),
    ]


class CStreamOutOptions(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("sequence", c_uint64),
        ("to", c_char_p),
        ("blocks", c_void_p),
        ("block_count", c_size_t),
        ("tokens", c_uint32),
        ("attempt", c_uint32),
    ]


class CCutOff(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("sequence", c_uint64),
        ("attempt", c_uint32),
    ]


class CArrived(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("sequence", c_uint64),
        ("words", c_void_p),
        ("words_bytes", c_size_t),
        ("attempt", c_uint32),
        ("tokens", c_uint32),
    ]
