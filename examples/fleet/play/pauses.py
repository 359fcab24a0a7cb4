# SPDX-License-Identifier: Apache-2.0
"""How long moves by KV keep their clients waiting under load, in iterations of the engines."""
import math
import time

from play.process import Failure

SHARE = 0.99  # of the moves


class Pauses:
    """Of the moves from now on until end(). The router counts pauses by bounds: what is told is a bound that holds."""

    def __init__(self, router, engines):
        self.router, self.engines = router, engines
        self.begun = time.monotonic()
        self.iterations, self.pauses = self.look()

    def look(self):
        return ({letter: engine.metric("fleet_iterations_total") for letter, engine in self.engines.items()},
                self.router.histogram("aqua_router_move_pause_seconds", kind="kv"))

    def end(self):
        iterations, pauses = self.look()
        # The iterations of the busiest engine, which never rests. The first may have ended as this
        # began.
        most = max(count - self.iterations[letter] for letter, count in iterations.items()) - 1
        seconds = (time.monotonic() - self.begun) / max(1, most)
        within = {bound: count - self.pauses[bound] for bound, count in pauses.items()}
        moves = within[math.inf]
        if moves == 0:
            raise Failure("no move by KV was done, of which the pause could be told")
        bound = min(bound for bound, count in within.items() if count >= SHARE * moves)
        return {"moves": int(moves), "iteration_ms": seconds * 1000, "at_most_seconds": bound,
                "at_most_iterations": bound / seconds}
