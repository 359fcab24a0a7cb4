# SPDX-License-Identifier: Apache-2.0
"""Who is in the fleet: engines, a router before them, a neighbour that borrows."""
import json
import socket
import subprocess
import urllib.error

from play.process import Child, Failure, await_true, call, samples


class Engine(Child):
    def __init__(self, build, letter, port, program, *options, within=()):
        """`within`: words that begin its command line, which have it run elsewhere."""
        super().__init__(f"engine {letter}", *within, build / "examples/fleet" / program, "--name", letter,
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


class LlamaServer(Child):
    """llama.cpp's own. It answers SLOTS requests at one time; the others wait in it, and are told nothing."""
    SLOTS = 1  # a batch of several would change the last bits of what it computes
    TOKENS = 4096  # of a slot

    def __init__(self, program, letter, port, model):
        self.at = int(port) or free_port()
        super().__init__(f"llama-server {letter}", program, "--model", model, "--host", "127.0.0.1", "--port", self.at,
                         "--parallel", self.SLOTS, "--ctx-size", self.SLOTS * self.TOKENS, "--threads", 1, "--no-webui",
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.letter, self.url = letter, f"http://127.0.0.1:{self.at}"
        await_true(f"{self.name} is up", self.is_up)

    def is_up(self):
        if self.process.poll() is not None:
            raise Failure(f"{self.name} has ended: exit status {self.process.returncode}")
        try:
            return "ok" in call(self.url + "/health")
        except OSError:  # not yet, or not in time
            return False

    def port(self):
        return str(self.at)

    def left(self):
        return sum(slot["is_processing"] for slot in json.loads(call(self.url + "/slots")))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


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

    def last_moves(self):
        """That are over: the last 50, the latest first."""
        return json.loads(call(self.url + "/admin/v1/moves"))["last"]

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

    def histogram(self, name, **labels):
        """{bound: how many are at most that}"""
        found = {float(dict(at)["le"]): count for at, count in samples(call(self.url + "/metrics"), name + "_bucket").items()
                 if labels.items() <= dict(at).items()}
        return dict(sorted(found.items()))

    def moves(self):
        return {f"{kind} {outcome}": int(self.metric("aqua_router_moves_total", kind=kind, outcome=outcome))
                for kind in ("kv", "tokens") for outcome in ("done", "ended", "failed")}

    def failures(self):
        """Moves that failed, by why; without what did not happen."""
        found = samples(call(self.url + "/metrics"), "aqua_router_move_failures_total")
        named = {f"{dict(at)['kind']} {dict(at)['reason']}": int(count) for at, count in found.items() if count > 0}
        return dict(sorted(named.items()))
