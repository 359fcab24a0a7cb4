# SPDX-License-Identifier: Apache-2.0
"""Lanes: orders of transfers beside the engine's own work. A lane first waits, on the device, for
what the engine has posted so far: a store reads what the model writes, a load overwrites blocks
that the model may still be using."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from typing import Any, Optional


class Lane(ABC):
    """One thread uses it."""

    @property
    @abstractmethod
    def stream(self) -> int:
        """Transfers are posted here."""

    @abstractmethod
    def follow_engine(self) -> None:
        """What is posted from now on comes after all that the engine has posted. Never waits."""

    def stamp(self) -> Any:
        """A point in the lane, for seconds()."""
        return None

    def seconds(self, start: Any, end: Any) -> Optional[float]:
        """Device time between two stamps that the lane has passed; None where it is not taken."""
        return None


class EngineLane(Lane):
    """The engine's own default stream: for emulated GPUs."""

    @property
    def stream(self) -> int:
        return 0

    def follow_engine(self) -> None:
        pass


class TorchLane(Lane):
    """A CUDA stream of its own."""

    def __init__(self, device_index: int) -> None:
        self._cuda: Any = importlib.import_module("torch").cuda  # vLLM brings it
        self._device = device_index
        self._stream = self._cuda.Stream(device=device_index)

    @property
    def stream(self) -> int:
        return int(self._stream.cuda_stream)

    def follow_engine(self) -> None:
        self._stream.wait_stream(self._cuda.current_stream(self._device))

    def stamp(self) -> Any:
        event = self._cuda.Event(enable_timing=True)
        event.record(self._stream)
        return event

    def seconds(self, start: Any, end: Any) -> Optional[float]:
        return float(start.elapsed_time(end)) / 1000
