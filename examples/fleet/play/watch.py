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


# What the router says of why a move was ordered, as people say it.
CAUSES = {"operator": "ordered", "drains": "its engine drains", "overload": "its engine is full",
          "balances": "its engine has more load", "empties": "its engine can be emptied",
          "completes": "it fills an engine", "fills_gap": "it fills an engine", "beside_large": "it fits beside a large one",
          "makes_room": "a larger one needs the place"}
NO_MOVE = "continued elsewhere, without a move"


class Watch(Sampler):
    def __init__(self, router):
        self.router = router
        self.at = {}
        self.told = {}  # the last move of each request that was told
        self.samples = []  # [when, {engine: requests}]
        self.marks = []  # [when, what was done]
        self.moved = []  # [when, request, from, to, tokens, why]
        self.ended = {}  # {number: a move that is over, as the router tells it}
        super().__init__()

    def mark(self, what):
        show(what)
        self.marks.append([self.now(), what])

    def cause(self, name, engine, last):
        """Of the request's move there, if one was done: an engine that dies has its requests continued without."""
        for move in last:
            is_new = move["number"] > self.told.get(name, 0)
            if is_new and move["request"] == name and move["to"] == engine and move["end"] == "done":
                self.told[name] = move["number"]
                return CAUSES.get(move["cause"], move["cause"])
        return NO_MOVE

    def look(self):
        now, held = self.now(), collections.Counter()
        requests, last = self.router.requests(), self.router.last_moves()
        self.ended |= {move["number"]: move for move in last}
        for request in requests:
            name, engine = request["name"], request["engine"]
            if not engine:
                continue
            held[engine] += 1
            before, self.at[name] = self.at.get(name), engine
            if before and before != engine:
                why = self.cause(name, engine, last)
                self.moved.append([now, name, before, engine, request["tokens"], why])
                show(f"{name[:13]} {before} -> {engine} at {request['tokens']} tokens: {why}")
        self.samples.append([now, dict(held)])


class EnginesInUse(Sampler):
    """As `aqua simulate` counts: engines that hold tokens by the packer, on both ends of a move."""

    def __init__(self, router):
        self.router = router
        self.samples = []  # [when, engines]
        super().__init__()

    def look(self):
        held = [engine["held_tokens"] for engine in self.router.engines().values()]
        self.samples.append([self.now(), sum(tokens > 0 for tokens in held)])
