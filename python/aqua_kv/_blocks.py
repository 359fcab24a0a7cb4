"""Block lists as the library wants them: uint32, one after another."""

from __future__ import annotations

import array
from typing import Any, Sequence, Tuple, Union

from .arrays import host_span

# Block numbers: a sequence of int, or an array of integers (NumPy, array.array).
BlockList = Union[Sequence[int], Any]

_UINT32 = "I" if array.array("I").itemsize == 4 else "L"


def to_uint32(blocks: BlockList) -> Tuple[object, int, int]:
    """What keeps the numbers alive, their address, how many.

    Arrays of 32 bits are passed on as they lie; a negative int32 is then a number that no layout
    has, which the library refuses."""
    interface = getattr(blocks, "__array_interface__", None)
    if interface is None:
        return _copied(blocks)
    typestr: str = interface["typestr"]
    if typestr[1] not in "iu":
        raise TypeError(f"blocks: an array of integers is wanted, this one is {typestr}")
    if len(interface["shape"]) != 1:
        raise ValueError(f"blocks: one dimension is wanted, the shape is {interface['shape']}")
    if typestr[2:] != "4" or typestr[0] == ">" or interface.get("strides") is not None:
        return _copied(blocks)
    span = host_span(blocks, "blocks", writable=False)
    return blocks, span.address, span.shape[0]


def _copied(blocks: BlockList) -> Tuple[object, int, int]:
    if isinstance(blocks, (bytes, bytearray, memoryview)):
        raise TypeError("blocks: a sequence of integers is wanted, not bytes")
    try:
        numbers = array.array(_UINT32, blocks)
    except OverflowError:
        raise ValueError("blocks: numbers from 0 to 2**32 - 1 are wanted") from None
    except TypeError:
        raise TypeError("blocks: a sequence of integers is wanted") from None
    address, count = numbers.buffer_info()
    return numbers, address, count
