# SPDX-License-Identifier: Apache-2.0
"""The structs of include/aqua/c/replicator.h and replica_reader.h, as structs.py has the others."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char, c_char_p, c_size_t, c_uint32, c_uint64, c_void_p
from typing import ClassVar

from .structs import Fields, Sized

MAX_SAMPLER_BYTES = 4096


class ReplicatorHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


class ReplicaReaderHandle(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("id", c_uint64)]


class CReplicaOwner(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("group", c_char_p),
        ("life", c_char_p),
        ("stage", c_uint32),
        ("rank", c_uint32),
    ]


class CReplicatorOptions(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("owner", POINTER(CReplicaOwner)),
        ("shape", c_char_p),
        ("keeper", c_char_p),
        ("term", c_uint64),
        ("pack_bytes", c_size_t),
        ("max_bytes", c_size_t),
        ("background_bytes", c_size_t),
        ("lag_tokens", c_uint32),
        ("pack_steps", c_uint32),
        ("digest", c_uint32),
    ]


class CReplicatorStatus(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("sequences", c_size_t),
        ("unprotected", c_size_t),
        ("copied_bytes", c_uint64),
        ("rewritten_bytes", c_uint64),
        ("packs_committed", c_uint64),
        ("packs_failed", c_uint64),
        ("steps_unprotected", c_uint64),
        ("packs_kept", c_size_t),
        ("kept_bytes", c_size_t),
        ("error", c_char * 256),
        ("most_lag", c_uint32),
        ("connected", c_uint32),
    ]


class CWrittenTokens(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("sequence", c_uint64),
        ("blocks", c_void_p),
        ("block_count", c_size_t),
        ("ids", c_void_p),
        ("id_count", c_size_t),
        ("sampler", c_char_p),
        ("sampler_bytes", c_size_t),
        ("first", c_uint32),
    ]


class CReplicaReaderOptions(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("owner", POINTER(CReplicaOwner)),
        ("shape", c_char_p),
        ("keeper", c_char_p),
        ("term", c_uint64),
        ("patience_ms", c_uint32),
    ]


class CReplicaReaderStatus(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("packs", c_size_t),
        ("refused", c_size_t),
        ("unopened", c_size_t),
        ("error", c_char * 256),
        ("other_lives", c_size_t),
    ]


class CRestoreOptions(Sized):
    _fields_: ClassVar[Fields] = [
        ("struct_size", c_size_t),
        ("sequence", c_uint64),
        ("ids", c_void_p),
        ("id_count", c_size_t),
        ("blocks", c_void_p),
        ("block_count", c_size_t),
        ("tokens", c_uint32),
    ]
