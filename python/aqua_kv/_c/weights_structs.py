# SPDX-License-Identifier: Apache-2.0
"""The structs of include/aqua/c/weights.h, as structs.py has the others."""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_size_t, c_uint32, c_uint64, c_void_p
from typing import ClassVar

from .structs import Fields, Sized

AXES = 8


class WeightsHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


class WeightsPublisherHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


class CWeightsOptions(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("model", c_char_p),
        ("version", c_char_p),
        ("shard", c_uint32),
        ("shards", c_uint32),
        ("keeper", c_char_p),
        ("patience_ms", c_uint32),
    ]


class CWeightsInfo(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("tensors", c_uint64),
        ("bytes", c_uint64),
        ("version", c_char_p),
        ("enforced", c_uint32),
        ("is_suspended", c_uint32),
    ]


class CWeightTensor(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("address", c_void_p),
        ("bytes", c_uint64),
        ("name", c_char_p),
        ("type", c_char_p),
        ("block_elements", c_uint32),
        ("block_bytes", c_uint32),
        ("axes", c_uint32),
        ("shape", c_uint64 * AXES),
        ("strides", c_uint64 * AXES),
    ]


class CWeightSpec(ctypes.Structure):
    _fields_: ClassVar[Fields] = [
        ("name", c_char_p),
        ("type", c_char_p),
        ("block_elements", c_uint32),
        ("block_bytes", c_uint32),
        ("axes", c_uint32),
        ("shape", c_uint64 * AXES),
    ]
