# SPDX-License-Identifier: Apache-2.0
"""The structs of include/aqua/c/kv_pool.h, as structs.py has the others."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char, c_char_p, c_size_t, c_uint32, c_uint64, c_void_p
from typing import ClassVar

from .structs import Fields, Sized

MAX_NOTE_BYTES = 4096


class KvPoolHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


class CKvPoolShape(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("layers", c_uint32),
        ("planes_per_layer", c_uint32),
        ("plane_block_bytes", c_size_t),
        ("tokens_per_block", c_uint32),
        ("blocks", c_uint32),
        ("format", c_char_p),
    ]


class CKvPoolOptions(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("role", c_char_p),
        ("shape", POINTER(CKvPoolShape)),
        ("slab_bytes", c_size_t),
        ("keeper", c_char_p),
        ("reserve", c_uint32),
        ("quota_blocks", c_uint32),
    ]


class CKvPoolStatus(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("idle", c_size_t),
        ("used", c_size_t),
        ("taken", c_size_t),
        ("ready", c_size_t),
        ("waiting", c_uint32),
        ("connected", c_uint32),
        ("error", c_char * 256),
    ]


class CParcel(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("number", c_uint64),
        ("id", c_char_p),
        ("turn", c_uint64),
        ("blocks", c_void_p),
        ("block_count", c_size_t),
        ("note", c_void_p),
        ("note_bytes", c_size_t),
        ("tokens", c_uint32),
        ("tail_in_doubt", c_uint32),
    ]


class CUndelivered(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("parcel", POINTER(CParcel)),
        ("role", c_char_p),
        ("message", c_char_p),
        ("code", c_uint32),
        ("in_doubt", c_uint32),
    ]


class CParcelHead(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("id", c_char_p),
        ("turn", c_uint64),
    ]


class CDelivery(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("number", c_uint64),
        ("message", c_char_p),
        ("code", c_uint32),
        ("outcome", c_uint32),
        ("returned", c_uint32),
    ]
