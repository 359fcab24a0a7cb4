# SPDX-License-Identifier: Apache-2.0
"""`--load-format aqua`: the first engine reads a model, processes its weights and publishes them by
aqua-keeper; the others map them. Nothing is read from a disk unless the options say so.

  find     ask the keeper; where it has nothing, claim the name, so that one engine alone reads the
           model while the others wait for it
  publish  the state after processing; the publisher then maps it too and lets go of its own
  map      the model is made without memory, is given the published tensors, and is processed in
           vLLM's mode for weights that are processed already
"""

from __future__ import annotations

import dataclasses
import gc
import logging
import time
import weakref
from typing import AbstractSet, Any, Dict, Optional

from vllm.config.load import LoadConfig
from vllm.config.model import ModelConfig
from vllm.config.vllm import VllmConfig
from vllm.distributed.parallel_state import get_world_group
from vllm.model_executor.layers.quantization.base_config import QuantizeMethodBase
from vllm.model_executor.model_loader import get_model_loader
from vllm.model_executor.model_loader.base_loader import BaseModelLoader
from vllm.model_executor.model_loader.utils import process_weights_after_loading
from vllm.model_executor.utils import weights_already_processed
from vllm.utils.torch_utils import set_default_torch_dtype

from .._errors import Error
from .description import Declared, SharingError, read_description
from .identity import Identity, check_unchanged, identity_of
from .loader_options import LoaderOptions
from .model_state import attributes_in, collect, declared_by
from .placement import Placement
from .sharing import Session, first_rank_says, open_session, to_host
from .tensors import torch

_log = logging.getLogger(__name__)

# Sessions that get_external_weight_memory() has opened, until this process loads the model. What it
# told vLLM then stays so: the weights stay mapped, or the claim held.
_opened: Dict[Identity, Session] = {}


class AquaModelLoader(BaseModelLoader):
    """Runs in a worker process of vLLM, on one thread. load_model() blocks, for another engine that
    is loading the model too.

    Errors: SharingError where weights cannot be shared, or what is published is not this model's;
    the cause is an aqua_kv.Error where the keeper or the device refused.
    """

    def __init__(self, load_config: LoadConfig) -> None:
        super().__init__(load_config)
        self.options = LoaderOptions.parse(load_config.model_loader_extra_config or {})
        self._declared: Optional[Dict[str, Declared]] = None
        self._loaded: AbstractSet[str] = frozenset()  # plain attributes that are tensors by then
        self._reader: Optional[BaseModelLoader] = None  # while this engine reads the model

    def get_external_weight_memory(self, vllm_config: VllmConfig) -> int:
        """Bytes of the device that the keeper has and this engine will map, so that vLLM takes them
        off what it may use itself. 0 where this engine is the one to read the model."""
        session = self._session(vllm_config, vllm_config.model_config)
        _opened[session.identity] = session
        return session.weights.bytes if session.weights is not None else 0

    def download_model(self, model_config: ModelConfig) -> None:
        if self.options.when_missing != "fail":
            self._new_reader().download_model(model_config)

    def load_weights(self, model: Any, model_config: ModelConfig) -> None:
        """Called by load_model() alone: weights that are mapped cannot be written."""
        if self._reader is None:
            raise SharingError(
                "load format aqua does not load weights into a model that has some: they are mapped "
                "by other engines too. Restart the engine, or use another load format"
            )
        self._reader.load_weights(model, model_config)
        self._loaded = attributes_in(model)

    def create_model(
        self, vllm_config: VllmConfig, model_config: ModelConfig, prefix: str = ""
    ) -> Any:
        model = super().create_model(vllm_config, model_config, prefix)
        if self._reader is None or self.options.when_missing == "publish":
            refuse_model(model, self.options)  # before anything is read
        self._declared = declared_by(model)
        return model

    def load_model(
        self, vllm_config: VllmConfig, model_config: ModelConfig, prefix: str = ""
    ) -> Any:
        session = self._session(vllm_config, model_config)
        try:
            if session.weights is not None:
                model = self._map(vllm_config, model_config, prefix, session)
            elif self.options.when_missing == "load":
                _log.warning(
                    "Aqua weights: %s is not published; read for this engine alone "
                    '("when_missing" is "load")', session.identity,
                )
                session.close()
                return self._read(vllm_config, model_config, prefix)
            else:
                model = self._publish(vllm_config, model_config, prefix, session)
            session.release()
            return model
        except BaseException as error:
            try:
                _settle(self._device(vllm_config))  # what was mapped may be in use
            finally:
                session.close()
            if isinstance(error, Error):
                raise SharingError(f"load format aqua, {session.identity}: {error}") from error
            raise

    def _session(self, vllm_config: VllmConfig, model_config: ModelConfig) -> Session:
        """All ranks ask for it, and all have the version that the first one finds."""
        ranks = get_world_group()

        def version() -> str:
            refuse_what_cannot_be_shared(vllm_config, model_config)
            return identity_of(vllm_config, model_config, self.options).version

        found = first_rank_says(ranks, version)
        identity = identity_of(vllm_config, model_config, self.options, found)
        held = _opened.pop(identity, None)
        if held is not None:
            return held
        for other in list(_opened):  # of a configuration that has changed since
            _opened.pop(other).close()
        return open_session(identity, self.options, self._device(vllm_config), ranks)

    def _map(
        self, vllm_config: VllmConfig, model_config: ModelConfig, prefix: str, session: Session
    ) -> Any:
        device = self._device(vllm_config)
        start = time.monotonic()
        placement = self._placement(session, device)
        with set_default_torch_dtype(model_config.dtype):
            with torch().device("meta"):
                model = self.create_model(vllm_config, model_config, prefix)
            placement.check_declared(self._declared or {})
            placement.fill(model)
            with weights_already_processed():
                process_weights_after_loading(model, model_config, device)
            anew = placement.complete(model)
        _log.info(
            "Aqua weights: mapped %s, %d bytes, in %.2f s; %d bytes were made anew by processing",
            session.identity, placement.bytes, time.monotonic() - start, anew,
        )
        _settle_first(model, device)
        return model.eval()

    def _publish(
        self, vllm_config: VllmConfig, model_config: ModelConfig, prefix: str, session: Session
    ) -> Any:
        device = self._device(vllm_config)
        model = self._read(vllm_config, model_config, prefix)
        check_unchanged(model_config, self.options, session.identity)
        _settle(device)  # the copies are not in torch's streams
        state = collect(model, self._declared or {}, session.identity.facts, device, self._loaded)
        session.publish(state.weights)
        placement = self._placement(session, device)
        placement.check_declared(self._declared or {})
        placement.rebind(model)
        placement.complete(model)
        _log.info("Aqua weights: published %s, %d bytes", session.identity, placement.bytes)
        del state, placement
        _free_unused(device)
        _settle_first(model, device)
        return model.eval()

    def _placement(self, session: Session, device: Any) -> Placement:
        """Of what is mapped, once it is known to be what this engine would have published."""
        assert session.weights is not None
        retire = session.identity.retire
        read = to_host(session.runtime, device)
        description = read_description(session.weights, read, retire)
        session.identity.check(description.identity)
        return Placement(
            description, session.weights, device, map_buffers=self.options.map_buffers,
            retire=retire,
        )

    def _read(self, vllm_config: VllmConfig, model_config: ModelConfig, prefix: str) -> Any:
        """From a disk, as BaseModelLoader has it, with another loader's load_weights()."""
        self._reader = self._new_reader()
        try:
            return super().load_model(vllm_config, model_config, prefix)
        finally:
            self._reader = None

    def _new_reader(self) -> BaseModelLoader:
        return get_model_loader(
            dataclasses.replace(
                self.load_config,
                load_format=self.options.load_format,
                model_loader_extra_config=dict(self.options.load_options),
            )
        )

    def _device(self, vllm_config: VllmConfig) -> Any:
        named = self.load_config.device or vllm_config.device_config.device
        device = torch().device(named)
        if device.type != "cpu" and device.index is None:
            return torch().device(device.type, torch().accelerator.current_device_index())
        return device


