# SPDX-License-Identifier: Apache-2.0
"""Block lists as the library wants them: uint32, one after another."""

from __future__ import annotations

import array
import ctypes
from typing import Any, Sequence, Tuple, Union, cast

# Block numbers: a sequence of int, or an array of integers (NumPy, array.array).
BlockList = Union[Sequence[int], Any]

_UINT32 = "I" if array.array("I").itemsize == 4 else "L"


def to_uint32(blocks: BlockList, what: str = "blocks") -> Tuple[object, int, int]:
    """What keeps the numbers alive, their address, how many. `what` names them in errors.

    Writable arrays of 32 bits are passed on as they lie; a negative int32 is then a number that no
    layout has, which the library refuses."""
    if isinstance(blocks, (list, tuple, range)):
        return _copied(blocks, what)
    try:
        # Not __array_interface__, which takes NumPy four times as long.
        view = memoryview(cast(Any, blocks))
    except (TypeError, ValueError):
        return _copied(blocks, what)
    if view.ndim != 1:
        raise ValueError(f"{what}: one dimension is wanted, the shape is {view.shape}")
    if view.format not in _INTEGERS or isinstance(blocks, (bytes, bytearray)):
        raise TypeError(f"{what}: integers are wanted, the format is {view.format!r}")
    count = len(view)
    if view.format in "iI" and view.itemsize == 4 and view.contiguous and not view.readonly:
        address = ctypes.addressof(ctypes.c_char.from_buffer(view)) if count else 0
        return view, address, count
    return _copied(blocks, what)


_INTEGERS = frozenset(order + kind for order in ("", "@", "=", "<", ">") for kind in "bBhHiIlLqQ")


def _copied(blocks: BlockList, what: str) -> Tuple[object, int, int]:
    try:
        numbers = array.array(_UINT32, blocks)
    except OverflowError:
        raise ValueError(f"{what}: numbers from 0 to 2**32 - 1 are wanted") from None
    except TypeError:
        raise TypeError(f"{what}: a sequence of integers is wanted") from None
    address, count = numbers.buffer_info()
    return numbers, address, count
