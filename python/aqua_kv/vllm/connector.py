# SPDX-License-Identifier: Apache-2.0
"""AquaConnector: prefill and decode as two vLLM engines of one server, of any two shapes. In the
configuration of the engine that computes prompts, whose keeper is the server's:

    --kv-transfer-config '{"kv_connector": "AquaConnector", "kv_role": "kv_producer",
      "kv_connector_module_path": "aqua_kv.vllm.connector",
      "kv_connector_extra_config": {"aqua": {"name": "smollm2", "peer": {"block_size": 32}}}}'

and of the other one "kv_consumer", with "kv_load_failure_policy": "recompute". A request goes to the
first with kv_transfer_params {"do_remote_decode": true} and max_tokens 1; the parameters that come
back go with it to the second one.
"""

from __future__ import annotations

import importlib
from typing import Any, Dict, List, Optional, Set, Tuple

from vllm.distributed.kv_transfer.kv_connector.v1.base import (
    KVConnectorBase_V1,
    KVConnectorMetadata,
    KVConnectorRole,
)
from vllm.distributed.kv_transfer.kv_connector.v1.metrics import (
    KVConnectorPromMetrics,
    KVConnectorStats,
)

from ..kv_stream import KvShape, Parallelism, StreamGroup, Streamer
from ..runtime import Runtime
from .attachment import Attachment
from .kv_planes import KvPlanes, planes_of
from .stream_metrics import StreamCounts, StreamPromMetrics, StreamStats
from .stream_options import StreamOptions
from .stream_scheduler import AquaConnectorMetadata, DecodeScheduler, PrefillScheduler
from .stream_worker import Receiver, Sender

_GROUPS = {"kv_producer": ("prefill", "decode"), "kv_consumer": ("decode", "prefill")}
_HOST_BYTES = 1 << 20  # no tensor is kept there


