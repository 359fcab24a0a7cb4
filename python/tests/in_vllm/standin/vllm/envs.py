# SPDX-License-Identifier: Apache-2.0
"""Stand-in: see v1/kv_offload/base.py."""

import os
from typing import Dict


def compile_factors() -> Dict[str, object]:
    return {name: text for name, text in os.environ.items() if name.startswith("VLLM_STANDIN_")}
