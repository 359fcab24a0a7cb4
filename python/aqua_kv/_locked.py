# SPDX-License-Identifier: Apache-2.0
"""What shared weights, KV pools, streamers, replicas and microbatch swaps have in common: one lock, and
copies to wait for before closing."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Callable, Optional

from . import _callbacks
from ._errors import raise_error
from ._owned import Belongings, Owned

if TYPE_CHECKING:
    from .runtime import Runtime


class Locked(Owned):
    """Nobody frees it, its runtime neither, while `_lock` is held: what the library lists of it is
    good until it lists the same again, or it is freed. It keeps its runtime, which is not collected
    in the middle of a call.

    Closing waits for copies first, without the lock, which a kernel may want; in a callback or
    kernel it does nothing."""

    __slots__ = ("_lock", "_runtime")
    _settles = True

    def __init__(
        self, runtime: "Runtime", handle: Any, among: Belongings, keeps: object = None
    ) -> None:
        self._lock = threading.RLock()
        super().__init__(handle, among, keeps, self._lock)
        self._runtime = runtime

    def _call(self, call: Callable[..., Optional[int]], *arguments: Any) -> None:
        """With the lock: its runtime frees it, and then the memory of its copies, when this is over.
        For calls that wait neither for news nor for kernels."""
        with self._lock:
            error = call(self._handle, *arguments)
        if error:
            raise_error(error)

    def _settle(self) -> bool:
        return not _callbacks.inside() and self._runtime._state.settle()

    def _end(self) -> None:
        with self._lock:
            super()._end()
