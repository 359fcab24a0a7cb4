# SPDX-License-Identifier: Apache-2.0
"""The engine's callbacks: one C function of each kind for all runtimes, which never goes away, and
a table that says whose Python functions to call."""

from __future__ import annotations

import enum
import itertools
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Optional

from ._c.structs import (
    BudgetFunction,
    CCallbacks,
    DataLossFunction,
    LogFunction,
    PinsWantedFunction,
)
from .northbound import MemoryBudget


class LogLevel(enum.IntEnum):
    INFO = 0
    WARNING = 1
    ERROR = 2


@dataclass(frozen=True)
class PinnedTensor:
    """A tensor whose pins are in the way of a reclaim."""

    tensor_id: int
    name: str
    age_ms: int  # of the oldest pin, at most
    read_pins: int
    write_pins: int


@dataclass(frozen=True)
class Callbacks:
    """What the runtime calls. Any may be None.

    Called one at a time, on a thread of the runtime's, or from Runtime.tick() where it was opened
    with callbacks_in_tick; on_log from any thread. They may make any call but Runtime.close(),
    which they are refused. An exception goes to sys.unraisablehook.
    """

    # The engine's share of memory has changed, or (WANTED) is to change: see BudgetReason.
    on_budget: Optional[Callable[[MemoryBudget], None]] = None
    # A tensor's bytes are gone: recompute. Its id and name.
    on_data_loss: Optional[Callable[[int, str], None]] = None
    # A lender wants a slab back within so many ms; these tensors' pins are in the way.
    on_pins_wanted: Optional[Callable[[List[PinnedTensor], int], None]] = None
    # Without it, warnings and errors go to stderr.
    on_log: Optional[Callable[[LogLevel, str], None]] = None


_keys = itertools.count(1)
_called: Dict[int, Callbacks] = {}


def register(callbacks: Callbacks) -> int:
    key = next(_keys)
    _called[key] = callbacks
    return key


def forget(key: int) -> None:
    _called.pop(key, None)


def to_c(callbacks: Callbacks, key: int) -> CCallbacks:
    given: Dict[str, Any] = {"user": key}
    if callbacks.on_budget is not None:
        given["on_budget"] = _on_budget
    if callbacks.on_data_loss is not None:
        given["on_data_loss"] = _on_data_loss
    if callbacks.on_pins_wanted is not None:
        given["on_pins_wanted"] = _on_pins_wanted
    if callbacks.on_log is not None:
        given["on_log"] = _on_log
    return CCallbacks(**given)


_thread = threading.local()


@contextmanager
def being_called(by: str = "callback") -> Iterator[None]:
    """Code of the engine's runs, called by the library on this thread: as a callback, or as the
    kernel of an emulated GPU."""
    before = inside()
    _thread.inside = by
    try:
        yield
    finally:
        _thread.inside = before


def inside() -> str:
    """What this thread runs: "callback", "kernel", or empty."""
    return getattr(_thread, "inside", "")


def _text(c_text: Optional[bytes]) -> str:
    return (c_text or b"").decode("utf-8", "replace")


def _budget(user: int, budget: Any) -> None:
    wanted = _called.get(user)
    if wanted is not None and wanted.on_budget is not None:
        with being_called():
            wanted.on_budget(MemoryBudget.from_c(budget.contents))


def _data_loss(user: int, tensor_id: int, name: Optional[bytes]) -> None:
    wanted = _called.get(user)
    if wanted is not None and wanted.on_data_loss is not None:
        with being_called():
            wanted.on_data_loss(tensor_id, _text(name))


def _pins_wanted(user: int, tensors: Any, count: int, ms_left: int) -> None:
    wanted = _called.get(user)
    if wanted is None or wanted.on_pins_wanted is None:
        return
    pinned = []
    for tensor in (tensors[i].contents for i in range(count)):
        pinned.append(
            PinnedTensor(
                tensor.tensor_id, _text(tensor.name), tensor.age_ms, tensor.read_pins,
                tensor.write_pins,
            )
        )
    with being_called():
        wanted.on_pins_wanted(pinned, ms_left)


def _log(user: int, level: int, message: Optional[bytes]) -> None:
    wanted = _called.get(user)
    if wanted is not None and wanted.on_log is not None:
        with being_called():
            wanted.on_log(LogLevel(level), _text(message))


_on_budget = BudgetFunction(_budget)
_on_data_loss = DataLossFunction(_data_loss)
_on_pins_wanted = PinsWantedFunction(_pins_wanted)
_on_log = LogFunction(_log)
