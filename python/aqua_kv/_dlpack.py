# SPDX-License-Identifier: Apache-2.0
"""Reads where the memory of a DLPack capsule lies, without taking it over: the capsule stays the
producer's, and its own destructor frees it; and makes capsules of memory that is only to be read
(struct layouts: dlpack.h, versions 0.x and 1.x)."""

from __future__ import annotations

import ctypes
import sys
from ctypes import c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

CPU = 1
CUDA = 2
CUDA_HOST = 3
CUDA_MANAGED = 13
Device = Tuple[int, int]  # of these, and its number
_FLAG_READ_ONLY = 1
_VERSION = (1, 0)  # the first that can say so
_UNUSED = b"dltensor_versioned"  # the name of a capsule that nobody has taken over


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
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [c_void_p, ctypes.c_char_p, c_void_p]

# The capsules, each with what it refers to, by the address of its struct, until whoever took it over
# calls the deleter, or drop_unused() finds that nobody did. They have no destructor: NumPy drops a
# capsule that it cannot read while its exception is pending, and Python code fails in that state.
_given: Dict[int, Tuple[object, ...]] = {}


def _let_go(struct: int) -> None:
    _given.pop(struct, None)


def drop_unused() -> None:
    """Frees the capsules that nobody took over and that are referred to here alone. Any thread may
    call it: nobody can get such a capsule any more, and `held` keeps its address from being reused."""
    for at in list(_given):  # a copy: a deleter may run at any time
        held = _given.get(at)
        if held is None:
            continue
        alone = sys.getrefcount(held[0]) == 2  # by the tuple, and by the call itself
        if alone and _is_valid(held[0], _UNUSED):
            _given.pop(at, None)


_deleter = ctypes.CFUNCTYPE(None, c_void_p)(_let_go)  # takes the GIL: its caller may not have it


# DLPack's codes of NumPy's kinds. What NumPy has no kind for is told by its name.
_KINDS = {"i": 0, "u": 1, "f": 2, "b": 6}
_NAMED = {("BF16", "<V2"): 4}


def read_only_capsule(
    address: int,
    device: Optional[Device],
    shape: Tuple[int, ...],
    strides: Tuple[int, ...],
    typestr: str,
    type_name: str,
    keep: object,
    asked: Dict[str, Any],
) -> object:
    """Of memory that is not to be written, which `keep` keeps. `strides` in bytes, `asked`: the
    keywords of __dlpack__(). BufferError: it cannot be given so."""
    version = asked.pop("max_version", None)
    wanted = asked.pop("dl_device", None)
    copy = asked.pop("copy", None)
    asked.pop("stream", None)  # the memory was complete before it was published
    if asked:
        raise TypeError(f"__dlpack__() takes no {', '.join(asked)}")
    if version is None or tuple(version) < _VERSION:
        raise BufferError("memory that is read-only needs DLPack 1.0: ask with max_version=(1, 0)")
    if device is None:
        raise BufferError("DLPack has no name for this device, or only work on it reaches its memory")
    if copy or (wanted is not None and tuple(wanted) != device):
        raise BufferError(f"it lies on DLPack device {device}, and is not copied")
    item_bytes = int(typestr[2:])
    code = _NAMED.get((type_name, typestr), _KINDS.get(typestr[1]))
    if code is None or typestr[0] == ">" or any(step % item_bytes for step in strides):
        raise BufferError(f"{type_name} as {typestr} with strides {strides} is nothing to DLPack")
    axes = c_int64 * len(shape)
    lengths, steps = axes(*shape), axes(*(step // item_bytes for step in strides))
    struct = _Versioned(*_VERSION, None, ctypes.cast(_deleter, c_void_p), _FLAG_READ_ONLY)
    tensor = struct.tensor
    tensor.data = address
    tensor.device_type, tensor.device_id = device
    tensor.ndim = len(shape)
    tensor.type_code, tensor.type_bits, tensor.type_lanes = code, 8 * item_bytes, 1
    tensor.shape = ctypes.cast(lengths, ctypes.POINTER(c_int64))
    tensor.strides = ctypes.cast(steps, ctypes.POINTER(c_int64))
    at = ctypes.addressof(struct)
    drop_unused()
    capsule = _new_capsule(at, _UNUSED, None)
    _given[at] = (capsule, struct, lengths, steps, keep)
    return capsule


def describe(array: Any) -> Described:
    try:
        capsule = array.__dlpack__(max_version=_VERSION)
    except TypeError:  # a producer from before version 1
        capsule = array.__dlpack__()
    read_only = False
    if _is_valid(capsule, _UNUSED):
        versioned = _Versioned.from_address(_get_pointer(capsule, _UNUSED))
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
