# SPDX-License-Identifier: Apache-2.0
"""How an evicted prompt's keys and values come back."""

from __future__ import annotations

from typing import Any, List

import aqua_kv

from engine import Engine


class Way:
    name = ""
    restores = True  # the bytes that were there, instead of computing new ones

    def save(self, engine: Engine, prompt: int) -> None:
        """The prompt's blocks hold its keys and values, and will hold others."""
        raise NotImplementedError

    def restore(self, engine: Engine, prompt: int) -> None:
        """What is posted to the compute stream afterwards finds them in the prompt's blocks."""
        raise NotImplementedError

    def close(self) -> None:
        """Gives its memory back; nothing is in flight."""


class Recompute(Way):
    name = "recompute"
    restores = False

    def save(self, engine: Engine, prompt: int) -> None:
        pass

    def restore(self, engine: Engine, prompt: int) -> None:
        engine.prefill(prompt)


class Pinned(Way):
    """Page-locked host memory of the engine's own, a copy for each block of each plane."""

    name = "pinned copies a block"

    def __init__(self) -> None:
        self._kept: List[Any] = []

    def save(self, engine: Engine, prompt: int) -> None:
        blocks = engine.blocks(prompt)
        self._kept.append(engine.place.pinned(len(blocks) * engine.place.block_bytes))
        self._kept[prompt].save(blocks)

    def restore(self, engine: Engine, prompt: int) -> None:
        self._kept[prompt].load(engine.blocks(prompt))

    def close(self) -> None:
        self._kept.clear()


class Tensors(Way):
    """A tensor of libaqua's for each prompt, one call for all layers."""

    def __init__(self, runtime: aqua_kv.Runtime, layout: aqua_kv.Layout, tier: aqua_kv.Tier) -> None:
        self.name = "host tier" if tier is aqua_kv.Tier.HOST else "lent slab"
        self._runtime, self._layout, self._tier = runtime, layout, tier
        self._kept: List[aqua_kv.AquaTensor] = []

    def save(self, engine: Engine, prompt: int) -> None:
        blocks = engine.blocks(prompt)
        tensor = self._runtime.allocate(
            self._layout.packed_bytes(len(blocks)), f"prompt {prompt}",
            host_only=self._tier is aqua_kv.Tier.HOST)
        self._kept.append(tensor)
        self._runtime.offload(self._layout, blocks, tensor, engine.place.compute).wait()
        if tensor.tier is not self._tier:
            raise SystemExit(f"{self.name}: prompt {prompt} is in {tensor.tier.name}")

    def restore(self, engine: Engine, prompt: int) -> None:
        place = engine.place
        ticket = self._runtime.fetch(
            self._kept[prompt], self._layout, engine.blocks(prompt), place.copies)
        ticket.stream_wait(place.compute, self._layout.layers - 1)
        engine.tickets.append(ticket)

    def close(self) -> None:
        for tensor in self._kept:
            tensor.close()
        self._kept.clear()
