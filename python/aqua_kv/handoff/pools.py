# SPDX-License-Identifier: Apache-2.0
"""What who looks after KV pools asks of a keeper, by a pool's name, a member or not. Each call blocks
for the keeper; `keeper` is its socket, else $AQUA_KEEPER, else where aqua-keeper puts it."""

from __future__ import annotations

from typing import Any

from .._errors import raise_error
from .._library import lib
from .._numbers import text, uint32


def _ask(call: Any, *arguments: Any) -> None:
    error = call(*arguments)
    if error:
        raise_error(error)


def cancel_parcel(pool: str, id: str, *, keeper: str = "") -> None:
    """Ends a parcel that nobody has taken, under whatever turn: of a request that was cancelled, say. The blocks of a
    closed one are free then; of an open one they stay its giver's. NOT_FOUND: no such pool, or no such parcel;
    FAILED_PRECONDITION: it is taken, and waits again if its taker dies."""
    _ask(lib.aqua_kv_pool_cancel_parcel, text(pool), text(id), text(keeper))


def move_quota(pool: str, source: str, destination: str, slabs: int, *, keeper: str = "") -> None:
    """Members of the role `source` may have less of the pool from now on, and those of `destination`
    as much more: the blocks of so many slabs. Nothing is taken from anybody. NOT_FOUND: no such pool,
    or one of the roles has no quota; RESOURCE_EXHAUSTED: the first would be left with no block."""
    _ask(lib.aqua_kv_pool_move_quota, text(pool), text(source), text(destination),
         uint32(slabs, "slabs"), text(keeper))


def release_quarantined(pool: str, *, keeper: str = "") -> None:
    """Says that nothing writes to the pool's quarantined blocks any more: the device was idle since
    the deaths, say. A wrong word costs bytes. NOT_FOUND: no such pool."""
    _ask(lib.aqua_kv_pool_release_quarantined, text(pool), text(keeper))


def remove_pool(pool: str, *, keeper: str = "") -> None:
    """Ends a pool of which nobody is a member, with the parcels that wait in it. NOT_FOUND: there is
    none; FAILED_PRECONDITION: it has members, or one whose end is not proven."""
    _ask(lib.aqua_kv_pool_remove, text(pool), text(keeper))
