# SPDX-License-Identifier: Apache-2.0
"""Numbers on their way into the library: ctypes would cut off what does not fit."""

from __future__ import annotations

import operator
from typing import Any, Optional, Union

# The default stream, a stream's number, or an object that has one: torch.cuda.Stream (its
# cuda_stream), cuda.core's (its __cuda_stream__), emulated.Stream (its native).
Stream = Union[int, Any]


def size(value: Any, what: str, most: int = 2**63 - 1, wanted: str = "an int") -> int:
    if type(value) is int and 0 <= value <= most:  # nearly always
        return value
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: {wanted}, not {type(value).__name__}") from None
    if not 0 <= number <= most:
        raise ValueError(f"{what} is {number}; 0 to {most} is possible")
    return number


def uint32(value: Any, what: str, wanted: str = "an int") -> int:
    return size(value, what, 2**32 - 1, wanted)


def native_stream(stream: Stream) -> int:
    if type(stream) is int:
        return stream if stream == 0 else size(stream, "stream", 2**64 - 1)
    if stream is None:
        raise TypeError("stream: 0 is the default stream, None is none")
    for name in ("native", "cuda_stream", "ptr"):
        number = getattr(stream, name, None)
        if isinstance(number, int):
            return number
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return size(protocol()[1], "stream", 2**64 - 1)
    raise TypeError(f"stream: a {type(stream).__name__} is no stream")


def text(value: Optional[str]) -> Optional[bytes]:
    """UTF-8, or NULL for an empty one."""
    if not value:
        return None
    encoded = value.encode()
    if b"\0" in encoded:
        raise ValueError(f"{value!r} has a zero inside")
    return encoded
