# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

from dataclasses import dataclass, field
from typing import List


@dataclass
class CacheConfig:
    cache_dtype: str = "auto"
    kv_cache_dtype_skip_layers: List[str] = field(default_factory=list)
