# SPDX-License-Identifier: Apache-2.0
"""A runtime that is closed while another thread is in a call on something of it."""

from __future__ import annotations

import threading
from types import SimpleNamespace

from aqua_kv import _locked
from aqua_kv._library import lib


class TellingLock:
    """Tells of whoever finds it held."""

    def __init__(self, met):
        self._lock, self._met = threading.RLock(), met

    def __enter__(self):
        if not self._lock.acquire(blocking=False):
            self._met.set()
            self._lock.acquire()

    def __exit__(self, *_):
        self._lock.release()


class ClosedWithin:
    """From now on the library's call of this name closes the runtime on another thread before it
    returns, and waits until that meets a lock, or frees one of `belongings` (a name of its state's)
    in spite of the call. Objects made from now on have locks that tell."""

    def __init__(self, monkeypatch, runtime, name, belongings):
        self.freed_within = False
        self._met = threading.Event()
        self._closing = threading.Thread(target=runtime.close)
        within = threading.Event()
        of = getattr(runtime._state, belongings)
        free, call = of._free, getattr(lib, name)

        def freeing(handle):
            self.freed_within = self.freed_within or within.is_set()
            self._met.set()
            return free(handle)

        def calling(*arguments):
            error = call(*arguments)
            within.set()
            self._closing.start()
            assert self._met.wait(60)
            within.clear()
            return error

        monkeypatch.setattr(of, "_free", freeing)
        monkeypatch.setattr(lib, name, calling)
        telling = SimpleNamespace(RLock=lambda: TellingLock(self._met))
        monkeypatch.setattr(_locked, "threading", telling)

    def join(self):
        self._closing.join()
