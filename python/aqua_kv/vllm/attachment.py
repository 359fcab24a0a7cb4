# SPDX-License-Identifier: Apache-2.0
"""A worker's streamer, and another one once its keeper has ended and a new keeper listens."""

from __future__ import annotations

import logging
import threading
import time
from typing import Callable, Optional

from .._errors import Code, Error
from ..kv_stream import Streamer

logger = logging.getLogger(__name__)

_PAUSE_S = 1.0  # until it is tried again
_PATIENCE_S = 30.0


class Attachment:
    """Attaches anew in a thread of its own: no call but close() waits for a keeper. Threads: one at a
    time."""

    def __init__(self, attach: Callable[[], Streamer]) -> None:
        self._attach = attach
        self.streamer = attach()
        self._thread: Optional[threading.Thread] = None
        self._attached: Optional[Streamer] = None  # by the thread
        self._not_before = 0.0
        self._said = ""

    def next(self) -> Optional[Streamer]:
        """The one that is to take the place of `streamer`, whose keeper has ended: replace() it, once
        nothing uses it any more."""
        if self._thread is not None:
            if self._thread.is_alive():
                return None
            self._thread = None
            self._not_before = time.monotonic() + _PAUSE_S
        if self._attached is not None:
            if self._attached.status().connected:
                return self._attached
            self._attached.close()  # no step has come since, and its keeper has ended, too
            self._attached = None
        if not self.streamer.status().connected and time.monotonic() > self._not_before:
            self._thread = threading.Thread(target=self._attach_again, daemon=True)
            self._thread.start()
        return None

    def replace(self) -> None:
        assert self._attached is not None
        self.streamer.close()  # once what it still copies is there
        self.streamer, self._attached = self._attached, None
        logger.info("the keeper has ended: attached to the next one")

    def close(self) -> None:
        if self._thread is not None:
            self._thread.join(_PATIENCE_S)  # a keeper that is stopped may answer never
        for streamer in (self._attached, self.streamer):
            if streamer is not None:
                streamer.close()

    def _attach_again(self) -> None:
        try:
            self._attached = self._attach()
        except Error as error:
            if error.code is Code.UNAVAILABLE or str(error) == self._said:  # there is none yet
                return
            self._said = str(error)
            logger.warning("not attached to the keeper: %s", error)
