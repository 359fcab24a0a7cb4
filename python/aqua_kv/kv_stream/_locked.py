# SPDX-License-Identifier: Apache-2.0
"""What streamers and replicas have in common: one lock, and copies to wait for before closing."""

from __future__ import annotations

import threading
from typing import Any

from .. import _callbacks
from .._owned import Belongings, Owned
from .._state import State


class Locked(Owned):
    """What the library lists of it is good until it lists the same again, or it is closed: `_lock`
    is held meanwhile. Closing waits for copies first, without the lock, which a kernel may want; in
    a callback or kernel it does nothing."""

    __slots__ = ("_lock", "_state")
    _settles = True

    def __init__(self, state: State, handle: Any, among: Belongings, keeps: object = None) -> None:
        super().__init__(handle, among, keeps)
        self._state = state
        self._lock = threading.RLock()

    def _settle(self) -> bool:
        return not _callbacks.inside() and self._state.settle()

    def _end(self) -> None:
        with self._lock:
            super()._end()
