# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Union


@dataclass
class LoadConfig:
    load_format: str = "auto"
    model_loader_extra_config: Dict[str, Any] = field(default_factory=dict)
    device: Optional[str] = None
    ignore_patterns: Union[List[str], str] = field(default_factory=lambda: ["original/**/*"])
