# SPDX-License-Identifier: Apache-2.0
"""The structs of include/aqua/c/microbatch_swap.h, as structs.py has the others."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_size_t, c_uint32, c_uint64
from typing import ClassVar

from .structs import Fields, LayoutHandle, Sized

NEXT_IN_ORDER = 2**32 - 1


class MicrobatchSwapHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


class CMicrobatchSwapOptions(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("buffers", POINTER(LayoutHandle)),
        ("buffer_count", c_size_t),
        ("name", c_char_p),
        ("microbatches", c_uint32),
    ]


class CMicrobatchSwapStatus(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("turns", c_uint64),
        ("foreseen", c_uint64),
        ("unforeseen", c_uint64),
        ("fetched_bytes", c_uint64),
        ("written_bytes", c_uint64),
        ("away_bytes", c_size_t),
        ("away_peer_bytes", c_size_t),
    ]