class AquaConnector(KVConnectorBase_V1):
    """The scheduler's says what is sent and awaited, a worker's streams it. Of one group of KV
    caches."""

    def __init__(
        self, vllm_config: Any, role: KVConnectorRole, kv_cache_config: Any
    ) -> None:
        super().__init__(vllm_config, role, kv_cache_config)
        transfer = vllm_config.kv_transfer_config
        if transfer.kv_role not in _GROUPS:
            raise ValueError(f"AquaConnector: kv_role is {transfer.kv_role!r}, not one of {list(_GROUPS)}")
        groups = len(kv_cache_config.kv_cache_groups)
        if groups != 1:
            raise ValueError(f"AquaConnector: {groups} groups of KV caches, where it knows one")
        parallel = vllm_config.parallel_config
        # Each rank has all tokens of its heads, and what is sent to it no other engine takes.
        single = ["prefill_context_parallel_size", "decode_context_parallel_size"]
        if transfer.kv_role == "kv_consumer":
            single.append("data_parallel_size")
        for name in single:
            if getattr(parallel, name) != 1:
                raise ValueError(f"AquaConnector: {name} is {getattr(parallel, name)}, not 1")
        self.options = StreamOptions.parse(transfer.kv_connector_extra_config)
        self._own, self._other = _GROUPS[transfer.kv_role]
        self._block_size = int(vllm_config.cache_config.block_size)
        # A layer of a step in parts is saved once for each part, and whole only after all of them.
        self._in_parts = bool(parallel.use_ubatching)
        self._prefill: Optional[PrefillScheduler] = None
        self._decode: Optional[DecodeScheduler] = None
        if role is KVConnectorRole.SCHEDULER:
            if self._own == "prefill":
                self._prefill = PrefillScheduler(self._block_size)
            else:
                self._decode = DecodeScheduler(self._block_size)
        self._runtime: Optional[Runtime] = None
        self._attachment: Optional[Attachment] = None
        self._planes: Optional[KvPlanes] = None
        self._sender: Optional[Sender] = None
        self._receiver: Optional[Receiver] = None
        self._counts = StreamCounts()

    # --- in workers ---------------------------------------------------------------------------

    def register_kv_caches(self, kv_caches: Dict[str, Any]) -> None:
        planes = planes_of(kv_caches, self._block_size)
        self._device = self.options.device or f"cuda:{next(iter(kv_caches.values())).device.index}"
        self._runtime = self.open_runtime(self._device)
        try:
            runtime = self._runtime
            self._attachment = Attachment(lambda: self._open_streamer(runtime, planes))
            self._planes = planes
            if self._own == "prefill":
                self._sender = Sender(
                    self._attachment.streamer, self._other, len(planes.layers), self.options.patience_s,
                    self._stream,
                )
            else:
                self._receiver = Receiver(
                    self._attachment.streamer, self._other, self.options.sequences,
                    self.options.patience_s, self._stream,
                )
        except Exception:
            self.shutdown()
            raise

    def open_runtime(self, device: str) -> Runtime:
        """For engines that have a runtime of their own: subclass, and return it."""
        return Runtime.open(
            device=device, coordinator="none", name="vllm stream", host_bytes=_HOST_BYTES,
            socket_directory=self.options.socket_directory,
        )

    def _open_streamer(self, runtime: Runtime, planes: KvPlanes) -> Streamer:
        parallel, options, peer = self._vllm_config.parallel_config, self.options, self.options.peer
        ranks, stages = int(parallel.tensor_parallel_size), int(parallel.pipeline_parallel_size)
        if stages > 1 and len(options.stage_layers) != stages:
            raise ValueError(f'"aqua": stage_layers must be given for {stages} stages')
        layers = sum(options.stage_layers) if stages > 1 else len(planes.layers)
        # Ranks have copies of latents, and of what vLLM otherwise says has fewer shards.
        [one] = self._kv_cache_config.kv_cache_groups
        shards = getattr(one.kv_cache_spec, "max_tp_shards", None) or ranks
        heads = options.kv_heads or planes.heads * min(ranks, shards)

        def group(name: str, block_size: int, dealt: Parallelism) -> StreamGroup:
            return StreamGroup(
                name,
                KvShape(layers, heads, planes.head_bytes, block_size, 1, planes.format),
                dealt,
            )

        own = Parallelism(options.stage_layers if stages > 1 else (), ranks)
        return Streamer.open(
            runtime, planes.layout, options.name, group(self._own, self._block_size, own),
            int(parallel.rank) % (ranks * stages),
            others=[group(
                self._other, peer.block_size,
                Parallelism(peer.stage_layers, peer.tensor_parallel_size),
            )],
            parcel_bytes=options.parcel_bytes,
            ready=options.ready if self._own == "prefill" else 0,
            keeper=options.keeper,
        )

    def _stream(self) -> int:
        """What the engine posts to."""
        if self._device.startswith("emu:"):
            return 0
        torch: Any = importlib.import_module("torch")  # vLLM brings it
        return int(torch.cuda.current_stream().cuda_stream)

    def _meta(self) -> AquaConnectorMetadata:
        meta = self._get_connector_metadata()
        assert isinstance(meta, AquaConnectorMetadata)
        return meta

    def handle_preemptions(self, kv_connector_metadata: KVConnectorMetadata) -> None:
        assert isinstance(kv_connector_metadata, AquaConnectorMetadata)
        if self._sender is not None:
            self._sender.cancel(kv_connector_metadata.cancelled)

    def bind_connector_metadata(self, connector_metadata: KVConnectorMetadata) -> None:
        """vLLM's last call before the forward that computes what is sent: start_load_kv comes after
        it."""
        super().bind_connector_metadata(connector_metadata)
        self._follow_keeper()
        if self._sender is not None:
            meta = self._meta()
            self._sender.cancel(meta.cancelled)  # also of requests that ended, of which none was preempted
            self._sender.begin(meta.asks, meta.sends)

    def _follow_keeper(self) -> None:
        """To the next one, once it listens. What the one before carried is gone."""
        streamer = self._attachment.next() if self._attachment is not None else None
        if streamer is None or self._attachment is None:
            return
        for end in (self._sender, self._receiver):
            if end is not None:
                end.begin_anew(streamer)
        self._attachment.replace()

    def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None:
        meta = self._meta()
        if self._receiver is not None:
            self._receiver.begin(meta.receives, meta.dropped)

    def wait_for_layer_load(self, layer_name: str) -> None:
        """No request is scheduled before all of its KV has come."""

    def save_kv_layer(
        self, layer_name: str, kv_layer: Any, attn_metadata: Any, **kwargs: Any
    ) -> None:
        if self._sender is not None and self._planes is not None and not self._in_parts:
            self._sender.give(self._planes.layers[layer_name] + 1)

    def wait_for_save(self) -> None:
        """Once a step, after all forwards, a draft model's too. Waits for nothing: blocks are kept
        until get_finished() names their request."""
        if self._sender is not None and self._planes is not None:
            self._sender.give(len(self._planes.layers))

    def get_finished(
        self, finished_req_ids: Set[str]
    ) -> Tuple[Optional[Set[str]], Optional[Set[str]]]:
        sent = self._sender.finished(finished_req_ids) if self._sender is not None else None
        received = self._receiver.finished() if self._receiver is not None else None
        return sent or None, received or None

    def get_block_ids_with_load_errors(self) -> Set[int]:
        return self._receiver.load_errors() if self._receiver is not None else set()

    def get_kv_connector_stats(self) -> Optional[KVConnectorStats]:
        """Since the last call; vLLM's comes right behind get_finished()."""
        if self._attachment is None:  # the scheduler's
            return None
        return self._counts.since_last(self._attachment.streamer)

    def shutdown(self) -> None:
        for end in (self._sender, self._receiver, self._attachment, self._runtime):
            if end is not None:
                end.close()
        self._sender = self._receiver = self._attachment = self._runtime = None

    @classmethod
    def requires_piecewise_for_cudagraph(cls, extra_config: Dict[str, Any]) -> bool:
        """Layers are streamed between graphs."""
        return True

    # --- where vLLM logs, and answers /metrics ------------------------------------------------

    @classmethod
    def build_kv_connector_stats(
        cls, data: Optional[Dict[str, Any]] = None
    ) -> Optional[KVConnectorStats]:
        return StreamStats(dict(data or {}))

    @classmethod
    def build_prom_metrics(
        cls, vllm_config: Any, metric_types: Dict[Any, Any], labelnames: List[str],
        per_engine_labelvalues: Dict[int, List[object]],
    ) -> Optional[KVConnectorPromMetrics]:
        return StreamPromMetrics(vllm_config, metric_types, labelnames, per_engine_labelvalues)

    # --- in the scheduler ---------------------------------------------------------------------

    def get_num_new_matched_tokens(
        self, request: Any, num_computed_tokens: int
    ) -> Tuple[Optional[int], bool]:
        if self._decode is None:
            return 0, False
        return self._decode.matched(request, num_computed_tokens)

    def update_state_after_alloc(
        self, request: Any, blocks: Any, num_external_tokens: int
    ) -> None:
        if self._prefill is not None:
            self._prefill.admit(request)
        if self._decode is not None:
            self._decode.allocated(request, blocks, num_external_tokens)

    def build_connector_meta(self, scheduler_output: Any) -> KVConnectorMetadata:
        if self._prefill is not None:
            return self._prefill.step(scheduler_output)
        assert self._decode is not None
        return self._decode.step()

    def request_finished(
        self, request: Any, block_ids: List[int]
    ) -> Tuple[bool, Optional[Dict[str, Any]]]:
        if self._prefill is not None:
            return self._prefill.finished(request)
        if self._decode is not None:
            self._decode.finished(request)
        return False, None
