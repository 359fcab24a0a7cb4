# SPDX-License-Identifier: Apache-2.0
"""Reads where the memory of a DLPack capsule lies, without taking it over: the capsule stays the
producer's, and its own destructor frees it (struct layouts: dlpack.h, versions 0.x and 1.x)."""

from __future__ import annotations

import ctypes
from ctypes import c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any, Tuple

CPU = 1
CUDA = 2
CUDA_HOST = 3
CUDA_MANAGED = 13
_FLAG_READ_ONLY = 1


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("type_code", c_uint8),
        ("type_bits", c_uint8),
        ("type_lanes", c_uint16),
        ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)),  # in elements; NULL: C order
        ("byte_offset", c_uint64),
    ]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager_context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", _Tensor),
    ]


@dataclass(frozen=True)
class Described:
    address: int
    device_type: int
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]  # in bytes
    item_bytes: int
    read_only: bool
    capsule: object  # keeps the memory


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype = ctypes.c_int
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype = c_void_p
_get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def describe(array: Any) -> Described:
    try:
        capsule = array.__dlpack__(max_version=(1, 0))
    except TypeError:  # a producer from before version 1
        capsule = array.__dlpack__()
    read_only = False
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_get_pointer(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise TypeError(f"DLPack version {versioned.major} is not known here")
        read_only = bool(versioned.flags & _FLAG_READ_ONLY)
        tensor = versioned.tensor
    elif _is_valid(capsule, b"dltensor"):
        tensor = _Tensor.from_address(_get_pointer(capsule, b"dltensor"))
    else:
        raise TypeError(f"{type(array).__name__}.__dlpack__() gave no usable DLPack capsule")
    item_bytes = (tensor.type_bits * tensor.type_lanes + 7) // 8
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    if tensor.strides:
        strides = tuple(tensor.strides[i] * item_bytes for i in range(tensor.ndim))
    else:
        strides = c_order(shape, item_bytes)
    return Described(
        (tensor.data or 0) + tensor.byte_offset, tensor.device_type, shape, strides, item_bytes,
        read_only, capsule,
    )


def c_order(shape: Tuple[int, ...], item_bytes: int) -> Tuple[int, ...]:
    """Strides in bytes of a dense array, last index fastest."""
    strides = []
    step = item_bytes
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))
