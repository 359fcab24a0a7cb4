# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

from dataclasses import dataclass
from typing import Dict, Optional


@dataclass
class KernelConfig:
    moe_backend: str = "auto"
    linear_backend: str = "auto"
    linear_backend_per_quant: Optional[Dict[str, str]] = None
    sparse_indexer_topk_backend: str = "auto"

    def compute_hash(self) -> str:
        return repr(self)
