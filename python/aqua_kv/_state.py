# SPDX-License-Identifier: Apache-2.0
"""What is open, apart from the Python objects that show it: closed when asked, when a Runtime is
collected, or before the interpreter goes, whatever still refers to what."""

from __future__ import annotations

import atexit
import os
from typing import Dict, Optional, Set

from . import _callbacks, _dlpack
from ._errors import Error
from ._library import lib
from ._owned import Belongings, ignore_not_found
from ._c.structs import RuntimeHandle


_TRIES = 100


class State:
    """One open runtime: its handle, what belongs to it, and whose callbacks it calls."""

    def __init__(
        self,
        handle: RuntimeHandle,
        callbacks_key: int,
        dlpack_device: Optional[_dlpack.Device] = None,
    ) -> None:
        self.handle = handle
        self.dlpack_device = dlpack_device  # none: DLPack has no name for it
        self.pins = Belongings(lib.aqua_pin_release)
        self.tensors = Belongings(lib.aqua_tensor_free)
        self.pools = Belongings(lib.aqua_pool_free)
        self.layer_pools = Belongings(lib.aqua_layer_pool_free)
        self.weights = Belongings(lib.aqua_weights_free)
        self.kv_pools = Belongings(lib.aqua_kv_pool_free)
        self.stream_outs = Belongings(lib.aqua_stream_out_free)
        self.stream_ins = Belongings(lib.aqua_stream_in_free)
        self.streamers = Belongings(lib.aqua_streamer_free)
        self.replicators = Belongings(lib.aqua_replicator_free)
        self.replica_readers = Belongings(lib.aqua_replica_reader_free)
        self.microbatch_swaps = Belongings(lib.aqua_microbatch_swap_free)
        self.publishers = Belongings(lib.aqua_weights_publisher_free)
        self.memories = Belongings(lib.aqua_emulated_free)
        self.emulated_streams: Set[int] = {0}
        self._callbacks_key = callbacks_key
        self._pid = os.getpid()
        _open[id(self)] = self

    @property
    def open(self) -> bool:
        return id(self) in _open

    def close(self) -> None:
        """Does nothing when it is closed. Refused in a callback, and nothing has changed."""
        if not self.open:
            return
        if not _callbacks.inside():
            self.settle()
            for kind in (
                self.pins, self.layer_pools, self.tensors, self.pools, self.weights,
                self.publishers, self.kv_pools, self.stream_outs, self.stream_ins, self.streamers,
                self.replicators, self.replica_readers, self.microbatch_swaps, self.memories,
            ):
                kind.free_all()
        error = lib.aqua_runtime_close(self.handle)
        if error:
            ignore_not_found(error)
        _open.pop(id(self), None)
        _callbacks.forget(self._callbacks_key)

    def settle(self) -> bool:
        """Waits for the work posted to an emulated GPU, before its memory goes: whatever is
        collected when, a kernel never meets memory that is gone. False in a kernel, which would
        wait for itself. Does nothing for a real GPU, whose streams are the engine's."""
        if _callbacks.inside() == "kernel":
            return False
        for stream in list(self.emulated_streams):
            error = lib.aqua_emulated_synchronize(self.handle, stream)
            if error:
                lib.aqua_error_free(error)
        return True

    def drop(self) -> None:
        """Nobody refers to it any more. Where it cannot be closed now it is closed at exit."""
        if os.getpid() != self._pid:  # a parent's, in a forked child
            _open.pop(id(self), None)
            return
        for _ in range(_TRIES):
            try:
                self.close()
                return
            except Error:  # in a callback; or another thread has just made something
                pass


_open: Dict[int, State] = {}


def _close_all() -> None:
    # While there is an interpreter for callbacks to run in.
    for state in list(_open.values()):
        state.drop()


atexit.register(_close_all)
