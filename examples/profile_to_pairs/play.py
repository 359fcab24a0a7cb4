#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From engines that run to engines that lend to each other, with the commands a cluster's operator gives.

1. `aqua profile` loads one simulated engine of each of four models and finds who can lend.
2. `aqua place` puts two engines of each model on two servers and pairs them.
3. A coordinator is started for each server, and the eight engines, each with its model's profile.
4. `aqua place --post` tells the coordinators their pairs; then the engines begin.
5. `aqua status` must show every borrower's bytes with the very lender it was paired with.

Usage: play.py [--build DIR] [--keep DIR] [--requests N] [--cross] [--timeout SECONDS]
"""
import argparse
import contextlib
import copy
import ctypes
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SPEED = 20  # the simulated engines' clock; rates and limits below are theirs
HBM = 360_000_000  # bytes of a roomy GPU
# Model: its GPU, and the rates to look at; the second is all that it will ever get. In a burst the last
# two get more than their memory holds.
MODELS = {
    "search": ("roomy", 1, 1.5),
    "chat": ("roomy", 2, 3),
    "code": ("small", 1, 2),
    "essay": ("small", 2, 3),
}
ENGINES_OF_A_MODEL = 2
SERVERS = ("left", "right")
# Limits of first tokens and between tokens. Loose: this is about memory, on a machine that may be
# busy.
SLA = "60,20"


START = time.monotonic()


class Failure(Exception):
    pass


def show(*words):
    """What is done now, and when since the start."""
    print(f"[{time.monotonic() - START:5.1f} s]", *words, flush=True)


class Child:
    """A process that ends with us at the latest, and talks in lines."""

    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            bufsize=1, preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL))

    def line(self):
        text = self.process.stdout.readline()
        if not text:
            raise Failure(f"{self.name} has ended: exit status {self.process.wait()}")
        return text.strip()

    def await_word(self, what):
        while (message := json.loads(self.line()))["say"] != what:
            pass
        return message

    def tell(self, what):
        self.process.stdin.write(json.dumps({"do": what}) + "\n")

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


class Play:
    def __init__(self, build, directory, requests, children):
        self.aqua = build / "tools/aqua"
        self.sim_server = build / "tools/sim_server/aqua-sim-server"
        self.coordinator = build / "coordinator/aqua-coordinator"
        self.engine = build / "examples/profile_to_pairs/placed_engine"
        self.at = directory
        self.requests = requests
        self.children = children  # stopped by whoever made the stack, last first

    def start(self, name, *command):
        child = Child(name, command)
        self.children.callback(child.stop)
        return child

    def run(self, *command):
        words = [str(word) for word in command]
        show("aqua", *words)
        done = subprocess.run([str(self.aqua), *words], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise Failure(f"aqua {words[0]}: exit status {done.returncode}")
        return done.stdout

    # --- 1: profiles ---------------------------------------------------------------------------

    def write_lengths(self):
        lengths = random.Random(1)
        rows = [f"{lengths.randint(16, 600)},{lengths.randint(20, 120)}" for _ in range(500)]
        (self.at / "lengths.csv").write_text("num_prefill_tokens,num_decode_tokens\n" + "\n".join(rows) + "\n")

    def profile_all(self):
        """All four at once: they mostly wait."""
        self.write_lengths()
        running = []
        for model, (gpu, least, most) in MODELS.items():
            server = self.start(f"simulated {model}", self.sim_server, "--speed", SPEED, "--model", HERE / "model.json",
                                "--server", HERE / f"server-{gpu}.json")
            url, *told = server.line().split()  # how fast it is, and the bytes of a token
            words = ["profile", "--url", url, *told, "--model", model, "--out", self.at / f"{model}.json",
                     "--trace", self.at / "lengths.csv", "--from", least, "--to", most, "--step", 0.5, "--sla", SLA,
                     "--requests", self.requests, "--burst-seconds", 10, "--threshold-gb", 0.1, "--no-progress"]
            show("aqua", *words)
            running.append((server, self.start(f"aqua profile of {model}", self.aqua, *words)))
        for server, profiler in running:
            print(profiler.process.stdout.read(), end="", flush=True)
            if profiler.process.wait() != 0:
                raise Failure(f"{profiler.name}: exit status {profiler.process.returncode}")
            server.stop()
        return {model: json.loads((self.at / f"{model}.json").read_text()) for model in MODELS}

    # --- 2: placement --------------------------------------------------------------------------

    def place(self, profiles):
        def lent(profile):  # or needed, then below 0
            return {"producer": profile["free_bytes"], "consumer": -profile["swap_bytes"], "neutral": 0}[profile["role"]]

        models = [{"id": f"{model}-{i}", "shards": 1, "bytes": lent(profile)}
                  for model, profile in profiles.items() for i in range(ENGINES_OF_A_MODEL)]
        servers = [{"id": server, "gpus": len(models) // len(SERVERS), "hbm_bytes": HBM} for server in SERVERS]
        (self.at / "cluster.json").write_text(json.dumps({"servers": servers, "models": models}, indent=1))
        print(self.run("place", "--input", self.at / "cluster.json", "--out", self.at / "placement.json",
                       "--svg", self.at / "placement.svg", "--explain"))
        return json.loads((self.at / "placement.json").read_text())

    # --- 3: what runs --------------------------------------------------------------------------

    def address(self, server):
        return f"unix:{self.at / server}/coordinator.sock"

    def start_servers(self, placement):
        engines = {}
        for server in SERVERS:
            (self.at / server).mkdir(mode=0o700)
            show("aqua-coordinator", "--listen", self.address(server), "--data", self.at / server / "data")
            coordinator = self.start(f"coordinator of {server}", self.coordinator, "--listen", self.address(server),
                                     "--data", self.at / server / "data", "--log-level", "error")
            while "listening on" not in coordinator.line():
                pass
        for device, (name, server) in enumerate(sorted(placement["assignment"].items())):
            engines[name] = self.start(
                name, self.engine, "--name", name, "--coordinator", self.address(server), "--device", f"emu:{device}",
                "--profile", self.at / f"{name.rpartition('-')[0]}.json", "--directory", self.at / server)
        for engine in engines.values():
            engine.await_word("ready")
        show(len(engines), "engines have joined")
        return engines

    # --- 4, 5: pairs, and what came of them ----------------------------------------------------

    def post(self, placed):
        words = [word for server in SERVERS for word in ("--post", self.address(server))]
        print(self.run("place", "--placed", placed, *words))

    def crossed(self, placement):
        """A file of the same placement, but that each server's two borrowers change places."""
        pairs = sorted(placement["pairs"], key=lambda pair: placement["assignment"][pair["consumer"]])
        for one, other in zip(pairs[::2], pairs[1::2]):
            one["consumer"], other["consumer"] = other["consumer"], one["consumer"]
        (self.at / "crossed.json").write_text(json.dumps(placement | {"pairs": pairs}))
        return self.at / "crossed.json"

    def loans(self):
        """Borrower -> {lender: bytes}, of both servers."""
        found = {}
        for server in SERVERS:
            state = json.loads(self.run("status", "--json", "--coordinator", self.address(server)))
            names = {client["id"]: client["name"] for client in state["clients"]}
            for loan in state["loans"]:
                found.setdefault(names[loan["consumer"]], {})[names[loan["producer"]]] = loan["bytes"]
        return found


