# SPDX-License-Identifier: Apache-2.0
"""What users write under "aqua" in kv_connector_extra_config of an AquaConnector."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Dict, Mapping, Tuple


@dataclass(frozen=True)
class Peer:
    """The pipeline at the other end."""

    block_size: int
    tensor_parallel_size: int = 1
    stage_layers: Tuple[int, ...] = ()  # of each pipeline stage; empty: one stage


@dataclass(frozen=True)
class StreamOptions:
    name: str  # of those who stream to each other: the model's, say
    peer: Peer
    stage_layers: Tuple[int, ...] = ()  # of this engine's stages; wanted where there are several
    kv_heads: int = 0  # of the model; 0: as many as the ranks have together
    sequences: int = 64  # that a decode engine has room for, on their way
    patience_s: int = 120  # that a sequence is waited for, before it is computed here
    parcel_bytes: int = 256 << 20  # of the largest prompt's KV that one rank sends to another
    ready: int = 2  # such pieces of host memory that are kept ready to send
    keeper: str = ""  # its socket; empty: $AQUA_KEEPER, else this user's own
    device: str = ""  # empty: that of the KV cache
    socket_directory: str = ""  # empty: $XDG_RUNTIME_DIR/aqua, else /tmp/aqua-UID

    @classmethod
    def parse(cls, extra_config: Mapping[str, Any]) -> "StreamOptions":
        """ValueError names what is missing, unknown or of the wrong type."""
        given: Dict[str, Any] = dict(_struct(cls, extra_config.get("aqua"), '"aqua"'))
        for wanted in ("name", "peer"):
            if not given.get(wanted):
                raise ValueError(f'"aqua": {wanted} must be given')
        peer = _struct(Peer, given["peer"], '"aqua": "peer"')
        if not peer.get("block_size"):
            raise ValueError('"aqua": "peer": block_size must be given')
        given["peer"] = Peer(**peer)
        options = cls(**given)
        if min(options.sequences, options.patience_s, options.parcel_bytes) <= 0:
            raise ValueError('"aqua": sequences, patience_s and parcel_bytes must be more than 0')
        return options


def _struct(of: Any, given: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise ValueError(f"{what} of kv_connector_extra_config is {given!r}, not a mapping")
    known = {option.name: str(option.type) for option in fields(of)}
    values = {}
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"{what}: no option {name!r}; there are {', '.join(known)}")
        if known[name].startswith("Tuple"):
            if not isinstance(value, (list, tuple)) or not all(_is_count(v) for v in value):
                raise ValueError(f"{what}: {name} is {value!r}, not a list of numbers")
            values[name] = tuple(value)
            continue
        if known[name] == "int" and not _is_count(value):
            raise ValueError(f"{what}: {name} is {value!r}, not a number of 0 or more")
        if known[name] == "str" and not isinstance(value, str):
            raise ValueError(f"{what}: {name} is {value!r}, not str")
        values[name] = value
    return values


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
