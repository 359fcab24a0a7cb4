# SPDX-License-Identifier: Apache-2.0
"""Under which name a model's processed weights are shared: whatever changes one of their bytes
changes the name. Of two engines whose names are alike each computes with the other's bytes, so that
what is in doubt is taken into the name: at worst weights are not shared that could have been.

  model    "vllm/BASENAME/DIGEST", the digest of all facts but the checkpoint's
  version  the checkpoint's: what its files (all but their content) or its commit say
  shard    the tensor-parallel rank, of as many shards as there are ranks
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
import os
import re
import shlex
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, Dict, Mapping, Optional

from vllm.config.model import ModelConfig
from vllm.config.vllm import VllmConfig
from vllm.distributed.parallel_state import (
    get_dp_group,
    get_pcp_group,
    get_pp_group,
    get_tensor_model_parallel_rank,
    get_tensor_model_parallel_world_size,
)
from vllm.envs import compile_factors
from vllm.version import __version__ as vllm_version

from .description import SharingError
from .loader_options import LoaderOptions
from .tensors import torch

_PACKAGES = ("flashinfer-python", "deep_gemm", "triton")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+\b")
_DIGITS = 32  # of a digest's hexadecimal ones
_NAME = 64  # bytes of a model's name that are shown
_LENGTH = 8  # bytes at the start of a safetensors file that tell how long its header is ...
_LONGEST_HEADER = 100_000_000  # ... which is not longer
_FILES = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".json")


@dataclass(frozen=True)
class Identity:
    model: str
    version: str
    shard: int
    shards: int
    # Published too, so that two that differ can be told how.
    facts: Mapping[str, Any] = field(compare=False)
    found: str = field(default="", compare=False)  # the version that this rank has found itself

    def __str__(self) -> str:
        return f"{self.model} {self.version} (shard {self.shard} of {self.shards})"

    @property
    def retire(self) -> str:
        """How to be rid of what is published, for messages: until its last reader has gone, the
        keeper answers it to who names it."""
        named = f"--model {shlex.quote(self.model)} --version {shlex.quote(self.version)}"
        return f"end the engines that map it, then `aqua models retire {named}`"

    def check(self, published: Mapping[str, Any]) -> None:
        """SharingError names the facts that differ from those that were published."""
        mine = json.loads(json.dumps(self.facts))
        names = sorted(set(mine) | set(published))
        other = [n for n in names if mine.get(n) != published.get(n)]
        if other:
            raise SharingError(
                f"{self} was published by an engine of another {', '.join(other)}: {self.retire}"
            )


def identity_of(
    vllm_config: VllmConfig, model_config: ModelConfig, options: LoaderOptions, version: str = ""
) -> Identity:
    """Asked before the model is made: vLLM's processing may change the configuration. The
    distributed environment is there by then. `version`: what another rank has found, if given."""
    facts = _facts(vllm_config, model_config, options)
    plain = "".join(c if " " < c <= "~" else "_" for c in os.path.basename(model_config.model))
    found = options.version or checkpoint_version(model_config)
    return Identity(
        model=f"vllm/{plain[:_NAME]}/{digest(facts)}",
        version=version or found,
        shard=get_tensor_model_parallel_rank(),
        shards=get_tensor_model_parallel_world_size(),
        facts=facts,
        found=found,
    )


def digest(facts: Any) -> str:
    """Alike in every process for what is alike. SharingError where that cannot be said."""
    try:
        text = json.dumps(facts, sort_keys=True, default=_plain)
    except TypeError as error:
        raise SharingError(f"load format aqua: an option is no plain data ({error})") from error
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _plain(value: Any) -> Any:
    """What json does not know, as data that it does."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, enum.Enum):
        return [kind, value.name]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [kind, {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}]
    if isinstance(value, (set, frozenset)):
        return sorted(json.dumps(each, sort_keys=True, default=_plain) for each in value)
    if hasattr(value, "compute_hash") and not isinstance(value, type):
        return [kind, value.compute_hash()]
    text = repr(value)
    if _ADDRESS.search(text):
        raise SharingError(
            f"load format aqua: an option is {text}, which is another in every engine: write it as "
            "plain data, or use another load format"
        )
    return text


def _hash_of(config: Any) -> Any:
    """vLLM's own, of a part of its configuration that has one."""
    return config.compute_hash() if hasattr(config, "compute_hash") else None


