# SPDX-License-Identifier: Apache-2.0
"""Producer or consumer with aqua_kv: a Streamer over aqua-keeper. Usage: aqua_peer.py ROLE KEEPER DIR"""

from __future__ import annotations

import sys

import numpy as np
import peer
from peer import BLOCKS, HEAD_BYTES, HEADS, LAYERS, PLANES, now, say

import aqua_kv
from aqua_kv import KvShape, Layout, StreamGroup, Streamer, emulated

MIB = 1 << 20
SHAPE = KvShape(LAYERS, HEADS, HEAD_BYTES, peer.BLOCK_TOKENS, format="beside")
GROUPS = {"producer": StreamGroup("prefill", SHAPE), "consumer": StreamGroup("decode", SHAPE)}
TOKENS = peer.SEQUENCE_BLOCKS * peer.BLOCK_TOKENS


class Peer:
    def __init__(self, role: str, keeper: str, directory: str) -> None:
        begun = now()
        self.producer = role == "producer"
        self.runtime = aqua_kv.Runtime.open(
            device="emu:0", coordinator="none", host_bytes=32 * MIB, socket_directory=directory
        )
        of_plane = BLOCKS * peer.BLOCK_BYTES
        self.memory = emulated.allocate(self.runtime, PLANES * of_plane)
        self.shape = (BLOCKS, peer.BLOCK_TOKENS, HEADS, HEAD_BYTES)
        self.planes = [self.memory.array(self.shape, offset=i * of_plane) for i in range(PLANES)]
        layout = Layout.from_arrays(self.planes, planes_per_layer=2, axes="TH")
        other = GROUPS["consumer" if self.producer else "producer"]
        self.streamer = Streamer.open(
            self.runtime, layout, "beside", GROUPS[role], others=[other], keeper=keeper,
            parcel_bytes=2 * peer.SEQUENCE_BYTES, ready=1 if self.producer else 0,
        )
        if not self.producer:
            self.streamer.admit("prefill", 2)
        say(ready=now() - begun)

    def read(self, plane: int) -> np.ndarray:
        out = np.empty(self.shape, np.uint8)
        emulated.read(self.runtime, self.planes[plane], out)
        return out

    def fill(self, sequence: int) -> None:
        blocks = peer.blocks_of(sequence, True)
        for plane in range(PLANES):
            whole = self.read(plane).reshape(BLOCKS, -1)
            whole[blocks] = peer.content(sequence, plane).view(np.uint8)
            emulated.write(self.runtime, self.planes[plane], whole.reshape(self.shape))
        say(filled=sequence)

    def until(self, holds, patience_s: float = peer.PATIENCE_S) -> bool:
        end = now() + patience_s
        while not holds():
            if now() > end:
                return False
            self.streamer.wait(100)
        return True

    def send(self, sequence: int, attempt: int = 1, layers: int = LAYERS) -> None:
        blocks = peer.blocks_of(sequence, True)
        out = self.streamer.stream_out(sequence, blocks, "decode", tokens=TOKENS, attempt=attempt)
        if not self.until(out.ready):
            return say(failed="no room")
        begun = now()
        for layer in range(layers):
            out.layer(layer)
        if layers == LAYERS:
            out.finish(b"")
            assert self.until(out.kept)
        self.out = out  # else it would be taken back
        say(sent=begun, until=now())

    def receive(self, sequence: int) -> None:
        blocks = peer.blocks_of(sequence, False)
        begun = now()
        arrived, cut_off = [], []

        def is_told() -> bool:
            arrived.extend(self.streamer.arrived())
            cut_off.extend(each for each in self.streamer.cut_off() if each.sequence == sequence)
            return bool(arrived or cut_off)

        if not self.until(is_told):
            return say(failed="nothing came", seconds=now() - begun)
        if not arrived:
            return say(failed="told that it does not come", seconds=now() - begun)
        [each] = arrived
        with self.streamer.stream_in(each.sequence, blocks) as incoming:
            incoming.wait()
        landed = now()
        equal = each.sequence == sequence and all(
            np.array_equal(self.read(plane).reshape(BLOCKS, -1)[blocks].view(np.uint64),
                           peer.content(sequence, plane))
            for plane in range(PLANES)
        )
        self.streamer.finish(each.sequence)
        self.streamer.admit("prefill", 1)
        say(landed=landed, equal=equal)


if __name__ == "__main__":
    peer.serve(Peer(*sys.argv[1:]))
