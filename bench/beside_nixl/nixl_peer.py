# SPDX-License-Identifier: Apache-2.0
"""Producer or consumer with NIXL over UCX, as vLLM's connector uses it: the producer says that its
blocks are ready, the consumer reads them. Usage: nixl_peer.py ROLE"""

from __future__ import annotations

import base64
import sys

import numpy as np
import peer
from nixl._api import nixl_agent, nixl_agent_config
from peer import BLOCK_BYTES, BLOCKS, PLANES, now, say


class Peer:
    def __init__(self, role: str) -> None:
        begun = now()
        self.agent = nixl_agent(role, nixl_agent_config(backends=["UCX"]))
        self.memory = np.zeros((PLANES, BLOCKS, BLOCK_BYTES), np.uint8)
        address = self.memory.ctypes.data
        self.agent.register_memory([(address, self.memory.nbytes, 0, "")], "DRAM")
        self.seconds = now() - begun
        described = base64.b64encode(self.agent.get_agent_metadata()).decode()
        say(described=described, address=address)

    def connect(self, described: str, address: int) -> None:
        begun = now()

        def blocks(base: int) -> list:
            return [(base + i * BLOCK_BYTES, BLOCK_BYTES, 0) for i in range(PLANES * BLOCKS)]

        self.other = self.agent.add_remote_agent(base64.b64decode(described))
        if isinstance(self.other, bytes):
            self.other = self.other.decode()
        self.mine = self.agent.prep_xfer_dlist("NIXL_INIT_AGENT", blocks(self.memory.ctypes.data), "DRAM")
        self.theirs = self.agent.prep_xfer_dlist(self.other, blocks(address), "DRAM")
        say(ready=self.seconds + now() - begun)

    def forget(self) -> None:
        """The other one has died."""
        self.agent.release_dlist_handle(self.theirs)
        self.agent.remove_remote_agent(self.other)
        say(forgotten=True)

    def fill(self, sequence: int) -> None:
        blocks = peer.blocks_of(sequence, True)
        for plane in range(PLANES):
            self.memory[plane, blocks] = peer.content(sequence, plane).view(np.uint8)
        say(filled=sequence)

    def send(self, sequence: int, attempt: int = 1) -> None:
        begun = now()
        self.agent.send_notif(self.other, str(sequence).encode())
        say(sent=begun, until=now())

    def receive(self, sequence: int, posted: bool = False) -> None:
        """`posted`: says so once the copies are under way."""
        numbers = [[plane * BLOCKS + block for plane in range(PLANES) for block in blocks]
                   for blocks in (peer.blocks_of(sequence, producer) for producer in (False, True))]
        begun = now()
        while not any(self.agent.get_new_notifs().values()):
            if now() > begun + peer.PATIENCE_S:
                return say(failed="nothing came", seconds=now() - begun)
        try:
            handle = self.agent.make_prepped_xfer("READ", self.mine, numbers[0], self.theirs, numbers[1], b"")
            state = self.agent.transfer(handle)
            if posted:
                say(posted=now())
            while state == "PROC" and now() < begun + peer.PATIENCE_S:
                state = self.agent.check_xfer_state(handle)
        except Exception as error:  # NIXL's own: what a user of it sees
            return say(failed=f"{type(error).__name__}: {error}", seconds=now() - begun)
        landed = now()
        if state != "DONE":
            return say(failed=state, seconds=landed - begun)
        self.agent.release_xfer_handle(handle)
        blocks = peer.blocks_of(sequence, False)
        equal = all(
            np.array_equal(self.memory[plane, blocks].view(np.uint64), peer.content(sequence, plane))
            for plane in range(PLANES)
        )
        say(landed=landed, equal=equal)


if __name__ == "__main__":
    peer.serve(Peer(*sys.argv[1:]))
