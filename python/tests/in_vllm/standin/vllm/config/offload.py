# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

from dataclasses import dataclass, field


@dataclass
class UVAOffloadConfig:
    cpu_offload_gb: float = 0


@dataclass
class PrefetchOffloadConfig:
    offload_group_size: int = 0


@dataclass
class OffloadConfig:
    uva: UVAOffloadConfig = field(default_factory=UVAOffloadConfig)
    prefetch: PrefetchOffloadConfig = field(default_factory=PrefetchOffloadConfig)
