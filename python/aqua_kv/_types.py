# SPDX-License-Identifier: Apache-2.0
"""The words that every part shares."""

from __future__ import annotations

import enum


class Tier(enum.IntEnum):
    """Where a tensor's bytes are, fastest first."""

    LOCAL = 0  # the device's own memory
    PEER = 1  # memory that a neighbouring device's owner has lent
    HOST = 2  # this server's DRAM


class Access(enum.IntEnum):
    READ = 0  # never waits for a migration
    WRITE = 1  # may wait for one that is about to end; marks the range as changed


TIERS = tuple(Tier)  # by number: quicker than Tier(number)
