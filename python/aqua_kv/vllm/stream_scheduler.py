# SPDX-License-Identifier: Apache-2.0
"""AquaConnector in vLLM's scheduler: which prompts are sent, which are waited for."""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorMetadata

logger = logging.getLogger(__name__)

_SEQUENCE_BITS = 53  # that JSON keeps in every language it passes through


@dataclass(frozen=True)
class Ask:
    """A prompt whose first tokens are computed in this step, and the last ones in a later one."""

    request: str
    sequence: int
    tokens: int


@dataclass(frozen=True)
class Send:
    """A prompt whose last tokens are computed in this step."""

    request: str
    sequence: int
    blocks: Tuple[int, ...]
    tokens: int


@dataclass(frozen=True)
class Receive:
    request: str
    sequence: int
    blocks: Tuple[int, ...]
    tokens: int


@dataclass
class AquaConnectorMetadata(KVConnectorMetadata):
    asks: List[Ask] = field(default_factory=list)  # for room
    sends: List[Send] = field(default_factory=list)
    cancelled: List[str] = field(default_factory=list)  # whose blocks are others' now
    receives: List[Receive] = field(default_factory=list)
    dropped: List[int] = field(default_factory=list)  # sequences that nobody wants here


@dataclass
class _Prompt:
    tokens: int
    blocks: List[int] = field(default_factory=list)
    sequence: Optional[int] = None  # once room is asked for
    sent: bool = False


class PrefillScheduler:
    """Of the engine that computes prompts."""

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._prompts: Dict[str, _Prompt] = {}
        self._ended: List[str] = []  # before they were sent

    def admit(self, request: Any) -> None:
        params = request.kv_transfer_params or {}
        if params.get("do_remote_decode"):
            self._prompts.setdefault(request.request_id, _Prompt(request.num_prompt_tokens))

    def step(self, output: Any) -> AquaConnectorMetadata:
        meta = AquaConnectorMetadata()
        meta.cancelled, self._ended = self._ended, []
        for request in output.preempted_req_ids or ():
            prompt = self._prompts.get(request)
            if prompt is not None and prompt.sequence is not None:
                meta.cancelled.append(request)
                # Sent anew, as another one, when it is computed again.
                prompt.sequence, prompt.sent = None, False
        for new in output.scheduled_new_reqs:
            self._computed(meta, output, new.req_id, new.block_ids, new.num_computed_tokens, True)
        cached = output.scheduled_cached_reqs
        for i, request in enumerate(cached.req_ids):
            resumed = request in cached.resumed_req_ids
            blocks, computed = cached.new_block_ids[i], cached.num_computed_tokens[i]
            self._computed(meta, output, request, blocks, computed, resumed)
        return meta

    def _computed(
        self, meta: AquaConnectorMetadata, output: Any, request: str, blocks: Any, computed: int,
        anew: bool,
    ) -> None:
        prompt = self._prompts.get(request)
        if prompt is None or prompt.sent:
            return
        if anew:
            prompt.blocks = []
        prompt.blocks += blocks[0] if blocks else ()
        is_first = prompt.sequence is None
        if prompt.sequence is None:
            prompt.sequence = secrets.randbits(_SEQUENCE_BITS)
        if computed + output.num_scheduled_tokens.get(request, 0) < prompt.tokens:
            if is_first:
                meta.asks.append(Ask(request, prompt.sequence, prompt.tokens))
            return
        prompt.sent = True
        count = -(-prompt.tokens // self._block_size)
        meta.sends.append(
            Send(request, prompt.sequence, tuple(prompt.blocks[:count]), prompt.tokens)
        )

    def finished(self, request: Any) -> Tuple[bool, Optional[Dict[str, Any]]]:
        prompt = self._prompts.pop(request.request_id, None)
        if prompt is None or not prompt.sent:
            if prompt is not None and prompt.sequence is not None:
                self._ended.append(request.request_id)
            return False, None
        return True, {
            "do_remote_prefill": True, "do_remote_decode": False,
            "aqua_sequence": prompt.sequence, "aqua_tokens": prompt.tokens,
        }


class DecodeScheduler:
    """Of the engine that goes on."""

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._next = AquaConnectorMetadata()

    def matched(self, request: Any, computed: int) -> Tuple[int, bool]:
        """A prompt's KV comes whole: where a part of it is cached here, or where it is of another
        prompt, all is computed here."""
        params = request.kv_transfer_params or {}
        if not params.get("do_remote_prefill") or computed:
            return 0, False
        if _sequence(params) is None:
            logger.warning(
                "request %s is told of no sequence by %r: it is computed here",
                request.request_id, params.get("aqua_sequence"),
            )
            return 0, False
        if params.get("aqua_tokens") != request.num_prompt_tokens:
            logger.warning(
                "request %s has %d prompt tokens, %s were sent: they are computed here",
                request.request_id, request.num_prompt_tokens, params.get("aqua_tokens"),
            )
            return 0, False
        return request.num_prompt_tokens, True

    def allocated(self, request: Any, blocks: Any, external: int) -> None:
        params = request.kv_transfer_params or {}
        if not params.get("do_remote_prefill"):
            return
        params["do_remote_prefill"] = False  # once; computed here if it fails
        sequence = _sequence(params)
        if sequence is None:
            return
        if not external:
            self._next.dropped.append(sequence)
            return
        count = -(-external // self._block_size)
        ids = tuple(blocks.get_block_ids()[0][:count])
        self._next.receives.append(Receive(request.request_id, sequence, ids, external))

    def finished(self, request: Any) -> None:
        """A request that ended before it was given blocks."""
        params = request.kv_transfer_params or {}
        sequence = _sequence(params)
        if params.get("do_remote_prefill") and sequence is not None:
            params["do_remote_prefill"] = False
            self._next.dropped.append(sequence)

    def step(self) -> AquaConnectorMetadata:
        meta, self._next = self._next, AquaConnectorMetadata()
        return meta


def _sequence(params: Dict[str, Any]) -> Optional[int]:
    """None: there is none. What a client sends may be anything."""
    given = params.get("aqua_sequence")
    return given if type(given) is int and 0 <= given < 1 << _SEQUENCE_BITS else None
