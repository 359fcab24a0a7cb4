# SPDX-License-Identifier: Apache-2.0
"""Which package this is, which library is loaded, and what that can do."""

from __future__ import annotations

from ._library import find, lib

__version__ = "0.1.0"


def library_version() -> str:
    version: bytes = lib.aqua_version_string()
    return version.decode()


def library_path() -> str:
    """Path or soname that it was loaded by."""
    return find()


def has_feature(name: str) -> bool:
    """Known: "cuda" (devices cuda:N), "emulated" (devices emu:N)."""
    return bool(lib.aqua_has_feature(name.encode()))
