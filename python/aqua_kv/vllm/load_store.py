# SPDX-License-Identifier: Apache-2.0
"""The medium: chunks kept in AquaTensors, by number."""

from __future__ import annotations

from vllm.v1.kv_offload.base import BlockIDsLoadStoreSpec


class AquaLoadStoreSpec(BlockIDsLoadStoreSpec):
    """block_ids are numbers of chunks. The scheduler gives them out, a worker knows where they
    are; it travels from the one to the other."""
