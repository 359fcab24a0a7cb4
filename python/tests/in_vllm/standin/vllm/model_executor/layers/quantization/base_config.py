# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

from abc import ABC
from typing import Any


class QuantizeMethodBase(ABC):
    supports_pre_processed_weights: bool = False

    def process_weights_after_loading(self, layer: Any) -> None:
        return
