# SPDX-License-Identifier: Apache-2.0
"""What a router says while clients ask: who has how many requests, and which answers have moved, and why."""
import collections
import threading
import time

from play.process import show


class Watch:
    """Looks until it is ended. Times are seconds since its beginning."""

    def __init__(self, router, tell_moves=True):
        self.router, self.tell_moves, self.why = router, tell_moves, "packing"
        self.at = {}
        self.samples = []  # [when, {engine: requests}]
        self.marks = []  # [when, what was done]
        self.moved = []  # [when, request, from, to, tokens, why]
        self.begun = time.monotonic()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look_on)
        self.thread.start()

    def now(self):
        return round(time.monotonic() - self.begun, 3)

    def mark(self, what, why):
        """Something is done; what moves from now on moves for this."""
        show(what)
        self.marks.append([self.now(), what])
        self.why = why

    def look_on(self):
        while not self.over.wait(0.05):
            self.look()

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
                if self.tell_moves:
                    show(f"{name[:13]} {before} -> {engine} at {request['tokens']} tokens: {self.why}")
        self.samples.append([now, dict(held)])

    def end(self):
        self.over.set()
        self.thread.join()
