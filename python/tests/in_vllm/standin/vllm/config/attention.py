# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

from dataclasses import dataclass
from typing import Any


@dataclass
class AttentionConfig:
    backend: Any = None

    def compute_hash(self) -> str:
        return repr(self)
