# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

from dataclasses import dataclass
from typing import Any


@dataclass
class DeviceConfig:
    device: Any = "auto"
