# SPDX-License-Identifier: Apache-2.0
"""The structs of include/aqua/c/packer.h, as structs.py has the others."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_double, c_size_t, c_uint32, c_uint64
from typing import ClassVar

from .structs import Fields, Sized


class PackerHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


class CPackerOptions(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("watermark", c_double),
        ("max_moves", c_uint32),
        ("max_move_tokens", c_uint64),
        ("reserve", c_uint32),
        ("near_slack", c_double),
        ("balance_gap", c_double),
        ("block_tokens", c_uint64),
        ("bytes_per_token", c_uint64),
    ]


class CPackerEngine(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("id", c_uint64),
        ("kv_tokens", c_uint64),
        ("server", c_uint64),
        ("domain", c_uint64),
        ("wake_cost", c_double),
    ]


class CPackerRequest(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("id", c_uint64),
        ("tokens", c_uint64),
        ("max_new", c_uint64),
        ("prefix", c_uint64),
        ("prefix_tokens", c_uint64),
    ]


class CPackerPlacement(ctypes.Structure):
    _fields_: ClassVar[Fields] = [
        ("request", c_uint64),
        ("engine", c_uint64),
        ("reason", c_uint32),
        ("wakes", c_uint32),
    ]


class CPackerMove(ctypes.Structure):
    _fields_: ClassVar[Fields] = [
        ("request", c_uint64),
        ("from", c_uint64),
        ("to", c_uint64),
        ("tokens", c_uint64),
        ("bytes", c_uint64),
        ("reason", c_uint32),
        ("stage", c_uint32),
        ("dropped", c_uint32),
    ]


class CPackerPreemption(ctypes.Structure):
    _fields_: ClassVar[Fields] = [
        ("request", c_uint64),
        ("engine", c_uint64),
        ("tokens", c_uint64),
    ]


class CPackerCertificate(ctypes.Structure):
    _fields_: ClassVar[Fields] = [
        ("engines", c_uint64),
        ("bound", c_uint64),
        ("within", c_uint32),
        ("properties", c_uint32),
    ]


class CPackerPlan(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("number", c_uint64),
        ("preemptions", POINTER(CPackerPreemption)),
        ("preemption_count", c_size_t),
        ("wake", POINTER(c_uint64)),
        ("wake_count", c_size_t),
        ("moves", POINTER(CPackerMove)),
        ("move_count", c_size_t),
        ("placements", POINTER(CPackerPlacement)),
        ("placement_count", c_size_t),
        ("freed", POINTER(c_uint64)),
        ("freed_count", c_size_t),
        ("drained", POINTER(c_uint64)),
        ("drained_count", c_size_t),
        ("too_large", POINTER(c_uint64)),
        ("too_large_count", c_size_t),
        ("move_limit", c_uint64),
        ("certificate", CPackerCertificate),
    ]


class CPackerEngineStatus(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("state", c_uint32),
        ("kv_tokens", c_uint64),
        ("usable_tokens", c_uint64),
        ("held_tokens", c_uint64),
        ("leaving_tokens", c_uint64),
        ("residents", c_uint32),
        ("coming", c_uint32),
        ("leaving", c_uint32),
    ]


class CPackerRequestStatus(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("state", c_uint32),
        ("engine", c_uint64),
        ("from", c_uint64),
        ("own_tokens", c_uint64),
        ("prefix_tokens", c_uint64),
    ]


class CPackerStatus(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("waiting", c_size_t),
        ("resident", c_size_t),
        ("moving", c_size_t),
        ("asleep", c_size_t),
        ("active", c_size_t),
        ("draining", c_size_t),
        ("held_tokens", c_uint64),
        ("held_bytes", c_uint64),
        ("moves", c_uint64),
        ("moved_tokens", c_uint64),
        ("moved_bytes", c_uint64),
        ("preemptions", c_uint64),
        ("looked_at", c_uint64),
    ]


class CPackerEngineBoundary(ctypes.Structure):
    _fields_: ClassVar[Fields] = [
        ("engine", c_uint64),
        ("server", c_uint64),
        ("bytes_in", c_uint64),
        ("bytes_out", c_uint64),
        ("prefill_tokens", c_uint64),
    ]


class CPackerServerBoundary(ctypes.Structure):
    _fields_: ClassVar[Fields] = [
        ("server", c_uint64),
        ("bytes_in", c_uint64),
        ("bytes_out", c_uint64),
    ]
