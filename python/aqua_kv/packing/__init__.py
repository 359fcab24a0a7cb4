# SPDX-License-Identifier: Apache-2.0
"""On which engine each request's KV is, so that few engines are needed (aqua/packing/packer.hpp):
where a request goes when it comes, and which requests move while they grow and end. Numbers only:
a packer belongs to no runtime, reads no clock and moves no byte. docs/plan/packing.md has an example.

Ids are the caller's own numbers. Units: tokens of KV.
"""

from .divide import EngineBoundary, SendAs, ServerBoundary, Ways, divide
from .packer import Packer, policies
from .plan import (
    Certificate,
    EngineState,
    EngineStatus,
    Move,
    PackerStatus,
    Placement,
    Plan,
    Preemption,
    Reason,
    RequestState,
    RequestStatus,
)

__all__ = [
    "Certificate", "EngineBoundary", "EngineState", "EngineStatus", "Move", "Packer", "PackerStatus",
    "Placement", "Plan", "Preemption", "Reason", "RequestState", "RequestStatus", "SendAs",
    "ServerBoundary", "Ways", "divide", "policies",
]
