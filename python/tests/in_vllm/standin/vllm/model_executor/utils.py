# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

from contextlib import contextmanager
from contextvars import ContextVar
from typing import Iterator

_processed: "ContextVar[bool]" = ContextVar("processed", default=False)


@contextmanager
def weights_already_processed() -> Iterator[None]:
    token = _processed.set(True)
    try:
        yield
    finally:
        _processed.reset(token)


def is_weights_pre_processed() -> bool:
    return _processed.get()
