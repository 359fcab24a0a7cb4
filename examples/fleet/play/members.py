# SPDX-License-Identifier: Apache-2.0
"""Who is in the fleet: engines, a router before them, a neighbour that borrows."""
import json
import subprocess
import urllib.error

from play.process import Child, await_true, call, samples


class Engine(Child):
    def __init__(self, build, letter, port, program, *options):
        super().__init__(f"engine {letter}", build / "examples/fleet" / program, "--name", letter,
                         "--port", port, *options)
        self.letter = letter
        self.url = self.line()

    def sleeps(self):
        """Nobody asks it, and its memory is lent."""
        return self.metric("fleet_requests") == 0 and self.metric("fleet_lent_bytes") > 0

    def metric(self, name):
        return sum(samples(call(self.url + "/metrics"), name).values())

    def port(self):
        return self.url.rsplit(":", 1)[1]

    def left(self):
        text = call(self.url + "/metrics")
        names = ("fleet_requests", "fleet_blocks_held", "fleet_blocks_of_rooms")
        return sum(sum(samples(text, name).values()) for name in names)


class Neighbour(Child):
    """Keeps bytes in memory that engines lend."""

    def __init__(self, build, address, mib):
        super().__init__("neighbour", build / "examples/fleet/fleet_neighbour", "--coordinator", address, "--mib", mib,
                         stdin=subprocess.PIPE)
        self.bytes = mib << 20
        self.line()

    def look(self):
        self.process.stdin.write("look\n")
        self.process.stdin.flush()
        return json.loads(self.line())

    def borrows_all(self):
        return self.look()["peer_bytes"] == self.bytes


class Router(Child):
    def __init__(self, build, engines, policy, *options):
        words = [word for engine in engines for word in ("--engine", f"{engine.letter}={engine.url}")]
        super().__init__("router", build / "tools/router/aqua-router", "--listen", "127.0.0.1:0", "--health", "200",
                         "--policy", policy, *options, *words)
        self.url = "http://" + self.line().split()[-1]
        await_true("every engine is up", lambda: all(self.state(engine.letter) == "up" for engine in engines))

    def engines(self):
        return {engine["name"]: engine for engine in json.loads(call(self.url + "/admin/v1/engines"))["engines"]}

    def state(self, letter):
        return self.engines()[letter]["state"]

    def requests(self):
        return json.loads(call(self.url + "/admin/v1/requests"))["requests"]

    def order(self, path, body=None, method="POST"):
        """False: it cannot be now."""
        try:
            call(f"{self.url}/admin/v1/{path}", body, method)
        except urllib.error.HTTPError as refused:
            if refused.code not in (404, 409):
                raise
            return False
        return True

    def move(self, request, to, by_tokens=False):
        return self.order(f"requests/{request}/move", {"to": to} | ({"by": "tokens"} if by_tokens else {}))

    def metric(self, name, **labels):
        found = samples(call(self.url + "/metrics"), name)
        return sum(value for at, value in found.items() if labels.items() <= dict(at).items())

    def moves(self):
        return {f"{kind} {outcome}": int(self.metric("aqua_router_moves_total", kind=kind, outcome=outcome))
                for kind in ("kv", "tokens") for outcome in ("done", "failed")}