def complaints(placement, loans, finals):
    pairs = {pair["consumer"]: pair["producer"] for pair in placement["pairs"]}
    for consumer, producer in pairs.items():
        lenders = loans.get(consumer, {})
        if set(lenders) != {producer}:
            yield f"{consumer} was paired with {producer} and borrows from {lenders or 'nobody'}"
    for consumer in set(loans) - set(pairs):
        yield f"{consumer} has no pair and borrows from {loans[consumer]}"
    for name, final in finals.items():
        if final["mismatched_bytes"] != 0:
            yield f"{name}: {final['mismatched_bytes']} bytes are not what was written"
        if final["verified_bytes"] == 0:
            yield f"{name}: nothing was checked"


def play(options, directory, children):
    it = Play(options.build.resolve(), directory, options.requests, children)
    profiles = it.profile_all()
    placement = it.place(profiles)
    pairs = placement["pairs"]
    if len(pairs) != len(SERVERS) * 2:
        raise Failure(f"{len(pairs)} pairs instead of two on each server: {pairs}")
    engines = it.start_servers(placement)
    it.post(it.crossed(copy.deepcopy(placement)) if options.cross else it.at / "placement.json")
    for engine in engines.values():
        engine.tell("go")
    for pair in pairs:
        engines[pair["consumer"]].await_word("borrowing")
    show("every borrower has bytes that came back from a lender")
    loans = it.loans()
    finals = {}
    for role in (set(loans), set(engines) - set(loans)):  # borrowers first: what they hold is the lenders'
        for name in role:
            engines[name].tell("finish")
        for name in role:
            finals[name] = engines[name].await_word("final")
            if engines[name].process.wait() != 0:
                raise Failure(f"{name}: exit status {engines[name].process.returncode}")
    show("every engine has finished")
    mib = 1 << 20
    print(f"\n{'borrower':<12}{'paired with':<14}{'borrows MiB from it':>20}{'came back and checked MiB':>28}")
    for pair in pairs:
        name = pair["consumer"]
        borrowed = loans.get(name, {}).get(pair["producer"], 0)
        print(f"{name:<12}{pair['producer']:<14}{borrowed / mib:>20.0f}{finals[name]['fetched']['peer'] / mib:>28.0f}")
    return list(complaints(placement, loans, finals))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parents[1] / "build/dev", help="default: build/dev")
    parser.add_argument("--keep", type=pathlib.Path, help="write profiles, placement and picture to this new directory")
    parser.add_argument("--requests", type=int, default=60, help="of each load, at most (60)")
    parser.add_argument("--cross", action="store_true", help="post other pairs than were placed, to see it noticed")
    parser.add_argument("--timeout", type=int, default=150, help="seconds (150)")
    options = parser.parse_args()

    def give_up(number, _frame):
        raise Failure(f"gave up after {options.timeout} s" if number == signal.SIGALRM else "interrupted")

    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, give_up)
    signal.alarm(options.timeout)
    try:
        with contextlib.ExitStack() as stack:
            if options.keep:
                options.keep.mkdir(parents=True)
            # Sockets want a short path.
            directory = options.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="aqua-pairs-", dir="/tmp"))
            wrong = play(options, pathlib.Path(directory).resolve(), stack)
    except Failure as failure:
        wrong = [failure]
    for what in wrong:
        print(f"FAILED: {what}", file=sys.stderr)
    if not wrong:
        print("OK")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
