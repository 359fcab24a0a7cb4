# SPDX-License-Identifier: Apache-2.0
"""What users write under "aqua" in kv_connector_extra_config."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Mapping

_MIB = 1 << 20


@dataclass(frozen=True)
class Options:
    offload_bytes: int  # of offloaded KV cache, of all workers of this engine together
    max_peer_bytes: int = -1  # the most a worker borrows of neighbours; -1: room for its share
    host_bytes: int = 0  # host tier of a worker; 0: room for its share, which it must have
    tensor_bytes: int = 64 * _MIB  # the size of a tensor: what moves between tiers at once
    coordinator: str = ""  # "unix:PATH" or "HOST:PORT"; empty: $AQUA_COORDINATOR, else none
    device: str = ""  # empty: that of the KV cache
    domain: str = ""  # NVLink domain; empty: the server's only one
    socket_directory: str = ""  # empty: $XDG_RUNTIME_DIR/aqua, else /tmp/aqua-UID

    @classmethod
    def parse(cls, extra_config: Mapping[str, Any]) -> "Options":
        """ValueError names what is missing, unknown or of the wrong type."""
        given = extra_config.get("aqua")
        if not isinstance(given, Mapping):
            raise ValueError(
                'kv_connector_extra_config wants "aqua": {"offload_bytes": N}, N the bytes of '
                "offloaded KV cache of all workers together"
            )
        known = {option.name: str(option.type) for option in fields(cls)}
        for name, value in given.items():
            if name not in known:
                raise ValueError(f'"aqua": no option {name!r}; there are {", ".join(known)}')
            wanted = int if known[name] == "int" else str
            if not isinstance(value, wanted) or isinstance(value, bool):
                raise ValueError(f'"aqua": {name} is {value!r}, not {wanted.__name__}')
        if given.get("offload_bytes", 0) <= 0:
            raise ValueError('"aqua": offload_bytes must be given, and more than 0')
        options = cls(**given)
        if options.tensor_bytes <= 0 or options.host_bytes < 0 or options.max_peer_bytes < -1:
            raise ValueError('"aqua": bytes must not be negative')
        return options
