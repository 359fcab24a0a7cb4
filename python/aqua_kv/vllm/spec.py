# SPDX-License-Identifier: Apache-2.0
"""What vLLM finds by spec_name and spec_module_path."""

from __future__ import annotations

from typing import Optional

from vllm.v1.kv_offload.base import (
    CanonicalKVCaches,
    OffloadingManager,
    OffloadingSpec,
    OffloadingWorker,
)
from vllm.v1.kv_offload.config import OffloadingConfig

from ..runtime import Runtime
from .lanes import EngineLane, Lane, TorchLane
from .manager import AquaOffloadingManager
from .options import Options
from .worker import AquaOffloadingWorker, Lanes

_SLAB_BYTES = 64 << 20
_ROUNDING_BYTES = 1 << 20  # what a tensor may take more than it has


class AquaOffloadingSpec(OffloadingSpec):
    """Made once in each process of vLLM: the scheduler's asks for the manager, a worker's for the
    worker. Both count the same chunks, as they follow from the configuration alone."""

    def __init__(self, config: OffloadingConfig) -> None:
        super().__init__(config)
        if config.canonical_layout:
            raise ValueError("AquaOffloadingSpec does not know canonical_layout; leave it out")
        self.options = Options.parse(config.extra_config)
        self.share_bytes = self.options.offload_bytes // max(1, config.parallel.world_size)
        chunk_bytes = config.worker_kv_bytes_per_block * self.blocks_per_chunk
        self.chunk_count = self.share_bytes // chunk_bytes if chunk_bytes else 0
        if chunk_bytes and self.chunk_count == 0:
            raise ValueError(
                f'"aqua": offload_bytes leaves {self.share_bytes} bytes a worker, a chunk of '
                f"{self.blocks_per_chunk} blocks has {chunk_bytes}"
            )
        self._manager: Optional[AquaOffloadingManager] = None
        self._worker: Optional[AquaOffloadingWorker] = None

    def get_manager(self) -> OffloadingManager:
        if self._manager is None:
            self._manager = AquaOffloadingManager(
                self.chunk_count, self.kv_events_config.enable_kv_cache_events
            )
        return self._manager

    def get_worker(self, kv_caches: CanonicalKVCaches) -> OffloadingWorker:
        if self._worker is None:
            runtime = self.open_runtime(self._device(kv_caches))
            try:
                self._worker = self.make_worker(runtime, kv_caches, close_runtime=True)
            except Exception:
                runtime.close()
                raise
        return self._worker

    def make_worker(
        self, runtime: Runtime, kv_caches: CanonicalKVCaches, *, close_runtime: bool
    ) -> AquaOffloadingWorker:
        """For engines that have a runtime of their own, to lend with: subclass, and call this from
        get_worker()."""
        return AquaOffloadingWorker(
            runtime,
            kv_caches,
            Lanes(self._lane(kv_caches), self._lane(kv_caches), self._lane(kv_caches)),
            blocks_per_chunk=self.blocks_per_chunk,
            chunk_count=self.chunk_count,
            tensor_bytes=self.options.tensor_bytes,
            close_runtime=close_runtime,
        )

    def open_runtime(self, device: str) -> Runtime:
        options = self.options
        tensors = -(-self.share_bytes // options.tensor_bytes)
        room = self.share_bytes + tensors * _ROUNDING_BYTES
        peer = -(-room // _SLAB_BYTES) * _SLAB_BYTES
        return Runtime.open(
            device=device,
            coordinator=options.coordinator,
            name=f"vllm {self.config.engine_id[:40]} {self.config.parallel.rank}",
            domain=options.domain,
            socket_directory=options.socket_directory,
            host_bytes=options.host_bytes or room,
            max_peer_bytes=peer if options.max_peer_bytes < 0 else options.max_peer_bytes,
        )

    def _device(self, kv_caches: CanonicalKVCaches) -> str:
        return self.options.device or f"cuda:{_device_index(kv_caches)}"

    def _lane(self, kv_caches: CanonicalKVCaches) -> Lane:
        if self._device(kv_caches).startswith("emu:"):
            return EngineLane()
        return TorchLane(_device_index(kv_caches))


def _device_index(kv_caches: CanonicalKVCaches) -> int:
    return int(kv_caches.tensors[0].tensor.device.index)
