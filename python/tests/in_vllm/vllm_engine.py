# SPDX-License-Identifier: Apache-2.0
"""What vLLM's OffloadingConnector does with a spec, in one process: its scheduler's side with the
manager, its worker's side with the worker, over a KV cache on an emulated GPU. Blocks are named by
(group, block); their bytes are compared after every load."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

import numpy as np
from vllm.v1.kv_offload.base import (
    CanonicalKVCacheRef,
    CanonicalKVCaches,
    CanonicalKVCacheTensor,
    GPULoadStoreSpec,
    LookupResult,
    OffloadKey,
    ReqContext,
    make_offload_key,
)
from vllm.v1.kv_offload.config import (
    OffloadingCacheConfig,
    OffloadingConfig,
    OffloadingGroupConfig,
    OffloadingModelConfig,
    OffloadingParallelConfig,
)
from vllm.v1.kv_offload.factory import OffloadingSpecFactory

import aqua_kv
from aqua_kv import emulated

BLOCKS = 32
PADDING = 512  # at the end of each page, which is not offloaded


class Device:
    def __init__(self, index: int) -> None:
        self.index = index


class CacheTensor:
    """As much of a torch.Tensor on a GPU as there is to see: (blocks, page) of bytes."""

    def __init__(self, array: aqua_kv.DeviceArray) -> None:
        self._array = array
        self.device = Device(0)

    @property
    def __cuda_array_interface__(self) -> Any:
        return self._array.__cuda_array_interface__


class Engine:
    def __init__(
        self,
        *,
        pages: Sequence[Sequence[int]] = ((4096, 4096, 4096),),
        blocks_per_chunk: int = 4,
        chunks: int = 8,
        extra: Optional[Dict[str, Any]] = None,
        events: bool = True,
        spec_name: str = "EmulatedSpec",
        spec_module_path: str = "vllm_engine",
        aqua: Optional[Dict[str, Any]] = None,
    ) -> None:
        """pages[g]: bytes of a page in each layer of group g."""
        self.pages = pages
        self.blocks_per_chunk = blocks_per_chunk
        block_bytes = sum(size + PADDING for group in pages for size in group)
        config = OffloadingConfig(
            groups=tuple(
                OffloadingGroupConfig(16, tuple(f"layer {g}.{i}" for i in range(len(group))), g)
                for g, group in enumerate(pages)
            ),
            worker_kv_bytes_per_block=block_bytes,
            enable_kv_cache_events=events,
            extra_config={
                "spec_name": spec_name,
                "spec_module_path": spec_module_path,
                "aqua": {
                    "offload_bytes": chunks * blocks_per_chunk * block_bytes, "device": "emu:0",
                    "tensor_bytes": 4 * blocks_per_chunk * block_bytes, **(aqua or {}),
                },
                **(extra or {}),
            },
            engine_id="test",
            model=OffloadingModelConfig("model", "float16"),
            cache=OffloadingCacheConfig(16, blocks_per_chunk),
            parallel=OffloadingParallelConfig(0, 1, 1, 1, 1, 1, 0, 1, None, False),
        )
        self.spec: Any = OffloadingSpecFactory.create_spec(config)
        self.manager: Any = self.spec.get_manager()
        self.jobs = 0
        self.results: Dict[int, Any] = {}
        self.context = ReqContext("request")
        self.expected: Dict[OffloadKey, List[bytes]] = {}

    def start(self, runtime: aqua_kv.Runtime) -> None:
        """The worker registers its KV cache."""
        self.runtime = runtime
        rows = [size + PADDING for group in self.pages for size in group]
        self.memory = emulated.allocate(runtime, BLOCKS * sum(rows))
        tensors, refs, start, number = [], [], 0, 0
        for group in self.pages:
            refs.append([CanonicalKVCacheRef(number + i, size) for i, size in enumerate(group)])
            for size in group:
                row = size + PADDING
                array = self.memory.array((BLOCKS, row), "|i1", offset=start)
                tensors.append(CanonicalKVCacheTensor(CacheTensor(array), row))
                start += BLOCKS * row
                number += 1
        self.caches = CanonicalKVCaches(tensors, refs)
        self.spec.runtime = runtime
        self.worker: Any = self.spec.get_worker(self.caches)

    def fill(self, group: int, block: int, seed: int) -> List[bytes]:
        """New bytes in every layer of a block, padding included; returns what is offloaded."""
        random = np.random.default_rng(seed)
        pages = []
        for ref in self.caches.group_data_refs[group]:
            row = self.caches.tensors[ref.tensor_idx].page_size_bytes
            page = random.integers(0, 256, row, dtype=np.uint8)
            emulated.write(self.runtime, self._address(ref.tensor_idx, block), page)
            pages.append(page[: ref.page_size_bytes].tobytes())
        return pages

    def read(self, group: int, block: int) -> List[bytes]:
        pages = []
        for ref in self.caches.group_data_refs[group]:
            page = np.empty(ref.page_size_bytes, np.uint8)
            emulated.read(self.runtime, self._address(ref.tensor_idx, block), page)
            pages.append(page.tobytes())
        return pages

    def _address(self, tensor: int, block: int) -> int:
        interface = self.caches.tensors[tensor].tensor.__cuda_array_interface__
        return int(interface["data"][0]) + block * int(interface["strides"][0])

    def key(self, number: int, group: int = 0) -> OffloadKey:
        return make_offload_key(number.to_bytes(8, "big"), group)

    def gpu_spec(self, blocks: Sequence[Sequence[int]], first: Sequence[int]) -> GPULoadStoreSpec:
        flat = [block for group in blocks for block in group]
        return GPULoadStoreSpec(flat, [len(group) for group in blocks], list(first))

    def submit_store(self, chunks: Sequence[int], blocks: Sequence[int]) -> Any:
        """Chunks of group 0, whole; blocks as many as they have. Returns (job, keys) or None."""
        keys = [self.key(chunk) for chunk in chunks]
        out = self.manager.prepare_store(keys, self.context)
        if out is None:
            return None
        for key in out.evicted_keys:
            del self.expected[key]
        size = self.blocks_per_chunk
        moved: List[int] = []
        for number, key in enumerate(keys):
            if key not in out.keys_to_store:
                continue
            of_chunk = blocks[number * size : (number + 1) * size]
            moved += of_chunk
            self.expected[key] = [
                page for block in of_chunk for page in self.fill(0, block, self.jobs * 1000 + block)
            ]
        empty = [[] for _ in self.pages[1:]]
        spec = self.gpu_spec([moved, *empty], [0] * len(self.pages))
        self.jobs += 1
        assert self.worker.submit_store(self.jobs, spec, out.store_spec)
        return self.jobs, out

    def store(self, chunks: Sequence[int], blocks: Sequence[int]) -> Any:
        job, out = self.submit_store(chunks, blocks)
        assert self.finish(job).success
        self.manager.complete_store(out.keys_to_store, self.context)
        return out

    def load(self, chunks: Sequence[int], blocks: Sequence[int], first: int = 0,
             expedited: bool = False) -> Any:
        """Into the blocks listed, from block `first` of the first chunk on; compares them."""
        keys = [self.key(chunk) for chunk in chunks]
        assert [self.manager.lookup(key, self.context) for key in keys] == [
            LookupResult.HIT
        ] * len(keys)
        src = self.manager.prepare_load(keys, self.context)
        empty = [[] for _ in self.pages[1:]]
        spec = self.gpu_spec([blocks, *empty], [first] + [0] * len(empty))
        self.jobs += 1
        assert self.worker.submit_load(self.jobs, src, spec, expedited)
        result = self.finish(self.jobs)
        self.manager.complete_load(keys, self.context)
        assert result.success
        got = [page for block in blocks for page in self.read(0, block)]
        layers = len(self.pages[0])
        wanted = [page for key in keys for page in self.expected[key]]
        assert got == wanted[first * layers : (first + len(blocks)) * layers]
        return result

    def poll(self) -> None:
        for result in self.worker.get_finished():
            assert result.job_id not in self.results
            self.results[result.job_id] = result

    def finish(self, job: int) -> Any:
        self.worker.wait({job})
        self.poll()
        return self.results.pop(job)


def __getattr__(name: str) -> Any:
    if name != "EmulatedSpec":
        raise AttributeError(name)
    from aqua_kv.vllm import AquaOffloadingSpec

    class EmulatedSpec(AquaOffloadingSpec):
        """Takes the runtime whose emulated GPU the KV cache is on."""

        runtime: aqua_kv.Runtime

        def get_worker(self, kv_caches: CanonicalKVCaches) -> Any:
            if self._worker is None:
                self._worker = self.make_worker(self.runtime, kv_caches, close_runtime=False)
            return self._worker

    return EmulatedSpec
