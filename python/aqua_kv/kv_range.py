# SPDX-License-Identifier: Apache-2.0
"""Parts of a sequence, and pages of a tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from ._blocks import BlockList
from ._c import layout_structs as ls
from ._numbers import uint32

_TO_THE_END = 2**32 - 1


@dataclass(frozen=True)
class KvRange:
    """Some layers, some tokens, some heads of one sequence; None: all. A layout's blocks, listed in
    the order of its tokens, hold it. A step of an engine adds one token:
    KvRange(tokens=range(length - 1, length))."""

    layers: Optional[range] = None
    tokens: Optional[range] = None
    heads: Optional[range] = None

    def _for_c(self) -> ls.CKvRange:
        made = ls.CKvRange()
        for name, of in (("layer", self.layers), ("token", self.tokens), ("head", self.heads)):
            if of is not None and of.step != 1:
                raise ValueError(f"{name}s: steps of 1 are wanted, not {of.step}")
            first, count = (0, _TO_THE_END) if of is None else (of.start, len(of))
            setattr(made, f"first_{name}", uint32(first, f"{name}s"))
            setattr(made, f"{name}_count", uint32(count, f"{name}s"))
        return made


@dataclass(frozen=True)
class TensorPages:
    """Part of a tensor that is laid out as a cache is: for each plane of a layout, one after
    another, `count` pages of one block each, from byte `offset` on. Block i of a call's list is
    kept in page pages[i] of every plane. The packed form of n blocks is n pages, of which block i
    has the i-th."""

    count: int
    pages: BlockList
    offset: int = 0