def refuse_what_cannot_be_shared(vllm_config: VllmConfig, model_config: ModelConfig) -> None:
    """SharingError names an option of the engine under which weights are written as it runs, or lie
    elsewhere than in the device's memory."""
    offload, speculative = vllm_config.offload_config, vllm_config.speculative_config
    draft = speculative is not None and model_config is speculative.draft_model_config
    reasons = {
        "sleep mode frees and writes weights: leave out --enable-sleep-mode":
            model_config.enable_sleep_mode,
        "expert load balancing (EPLB) moves experts' weights: leave out --enable-eplb":
            vllm_config.parallel_config.enable_eplb,
        "an engine of several nodes (--nnodes) has weights where no one keeper is: leave it out":
            vllm_config.parallel_config.nnodes > 1,
        "weight transfer writes weights: leave out --weight-transfer-config":
            vllm_config.weight_transfer_config is not None,
        "offloaded weights are not in the device's memory: leave out --cpu-offload-gb and "
        "--offload-group-size":
            offload.uva.cpu_offload_gb > 0 or offload.prefetch.offload_group_size > 0,
        'a draft model is not shared: give it "draft_load_config": {"load_format": "auto"} in '
        "--speculative-config": draft,
    }
    for reason, holds in reasons.items():
        if holds:
            raise SharingError(f"load format aqua: {reason}; or use another load format")


def refuse_model(model: Any, options: LoaderOptions) -> None:
    """SharingError names the layer whose weights cannot be shared after processing, or that the
    model reads of a second checkpoint."""
    for name, module in model.named_modules():
        method = getattr(module, "quant_method", None)
        if isinstance(method, QuantizeMethodBase) and not method.supports_pre_processed_weights:
            raise SharingError(
                f"load format aqua: {name or 'the model'}: {type(method).__name__} cannot take "
                "weights that are processed already (vLLM: supports_pre_processed_weights); use "
                "another load format for this quantization"
            )
    if getattr(model, "secondary_weights", ()) and not options.version:
        raise SharingError(
            "load format aqua: this model reads a second checkpoint, whose content is not known; "
            'name both with "version" in model_loader_extra_config'
        )


def _settle(device: Any) -> None:
    if device.type != "cpu":
        torch().accelerator.synchronize(device)


def _settle_first(model: Any, device: Any) -> None:
    """Has the device's work end before a model that is dropped lets go of its mappings, which, other
    than torch's own memory, are not freed in stream order."""
    if device.type != "cpu":
        weakref.finalize(model, torch().accelerator.synchronize, device)


def _free_unused(device: Any) -> None:
    gc.collect()
    if device.type != "cpu":
        torch().accelerator.empty_cache()
