# SPDX-License-Identifier: Apache-2.0
"""What vLLM does with AquaConnectors, for one engine in one process: its scheduler's and its workers',
over KV caches on an emulated GPU. As a program, an engine that is told what to do line by line.
Each byte of KV is a function of its prompt and of where it is in the model."""

from __future__ import annotations

import json
import sys
import time
from types import SimpleNamespace
from typing import Any, Dict, List, Tuple

import numpy as np
from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorRole

import aqua_kv
from aqua_kv import emulated
from aqua_kv.vllm.connector import AquaConnector

LAYERS, HEADS, DIM, BLOCKS = 3, 4, 16, 16
PREFILL = {"block_size": 4, "tensor_parallel_size": 1}
DECODE = {"block_size": 8, "tensor_parallel_size": 2}  # and heads first, as HND


class CacheTensor:
    """As much of a torch.Tensor on a GPU as there is to see, over bytes of the device."""

    dtype = "uint8"
    device = SimpleNamespace(index=0)

    def __init__(self, array: aqua_kv.DeviceArray, shape: Any, stride: Any) -> None:
        self.array, self.shape, self._stride = array, shape, stride

    def stride(self) -> Any:
        return self._stride

    def element_size(self) -> int:
        return 1

    def data_ptr(self) -> int:
        return int(self.array.__cuda_array_interface__["data"][0])


