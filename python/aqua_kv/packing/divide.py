# SPDX-License-Identifier: Apache-2.0
"""How the moves of a plan are made (Mell, section V)."""

from __future__ import annotations

import ctypes
import enum
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from .._c import packer_structs as p
from .._errors import check
from .._library import lib
from .packer import number
from .plan import Move


class SendAs(enum.IntEnum):
    KV = 0  # over the links
    TOKENS = 1  # computed again on the other engine
    LATER = 2  # say failed(), or do it in a later epoch


class Ways(enum.IntEnum):
    """Which ways divide() may choose, beside later."""

    EITHER = 0
    KV_ONLY = 1
    TOKENS_ONLY = 2


class EngineBoundary(NamedTuple):
    """What an engine may do in an epoch beside its work."""

    server: int = 0
    bytes_in: int = 0  # over its own link, from wherever
    bytes_out: int = 0
    prefill_tokens: int = 0  # that it may compute without delaying those that it decodes


class ServerBoundary(NamedTuple):
    """To and from other servers, all engines of this one together."""

    bytes_in: int = 0
    bytes_out: int = 0


def divide(moves: Sequence[Move], engines: Dict[int, EngineBoundary],
           servers: Optional[Dict[int, ServerBoundary]] = None,
           ways: Ways = Ways.EITHER) -> List[SendAs]:
    """Answers for each move, by its place, how it is made, so that no boundary is exceeded (Mell,
    section V). INVALID_ARGUMENT names an engine or a server that has no boundary."""
    c_moves = (p.CPackerMove * len(moves))(*(p.CPackerMove(*move) for move in moves))
    c_engines = _boundaries(p.CPackerEngineBoundary, engines)
    c_servers = _boundaries(p.CPackerServerBoundary, servers or {})
    send_as = (ctypes.c_uint32 * len(moves))()
    check(lib.aqua_packer_divide(c_moves, len(moves), c_engines, len(c_engines), c_servers,
                                len(c_servers), ways, send_as))
    return [SendAs(one) for one in send_as]


def _boundaries(kind: Any, by_id: Dict[int, Any]) -> Any:
    return (kind * len(by_id))(
        *(kind(number(key, "id"), *(number(value, "boundary") for value in boundary))
          for key, boundary in by_id.items()))
