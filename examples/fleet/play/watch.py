# SPDX-License-Identifier: Apache-2.0
"""What a router says while clients ask: who has how many requests, and which answers have moved, and why."""
import collections
import threading
import time

from play.process import Failure, show


class Sampler:
    """Calls look() again and again until it is ended. Times are seconds since its beginning."""

    def __init__(self):
        self.fault = None
        self.begun = time.monotonic()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look_on)
        self.thread.start()

    def now(self):
        return round(time.monotonic() - self.begun, 3)

    def look_on(self):
        try:
            while not self.over.wait(0.05):
                self.look()
        except Exception as fault:  # told by end()
            self.fault = fault

    def end(self):
        self.over.set()
        self.thread.join()
        if self.fault:
            raise Failure(f"the router could not be looked at to the end: {self.fault!r}")


class Watch(Sampler):
    def __init__(self, router):
        self.router, self.why = router, "packing"
        self.at = {}
        self.samples = []  # [when, {engine: requests}]
        self.marks = []  # [when, what was done]
        self.moved = []  # [when, request, from, to, tokens, why]
        self.ended = {}  # {number: a move that is over, as the router tells it}
        super().__init__()

    def mark(self, what, why):
        """Something is done; what moves from now on moves for this."""
        show(what)
        self.marks.append([self.now(), what])
        self.why = why

    def look(self):
        now, held = self.now(), collections.Counter()
        for request in self.router.requests():
            name, engine = request["name"], request["engine"]
            if not engine:
                continue
            held[engine] += 1
            before, self.at[name] = self.at.get(name), engine
            if before and before != engine:
                self.moved.append([now, name, before, engine, request["tokens"], self.why])
                show(f"{name[:13]} {before} -> {engine} at {request['tokens']} tokens: {self.why}")
        self.samples.append([now, dict(held)])
        self.ended |= {move["number"]: move for move in self.router.last_moves()}


class EnginesInUse(Sampler):
    """As `aqua simulate` counts: engines that hold tokens by the packer, on both ends of a move."""

    def __init__(self, router):
        self.router = router
        self.samples = []  # [when, engines]
        super().__init__()

    def look(self):
        held = [engine["held_tokens"] for engine in self.router.engines().values()]
        self.samples.append([self.now(), sum(tokens > 0 for tokens in held)])