class Worker:
    def __init__(self, engine: "Engine", rank: int) -> None:
        stage, tensor_rank = divmod(rank, engine.ranks)
        self.rank, self.runtime = rank, engine.runtime
        self.size = engine.size
        self.heads = 1 if engine.latents else HEADS // engine.ranks
        self.first_head = 0 if engine.latents else tensor_rank * self.heads
        first_layer = sum(engine.stages[:stage])
        self.layers = range(first_layer, first_layer + engine.stages[stage])  # of the model's
        self.heads_first = engine.heads_first
        order = (self.heads, self.size) if self.heads_first else (self.size, self.heads)
        self.physical = (BLOCKS, *order, 2 * DIM)
        self.caches: Dict[str, CacheTensor] = {}
        self.names = [f"model.layers.{i}.self_attn.attn" for i in range(LAYERS)]
        for name in self.names[self.layers.start : self.layers.stop]:
            memory = emulated.allocate(self.runtime, int(np.prod(self.physical)))
            array = memory.array(self.physical)
            head = 2 * DIM * (self.size if self.heads_first else 1)
            token = 2 * DIM * (1 if self.heads_first else self.heads)
            self.caches[name] = CacheTensor(
                array, (BLOCKS, self.heads, self.size, 2 * DIM),
                (2 * DIM * self.heads * self.size, head, token, 1),
            )
        runtime = self.runtime

        class Connector(AquaConnector):
            def open_runtime(self, device: str) -> aqua_kv.Runtime:
                return runtime

        self.connector = Connector(engine.config(rank), KVConnectorRole.WORKER, engine.groups)
        self.connector.register_kv_caches(self.caches)

    def values(self, layer: int, tokens: int, prompt: int) -> np.ndarray:
        """[token, head, byte]"""
        token, head, i = np.ogrid[
            :tokens, self.first_head : self.first_head + self.heads, : 2 * DIM]
        at = layer * 101 + token * 31 + head * 17 + i * 7 + prompt * 29
        return at.astype(np.uint8)

    def read(self, layer: int) -> np.ndarray:
        """[block, token, head, byte]; a view in the order of the cache."""
        out = np.empty(self.physical, np.uint8)
        emulated.read(self.runtime, self.caches[self.names[layer]].array, out)
        return out.transpose(0, 2, 1, 3) if self.heads_first else out

    def put(self, layer: int, blocks: List[int], tokens: int, prompt: int) -> None:
        cache = self.read(layer)
        values = self.values(layer, tokens, prompt)
        for token in range(tokens):
            cache[blocks[token // self.size], token % self.size] = values[token]
        whole = cache.transpose(0, 2, 1, 3) if self.heads_first else cache
        emulated.write(
            self.runtime, self.caches[self.names[layer]].array, np.ascontiguousarray(whole)
        )

    def wrong(self, blocks: List[int], tokens: int, prompt: int) -> int:
        count = 0
        for layer in self.layers:
            cache, values = self.read(layer), self.values(layer, tokens, prompt)
            for token in range(tokens):
                have = cache[blocks[token // self.size], token % self.size]
                count += int((have != values[token]).sum())
        return count


def request_of(name: str, tokens: int, params: Dict[str, Any]) -> Any:
    return SimpleNamespace(request_id=name, num_prompt_tokens=tokens, kv_transfer_params=params)


def output_of(**given: Any) -> Any:
    cached = SimpleNamespace(
        req_ids=[], resumed_req_ids=set(), new_block_ids=[], num_computed_tokens=[])
    return SimpleNamespace(**{
        "scheduled_new_reqs": [], "scheduled_cached_reqs": cached, "num_scheduled_tokens": {},
        "preempted_req_ids": None, **given,
    })


class Engine:
    def __init__(
        self, role: str, keeper: str, directory: str, patience_s: int = 60, sequences: int = 8,
        in_parts: bool = False, latents: bool = False, stage_layers: Tuple[int, ...] = (),
        peer_stage_layers: Tuple[int, ...] = (), replica: int = 0,
    ) -> None:
        """`stage_layers`: of each pipeline stage; empty: one stage. `replica`: which of several
        data-parallel engines this is, where their ranks are counted together."""
        own, peer = (PREFILL, DECODE) if role == "kv_producer" else (DECODE, PREFILL)
        self.peer = {**peer, "stage_layers": peer_stage_layers}
        self.stage_layers, self.stages = stage_layers, stage_layers or (LAYERS,)
        self.role, self.keeper = role, keeper
        self.patience_s, self.sequences, self.in_parts = patience_s, sequences, in_parts
        self.size, self.ranks = own["block_size"], own["tensor_parallel_size"]
        self.heads_first = own is DECODE
        self.first_rank = replica * len(self.stages) * self.ranks
        self.latents = latents  # one head, which every rank has whole
        spec = SimpleNamespace(max_tp_shards=1 if latents else None)
        self.groups = SimpleNamespace(kv_cache_groups=[SimpleNamespace(kv_cache_spec=spec)])
        self.runtime = aqua_kv.Runtime.open(
            device="emu:0", coordinator="none", host_bytes=1 << 20, socket_directory=directory)
        self.scheduler = AquaConnector(self.config(0), KVConnectorRole.SCHEDULER, self.groups)
        self.workers = [Worker(self, rank) for rank in range(len(self.stages) * self.ranks)]

    def config(self, rank: int) -> Any:
        return SimpleNamespace(
            kv_transfer_config=SimpleNamespace(
                kv_role=self.role,
                kv_connector_extra_config={"aqua": {
                    "name": "small", "peer": self.peer, "stage_layers": self.stage_layers,
                    "keeper": self.keeper, "device": "emu:0",
                    "parcel_bytes": 1 << 16, "patience_s": self.patience_s,
                    "sequences": self.sequences,
                }},
            ),
            cache_config=SimpleNamespace(block_size=self.size),
            parallel_config=SimpleNamespace(
                tensor_parallel_size=self.ranks, pipeline_parallel_size=len(self.stages),
                rank=self.first_rank + rank,
                use_ubatching=self.in_parts, data_parallel_size=1,
                prefill_context_parallel_size=1, decode_context_parallel_size=1),
        )

    def close(self) -> None:
        for worker in self.workers:
            worker.connector.shutdown()

    def step(self, output: Any, compute: Any = lambda worker, layer: None, layers: int = LAYERS) -> None:
        """One iteration; `compute(worker, layer)` writes a layer's KV. Of fewer layers: it dies."""
        meta = self.scheduler.build_connector_meta(output)
        for worker in self.workers:
            connector = worker.connector
            connector.handle_preemptions(meta)
            connector.bind_connector_metadata(meta)
            for layer in worker.layers:
                if layer >= layers or not output.num_scheduled_tokens:
                    break
                connector.wait_for_layer_load(worker.names[layer])
                compute(worker, layer)
                connector.save_kv_layer(
                    worker.names[layer], worker.caches[worker.names[layer]], None)
            if layers < LAYERS:
                continue
            connector.start_load_kv(None)
            connector.wait_for_save()
            connector.clear_connector_metadata()

    def prefill(
        self, name: str, prompt: int, tokens: int, blocks: List[int], chunks: int = 1,
        layers: int = LAYERS,
    ) -> Any:
        """Computes a prompt; its parameters for the other engine."""
        request = request_of(name, tokens, {"do_remote_decode": True})
        assert self.scheduler.get_num_new_matched_tokens(request, 0) == (0, False)
        self.scheduler.update_state_after_alloc(request, None, 0)
        computed = 0
        for chunk in range(chunks):
            now = tokens if chunk == chunks - 1 else tokens * (chunk + 1) // chunks
            first = -(-computed // self.size)
            new = blocks[first : -(-now // self.size)]
            output = output_of(num_scheduled_tokens={name: now - computed})
            if chunk == 0:
                output.scheduled_new_reqs.append(SimpleNamespace(
                    req_id=name, block_ids=(new,), num_computed_tokens=0))
            else:
                cached = output.scheduled_cached_reqs
                cached.req_ids.append(name)
                cached.new_block_ids.append((new,))
                cached.num_computed_tokens.append(computed)
            self.step(output, lambda worker, layer: worker.put(layer, blocks, now, prompt), layers)
            computed = now
        return self.scheduler.request_finished(request, blocks)

    def until_streaming(self, name: str) -> None:
        """All receivers of a prompt that is being sent have room for it: the keeper knows of it."""
        for worker in self.workers:
            while not worker.connector._sender._outgoing[name].out.ready():
                assert worker.connector._attachment.streamer.wait(60_000), "no room"

    def sent(self, name: str, meanwhile: Any = lambda: None) -> None:
        """Returns once all workers have said that its blocks are free."""
        waiting, asked = set(self.workers), {name}
        end = time.monotonic() + 60
        while waiting:
            assert time.monotonic() < end, "never sent"
            meanwhile()
            self.step(output_of())
            for worker in list(waiting):
                done, _ = worker.connector.get_finished(asked)
                if done:
                    assert done == {name}
                    waiting.discard(worker)

    def until_arrived(self, sequence: int) -> None:
        """A sequence that nobody has asked for yet is with all workers."""
        end = time.monotonic() + 60
        for worker in self.workers:
            while sequence not in worker.connector._receiver._arrived:
                assert time.monotonic() < end, "never came"
                assert worker.connector.get_finished(set()) == (None, None)

    def until_attached(self) -> None:
        """Steps of nothing, as an engine without requests has them, until all workers have a keeper."""
        end = time.monotonic() + 60
        while not all(w.connector._attachment.streamer.status().connected for w in self.workers):
            assert time.monotonic() < end, "never attached"
            self.step(output_of())

    def decode(self, name: str, tokens: int, blocks: List[int], params: Dict[str, Any]) -> List[int]:
        """Awaits a prompt; the blocks of which vLLM is told that they are to be computed."""
        request = request_of(name, tokens, params)
        assert self.scheduler.get_num_new_matched_tokens(request, 0) == (tokens, True)
        allocated = SimpleNamespace(get_block_ids=lambda: (blocks,))
        self.scheduler.update_state_after_alloc(request, allocated, tokens)
        self.scheduler.update_state_after_alloc(request, allocated, 0)  # and once it is there
        self.step(output_of())
        waiting, errors = set(self.workers), set()
        end = time.monotonic() + 60
        while waiting:
            assert time.monotonic() < end, "neither came nor failed"
            for worker in list(waiting):
                _, came = worker.connector.get_finished(set())
                errors |= worker.connector.get_block_ids_with_load_errors()
                if came:
                    assert came == {name}
                    waiting.discard(worker)
        return sorted(errors)


def main() -> None:
    role, keeper, directory, patience = sys.argv[1:]
    engine = Engine(role, keeper, directory, int(patience))
    print("ready", flush=True)
    for line in sys.stdin:
        told = json.loads(line)
        if told.pop("do") == "prefill":
            answer = engine.prefill(**told)
            if told.get("layers", LAYERS) == LAYERS:
                engine.sent(told["name"])
            else:
                engine.until_streaming(told["name"])
        else:
            prompt = told.pop("prompt")
            errors = engine.decode(**told)
            wrong = [w.wrong(told["blocks"], told["tokens"], prompt) for w in engine.workers]
            answer = {"errors": errors, "wrong": wrong}
        print(json.dumps(answer), flush=True)
    engine.close()


if __name__ == "__main__":
    main()
