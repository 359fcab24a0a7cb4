# SPDX-License-Identifier: Apache-2.0
"""Objects that own a handle of the library.

A handle is a number that the library looks up, so one that is stale is an error of it
(not_found, or failed_precondition in a forked child), never memory that is gone: what is left to
do here is to free each once. Closing a runtime frees what still belongs to it; the Python objects
then hold stale handles, and closing them does nothing.
"""

from __future__ import annotations

from contextlib import nullcontext
from types import TracebackType
from typing import Any, Callable, ClassVar, ContextManager, Dict, Optional, Tuple, Type, TypeVar

from ._errors import Code, Error, raise_error
from ._library import lib

Self = TypeVar("Self", bound="Owned")


class Belongings:
    """The handles of one kind that belong to a runtime; and with each what must not be collected
    before it is freed, as memory that the library copies to and from by itself, and a lock to free
    it under, if it has one."""

    __slots__ = ("_free", "_handles")

    def __init__(self, free: Callable[[Any], Optional[int]]) -> None:
        self._free = free
        self._handles: Dict[int, Tuple[Any, object, ContextManager[Any]]] = {}

    def add(self, handle: Any, keeps: object, lock: ContextManager[Any]) -> None:
        self._handles[handle.id] = (handle, keeps, lock)

    def discard(self, handle: Any) -> object:
        """Returns what was kept with it, to be held until it is freed."""
        return self._handles.pop(handle.id, None)

    def free_all(self) -> None:
        while self._handles:
            try:
                _, (handle, keeps, lock) = self._handles.popitem()
            except KeyError:  # another thread has just freed the last one
                return
            with lock:
                error = self._free(handle)
            if error:  # likewise
                lib.aqua_error_free(error)
            del keeps


class Owned:
    """Freed when closed, when its `with` block ends, or when it is collected.

    Threads: every method may be called concurrently, as the library's.
    """

    __slots__ = ("_handle", "_among", "_open", "__weakref__")
    _free: ClassVar[Callable[[Any], Optional[int]]]  # the library's call
    # Memory that device work may be using: _settle() comes before it is freed.
    _settles: ClassVar[bool] = False

    def __init__(
        self,
        handle: Any,
        among: Optional[Belongings],
        keeps: object = None,
        lock: ContextManager[Any] = nullcontext(),
    ) -> None:
        self._handle = handle
        self._among = among
        if among is not None:
            among.add(handle, keeps, lock)
        self._open = True

    def close(self) -> None:
        """Frees it. Does nothing when that was done before, or its runtime is closed."""
        if not self._open or (self._settles and not self._settle()):
            return
        self._end()

    def _end(self) -> None:
        if not self._open:  # another thread has closed it
            return
        self._open = False
        keeps = self._among.discard(self._handle) if self._among is not None else None
        error = type(self)._free(self._handle)
        del keeps
        if error:
            ignore_not_found(error)

    def _settle(self) -> bool:
        """Waits for what must be over first. False: it cannot be freed here; its runtime does it
        when it is closed."""
        return True

    @property
    def closed(self) -> bool:
        return not self._open

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_open", False):  # closed, or never made
            return
        if self._settles and not self._settle():
            return
        self._open = False
        keeps = self._among.discard(self._handle) if self._among is not None else None
        error = type(self)._free(self._handle)
        del keeps
        if error:  # closed with its runtime, or a parent's in a forked child
            lib.aqua_error_free(error)


def ignore_not_found(error: int) -> None:
    try:
        raise_error(error)
    except Error as raised:
        if raised.code is not Code.NOT_FOUND:
            raise