def _installed(package: str) -> Optional[str]:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _facts(
    vllm_config: VllmConfig, model_config: ModelConfig, options: LoaderOptions
) -> Dict[str, Any]:
    pp, dp, pcp = get_pp_group(), get_dp_group(), get_pcp_group()
    parallel, cache = vllm_config.parallel_config, vllm_config.cache_config
    kernel, lora = vllm_config.kernel_config, vllm_config.lora_config
    return {
        "vllm": vllm_version,
        "torch": str(torch().__version__),
        # They pack weights for their kernels.
        "packages": {name: _installed(name) for name in _PACKAGES},
        "model": model_config.model,
        "revision": model_config.revision,
        "dtype": str(model_config.dtype),
        "quantization": model_config.quantization,
        # A hash of the Hugging Face configuration and of nearly all of vLLM's options for a model.
        "model configuration": model_config.compute_hash(),
        "conversion": str(model_config.convert),
        "multimodal": digest(model_config.multimodal_config),
        "load format": options.load_format,
        "load options": digest([options.load_options, vllm_config.load_config.ignore_patterns]),
        "tensor parallel size": get_tensor_model_parallel_world_size(),
        "pipeline parallel": [pp.rank_in_group, pp.world_size],
        "data parallel": [dp.rank_in_group, dp.world_size],
        "prefill context parallel": [pcp.rank_in_group, pcp.world_size],
        "parallel configuration": _hash_of(parallel),
        "kernel configuration": _hash_of(kernel),
        "expert parallel": bool(parallel.enable_expert_parallel),
        "expert placement": str(parallel.expert_placement_strategy),
        "KV cache dtype": str(cache.cache_dtype),
        "KV cache dtype of layers": sorted(map(str, cache.kv_cache_dtype_skip_layers)),
        "MoE backend": str(kernel.moe_backend),
        "linear backend": str(kernel.linear_backend),
        "linear backend of types": sorted((kernel.linear_backend_per_quant or {}).items()),
        "attention configuration": vllm_config.attention_config.compute_hash(),
        "LoRA": None if lora is None else lora.compute_hash(),
        "additional configuration": digest(vllm_config.additional_config),
        "environment of vLLM": digest(compile_factors()),
    }


def checkpoint_version(model_config: ModelConfig) -> str:
    """A digest of what the checkpoint's files are (not of all their bytes), or of its commit.
    SharingError where neither is known."""
    place = model_config.model
    if getattr(model_config, "model_weights", ""):
        raise SharingError(
            f"{place}: what lies in an object store is not known by content; name it with "
            '"version" in model_loader_extra_config'
        )
    if os.path.isdir(place):
        return digest(["files", os.path.realpath(place), _files(place)])
    if os.path.isfile(place):
        return digest(["file", os.path.realpath(place), _form(place)])
    commit = getattr(model_config.hf_config, "_commit_hash", None)
    if not commit:
        raise SharingError(
            f"{place} is no local directory, and its commit is not known: name its content with "
            '"version" in model_loader_extra_config'
        )
    return digest(["commit", place, commit])


def check_unchanged(model_config: ModelConfig, options: LoaderOptions, read: Identity) -> None:
    """After reading, before anything is published: SharingError where the files are no longer those
    that this rank found when it named `read`, as what was read may be some of both."""
    if not options.version and checkpoint_version(model_config) != read.found:
        raise SharingError(
            f"load format aqua: {model_config.model} changed while it was read; start again"
        )


def _files(place: str) -> Any:
    names = sorted(name for name in os.listdir(place) if name.endswith(_FILES))
    return [(name, _form(os.path.join(place, name))) for name in names]


def _form(path: str) -> Any:
    """What tells a file from one that is put in its place. Size and time alone do not: copies keep
    them (cp -p, rsync -a). A time of change cannot be set, and a file's number is its own; both
    also change where the content does not, and a version then is one too many. The header of a
    safetensors file says what lies in it."""
    found = os.stat(path)
    form = [
        found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev,
    ]
    return [*form, _header(path) if path.endswith(".safetensors") else ""]


def _header(path: str) -> str:
    with open(path, "rb") as file:
        length = file.read(_LENGTH)
        announced = min(int.from_bytes(length, "little"), _LONGEST_HEADER)
        return hashlib.sha256(length + file.read(announced)).hexdigest()
