# SPDX-License-Identifier: Apache-2.0
"""The producer's side: how far a reclaim of lent memory is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Tuple

from ._errors import raise_error
from ._library import lib
from ._owned import Owned
from ._c.structs import CHolder, CReclaimProgress


@dataclass(frozen=True)
class Holder:
    """In the way of a reclaim when it ended partially."""

    slab: int
    bytes: int
    name: str  # the client's
    pid: int


@dataclass(frozen=True)
class ReclaimProgress:
    bytes_wanted: int
    bytes_returned: int  # scrubbed, and the device's own again
    slabs_returned: int
    done: bool  # all is back, or the deadline has passed
    first_slab_us: int  # from the call; 0 before
    last_slab_us: int
    holders: Tuple[Holder, ...]


class Reclaim(Owned):
    """Made by Runtime.reclaim(). Dropping or closing it stops nothing."""

    __slots__ = ()
    _free = lib.aqua_reclaim_free

    def progress(self) -> ReclaimProgress:
        progress = CReclaimProgress()
        error = lib.aqua_reclaim_get_progress(self._handle, progress)
        if error:
            raise_error(error)
        return self._told(progress)

    def wait(self) -> ReclaimProgress:
        """Blocks, without the GIL, until it is done, at the latest shortly after its deadline.
        Raises DEADLINE_EXCEEDED, naming the holders, when it ended partially, and
        FAILED_PRECONDITION when its runtime was closed first."""
        progress = CReclaimProgress()
        error = lib.aqua_reclaim_wait(self._handle, progress)
        if error:
            raise_error(error)
        return self._told(progress)

    def _told(self, progress: Any) -> ReclaimProgress:
        return ReclaimProgress(
            progress.bytes_wanted, progress.bytes_returned, progress.slabs_returned,
            progress.done != 0, progress.first_slab_us, progress.last_slab_us,
            tuple(self._holder(i) for i in range(progress.holders)),
        )

    def _holder(self, index: int) -> Holder:
        holder: Any = CHolder()
        error = lib.aqua_reclaim_get_holder(self._handle, index, holder)
        if error:
            raise_error(error)
        return Holder(holder.slab, holder.bytes, holder.name.decode("utf-8", "replace"), holder.pid)
