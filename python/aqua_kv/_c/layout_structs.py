# SPDX-License-Identifier: Apache-2.0
"""The structs of include/aqua/c/layout.h and transfer.h, as structs.py has those of others."""

from __future__ import annotations

import ctypes
from ctypes import c_size_t, c_uint32, c_void_p
from typing import ClassVar

from .structs import Fields, Sized


# layout.h
class CLayoutSpec(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("layers", c_uint32),
        ("planes_per_layer", c_uint32),
        ("planes", ctypes.POINTER(c_void_p)),
        ("plane_count", c_size_t),
        ("block_count", c_uint32),
        ("tokens_per_block", c_uint32),
        ("heads", c_uint32),
        ("runs_per_head", c_uint32),
        ("block_stride", c_size_t),
        ("token_stride", c_size_t),
        ("head_stride", c_size_t),
        ("run_stride", c_size_t),
        ("run_bytes", c_size_t),
    ]


class CPagedShape(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("layers", c_uint32),
        ("block_count", c_uint32),
        ("tokens_per_block", c_uint32),
        ("element_bytes", c_uint32),
        ("order", c_uint32),
    ]


class CLayoutInfo(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("layers", c_uint32),
        ("planes_per_layer", c_uint32),
        ("block_count", c_uint32),
        ("tokens_per_block", c_uint32),
        ("heads", c_uint32),
        ("runs_per_head", c_uint32),
        ("plane_block_bytes", c_size_t),
        ("block_bytes", c_size_t),
    ]


class CKvRange(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("first_layer", c_uint32),
        ("layer_count", c_uint32),
        ("first_token", c_uint32),
        ("token_count", c_uint32),
        ("first_head", c_uint32),
        ("head_count", c_uint32),
    ]


# transfer.h
class CTensorPages(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("count", c_uint32),
        ("pages", c_void_p),
        ("offset", c_size_t),
    ]
