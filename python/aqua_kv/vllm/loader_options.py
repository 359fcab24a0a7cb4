# SPDX-License-Identifier: Apache-2.0
"""What users write in model_loader_extra_config, for `--load-format aqua`."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Dict, Mapping

# How the first engine may read the model. Formats whose ranks read together are not among them:
# here each rank waits for others on its own. Nor are those that bring a load_model() of their own.
READ_FORMATS = ("auto", "hf", "safetensors", "pt", "mistral", "npcache", "dummy")
WHEN_MISSING = ("publish", "load", "fail")


@dataclass(frozen=True)
class LoaderOptions:
    # What to do when the keeper has no such weights. "publish": read the model and publish it, or
    # wait for an engine that is doing so. "load": read it, for this engine alone. "fail".
    when_missing: str = "publish"
    load_format: str = "auto"  # how the model is read then: vLLM's format of this name
    load_options: Dict[str, Any] = field(default_factory=dict)  # extra config of that format
    # For another engine, or other ranks, to publish. vLLM gives up an engine that is not ready after
    # $VLLM_ENGINE_READY_TIMEOUT_S, 600 unless set.
    wait_seconds: int = 600
    # Read-only mappings for buffers too. Without, each engine has copies of its buffers, which it
    # may write as it runs.
    map_buffers: bool = False
    # Names the checkpoint's content, in place of what its files or its commit say. Whoever changes
    # the content must change it.
    version: str = ""
    keeper: str = ""  # socket; empty: $AQUA_KEEPER, else where aqua-keeper puts it
    device: str = ""  # as in Runtime.open(); empty: the worker's GPU
    socket_directory: str = ""  # empty: $XDG_RUNTIME_DIR/aqua, else /tmp/aqua-UID

    @classmethod
    def parse(cls, extra_config: Any) -> "LoaderOptions":
        """ValueError names what is unknown, of the wrong type or out of range."""
        if not isinstance(extra_config, Mapping):
            raise ValueError(f"model_loader_extra_config is {extra_config!r}, not an object")
        defaults = vars(cls())
        for name, value in extra_config.items():
            if name not in defaults:
                there = ", ".join(option.name for option in fields(cls))
                raise ValueError(f"load format aqua has no option {name!r}; there are {there}")
            wanted = type(defaults[name])
            if not isinstance(value, wanted) or isinstance(value, bool) != (wanted is bool):
                raise ValueError(f"load format aqua: {name} is {value!r}, not {wanted.__name__}")
        options = cls(**extra_config)
        for name, allowed in (("when_missing", WHEN_MISSING), ("load_format", READ_FORMATS)):
            if getattr(options, name) not in allowed:
                raise ValueError(
                    f"load format aqua: {name} is {getattr(options, name)!r}; "
                    f"there are {', '.join(allowed)}"
                )
        if options.wait_seconds < 0:
            raise ValueError("load format aqua: wait_seconds must not be negative")
        return options
