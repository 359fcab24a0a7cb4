# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

import importlib
from contextlib import contextmanager
from typing import Any, Iterator


@contextmanager
def set_default_torch_dtype(dtype: Any) -> Iterator[None]:
    torch = importlib.import_module("torch")
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
