# SPDX-License-Identifier: Apache-2.0
"""KV-cache offload of vLLM into neighbouring GPUs' spare memory. In vLLM's configuration:

    --kv-transfer-config '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both",
      "kv_connector_extra_config": {
        "spec_name": "AquaOffloadingSpec", "spec_module_path": "aqua_kv.vllm",
        "blocks_per_chunk": 16, "aqua": {"offload_bytes": 17179869184}}}'

vLLM's OffloadingConnector makes the spec in each of its processes: the scheduler asks it for a
manager, which knows what is stored where, each worker for a worker, which moves the bytes.
Written for vLLM VLLM_VERSION; its interface of offloading specs is experimental.

A model's weights once for all engines of a GPU are `vllm serve MODEL --load-format aqua`: see loader,
which vLLM finds by plugin.
"""

try:
    import vllm.v1.kv_offload.base  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"aqua_kv.vllm works inside vLLM, whose vllm.v1.kv_offload.base cannot be imported: {error}"
    ) from error

from .load_store import AquaLoadStoreSpec
from .manager import AquaOffloadingManager
from .spec import AquaOffloadingSpec
from .worker import AquaOffloadingWorker

# The version whose interface this follows.
VLLM_VERSION = "0.33.0"

__all__ = [
    "VLLM_VERSION", "AquaLoadStoreSpec", "AquaOffloadingManager", "AquaOffloadingSpec",
    "AquaOffloadingWorker",
]
