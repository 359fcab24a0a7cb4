# SPDX-License-Identifier: Apache-2.0
"""Errors of the library as exceptions."""

from __future__ import annotations

import enum
from typing import NoReturn, Optional

from ._library import lib


class Code(enum.IntEnum):
    """What the caller does next; the values of aqua_code (aqua/c/error.h)."""

    OK = 0
    INVALID_ARGUMENT = 1  # the call is wrong; mend it
    NOT_FOUND = 2  # no such object (any more): closed, or freed
    ALREADY_EXISTS = 3  # done before, or the name is taken
    FAILED_PRECONDITION = 4  # something else must change first
    PERMISSION_DENIED = 5  # not yours, or a secret did not match
    RESOURCE_EXHAUSTED = 6  # no space, over a limit; free something
    UNAVAILABLE = 7  # the other side is away; repeat this call later
    ABORTED = 8  # overtaken; start the whole step again
    DEADLINE_EXCEEDED = 9  # the message says what is done so far
    CANCELLED = 10  # the caller asked for it
    DATA_LOSS = 11  # the bytes are gone; recompute them
    UNIMPLEMENTED = 12  # this build or device cannot
    INTERNAL = 13  # a bug of libaqua's, or a driver error with no better name


class Error(Exception):
    """What a call of libaqua answered. `code` says what to do next, `message` names the call and
    the values. Arguments that never reach the library raise TypeError or ValueError instead."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code.name.lower()}: {self.message}"


def raise_error(error: int) -> NoReturn:
    """Raises what the error object says, and frees it."""
    try:
        number: int = lib.aqua_error_code(error)
        message: bytes = lib.aqua_error_message(error)
    finally:
        lib.aqua_error_free(error)
    try:
        code = Code(number)
    except ValueError:  # of a newer library
        code = Code.INTERNAL
    raise Error(code, message.decode("utf-8", "replace"))


def check(error: Optional[int]) -> None:
    """Raises what a call answered, if it did not succeed."""
    if error:
        raise_error(error)
