# SPDX-License-Identifier: Apache-2.0
"""A worker's streamer, and another one once its keeper has ended and a new keeper listens."""

from __future__ import annotations

import logging
import threading
import time
from typing import Callable, Optional

from .._errors import Error
from ..kv_stream import Streamer

logger = logging.getLogger(__name__)

_PAUSE_S = 1.0  # until it is tried again


class Attachment:
    """Attaches anew in a thread of its own: no call but close() waits for a keeper. Threads: one at a
    time."""

    def __init__(self, attach: Callable[[], Streamer]) -> None:
        self._attach = attach
        self.streamer = attach()
        self._thread: Optional[threading.Thread] = None
        self._attached: Optional[Streamer] = None  # by the thread
        self._not_before = 0.0

    def next(self) -> Optional[Streamer]:
        """The one that is to take the place of `streamer`, whose keeper has ended: replace() it, once
        nothing uses it any more."""
        if self._thread is not None:
            if self._thread.is_alive():
                return None
            self._thread = None
            self._not_before = time.monotonic() + _PAUSE_S
        if self._attached is not None:
            return self._attached
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
            self._thread.join()
        for streamer in (self._attached, self.streamer):
            if streamer is not None:
                streamer.close()

    def _attach_again(self) -> None:
        try:
            self._attached = self._attach()
        except Error as error:  # there is none yet
            logger.debug("no keeper to attach to: %s", error)
