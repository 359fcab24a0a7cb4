#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What honest engines feel of attackers: the same calls, first alone, then while another coordinator
of the machine is attacked, and then among a million calls of those who flood, dawdle, hold
connections and send junk.

Usage: coordinator_attack.py --coordinator-binary PROGRAM [--calls N] [--address-space MIB] [--json FILE]

Honest engines call at fixed times. A call that falls due while another one waits is made after it, and its time
counts from when it was due. Attackers are other processes of the same user, the lowest priority among
them. With --address-space the daemon has no more than so much. Exits 1 where the daemon died.
"""
import argparse
import contextlib
import json
import math
import multiprocessing
import os
import random
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import uuid

CLIENTS = 8  # honest ones
PERIOD_S = 0.004  # between two of their calls
GOAL = 2.0  # p99 among attackers over p99 alone
FLAT = 1.05  # of what the daemon holds
# Alone; while another coordinator of this machine is attacked, which shows what the machine's load
# does; while this one is.
PHASES = ("alone", "other_attacked", "attacked")
HEAD = "{} {} HTTP/1.1\r\nHost: aqua\r\n"


class Coordinator:
    """The daemon, and what one says to it."""

    def __init__(self, program, directory, address_space_mib):
        def limit():
            if address_space_mib:
                resource.setrlimit(resource.RLIMIT_AS, (address_space_mib << 20,) * 2)
        self.process = subprocess.Popen([program, "--data", directory, "--log-level", "off"], text=True,
                                        stdout=subprocess.PIPE, preexec_fn=limit)
        self.address = self.process.stdout.readline().split("unix:")[1].strip()
        self.lifelines = f"{directory}/lifeline.sock"

    def end(self):
        self.process.terminate()
        return self.process.wait()

    def connect(self, patience=10):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(patience)
        connection.connect(self.address)
        return connection

    def call(self, method, target, secret=None, body=None):
        """The status of the reply; 0 where there was none."""
        head = HEAD.format(method, target)
        if secret:
            head += f"Aqua-Session: {secret}\r\n"
        if body is not None:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        elif method == "POST":
            head += "Content-Length: 0\r\n"
        with self.connect() as connection:
            connection.sendall(f"{head}\r\n{body or ''}".encode())
            reply = b""
            while part := connection.recv(65536):
                reply += part
        return int(reply[9:12]) if reply else 0

    def lifeline(self):
        """An open lifeline, its client and what the daemon has welcomed it with."""
        line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        line.connect(self.lifelines)
        client = uuid.uuid4().hex
        line.send(json.dumps({"version": 1, "client": client}).encode())
        return line, client, json.loads(line.recv(65536))

    def join(self):
        line, client, welcome = self.lifeline()
        about = {"id": client, "name": "honest", "device": uuid.uuid4().hex, "device_name": "emulated",
                 "server": welcome["server"], "domain": "d", "exchange": "/x", "producer": False, "consumer": True}
        status = self.call("POST", "/v1/clients", welcome["secret"], json.dumps(about))
        if status != 200:
            raise SystemExit(f"coordinator_attack: an honest engine was refused: {status}")
        return line, welcome["secret"]

    def usage(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            lines = dict(line.split(":", 1) for line in file)
        return {"resident_kib": int(lines["VmRSS"].split()[0]), "address_space_kib": int(lines["VmSize"].split()[0]),
                "threads": int(lines["Threads"]), "descriptors": len(os.listdir(f"/proc/{self.process.pid}/fd"))}


# --- who attacks: each makes one call a turn and keeps what it holds in `held` ------------------


def shorten(held, most):
    if len(held) > most:
        held.pop(0).close()


def take_all_clients(daemon, held):
    held.append(daemon.lifeline()[0])
    shorten(held, 600)


def dawdle_with_a_body(daemon, held, secrets=[]):
    if len(secrets) < 30:
        line, _, welcome = daemon.lifeline()
        secrets.append((line, welcome.get("secret")))
    connection = daemon.connect(1)
    secret = random.choice(secrets)[1]
    connection.sendall((HEAD.format("POST", "/v1/leases") + f"Aqua-Session: {secret}\r\nContent-Type: application/json\r\n"
                        "Content-Length: 1048576\r\n\r\n").encode() + b" " * 60_000)
    held.append(connection)
    shorten(held, 400)


def say_no_hello(daemon, held):
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    line.connect(daemon.lifelines)
    held.append(line)
    shorten(held, 200)


def end_no_head(daemon, held):
    connection = daemon.connect(1)
    connection.sendall(b"GET /v1/sta" + b"a" * random.choice([0, 20_000]))
    held.append(connection)
    shorten(held, 1_000)


def ask_for_all(daemon, _held):
    daemon.call("GET", "/v1/state")


def send_junk(daemon, _held):
    with daemon.connect(1) as connection:
        connection.sendall(os.urandom(200) + b"\r\n\r\n")


def feed_the_health_check(daemon, held):
    connection = daemon.connect(1)
    connection.sendall(b"GET /healthz HTTP/1.1\r\nContent-Length: 1048576\r\nContent-Type: application/json\r\n\r\nx")
    held.append(connection)
    shorten(held, 100)


ATTACKS = (take_all_clients, dawdle_with_a_body, say_no_hello, end_no_head, ask_for_all, send_junk,
           feed_the_health_check)


def attack(daemon, kind, calls, most, stop):
    os.nice(19)
    held = []
    while not stop.is_set() and calls.value < most:
        with contextlib.suppress(OSError, ValueError):  # refused, cut off, no more descriptors: as is meant
            kind(daemon, held)
        with calls.get_lock():
            calls.value += 1


# --- who is honest -------------------------------------------------------------------------------

HONEST = {"renew": ("POST", "/v1/clients/self/renew", None, (200,)),
          "self": ("GET", "/v1/clients/self", None, (200,)),
          "lease": ("POST", "/v1/leases", '{"bytes":1,"exit_bytes":4096}', (200, 503)),  # nobody lends
          "health": ("GET", "/healthz", None, (200,))}


def be_honest(daemon, phase, results):
    """Makes every call that falls due before the phases are over. Of each phase: what its calls took, and how many
    were refused."""
    clients = [daemon.join() for _ in range(CLIENTS)]
    results.put("ready")
    took, refused = [[] for _ in PHASES], [0 for _ in PHASES]
    due, end = time.perf_counter(), math.inf
    while (due := due + PERIOD_S) < end:
        time.sleep(max(0.0, due - time.perf_counter()))
        now = phase.value
        if now == len(PHASES):  # what is late was due in the last phase
            end = min(end, time.perf_counter())
            now -= 1
        method, target, body, expected = HONEST[random.choice(list(HONEST))]
        try:
            status = daemon.call(method, target, random.choice(clients)[1], body)
        except OSError:
            status = 0
        took[now].append(time.perf_counter() - due)
        refused[now] += status not in expected
    results.put((took, refused))


def summary(times, refused):
    cuts = statistics.quantiles(times, n=1000)
    return {"calls": len(times), "refused": refused, "p50_ms": 1e3 * cuts[499], "p99_ms": 1e3 * cuts[989],
            "max_ms": 1e3 * max(times)}


class Attackers:
    """A process for each kind of attack on `daemon`, until the block ends."""

    def __init__(self, context, daemon, calls):
        self.made, self.stop = context.Value("q", 0), context.Event()
        self.processes = [context.Process(target=attack, args=(daemon, kind, self.made, calls, self.stop))
                          for kind in ATTACKS]

    def __enter__(self):
        for process in self.processes:
            process.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for process in self.processes:
            process.join()


def measure(daemon, other, calls, seconds):
    context = multiprocessing.get_context("fork")
    phase, results = context.Value("i", 0), context.Queue()
    honest = context.Process(target=be_honest, args=(daemon, phase, results))
    honest.start()
    results.get()
    before = daemon.usage()
    time.sleep(seconds)
    with Attackers(context, other, calls):
        phase.value = 1
        time.sleep(seconds)
    seen, began = [], time.monotonic()
    with Attackers(context, daemon, calls) as attackers:
        phase.value = 2
        while attackers.made.value < calls and daemon.process.poll() is None:
            time.sleep(1)
            seen.append(daemon.usage())
            if sys.stderr.isatty():
                print(f"\r{attackers.made.value:,} of {calls:,} calls", end="", file=sys.stderr, flush=True)
        seconds = time.monotonic() - began
        phase.value = 3
        took, refused = results.get()
    honest.join()
    found = {name: summary(took[i], refused[i]) for i, name in enumerate(PHASES)}
    ratio = found["attacked"]["p99_ms"] / found["alone"]["p99_ms"]
    half = len(seen) // 2
    first, second = most(seen[:half]), most(seen[half:])
    goals = [goal("p99 of the honest among attackers over alone", GOAL, ratio)]
    for name in ("resident_kib", "descriptors"):
        grew = second[name] / first[name] if first and second else None
        goals.append(goal(f"{name}, the most in the second half over the first", FLAT, grew))
    return {"alive": daemon.process.poll() is None, "attacks": attackers.made.value, "seconds": seconds, **found,
            "p99_over_another_daemon_attacked": found["attacked"]["p99_ms"] / found["other_attacked"]["p99_ms"],
            "before": before, "most_in_first_half": first, "most_in_second_half": second, "goals": goals}


def goal(text, limit, measured):
    return {"goal": text, "limit": limit, "measured": measured, "met": measured is not None and measured <= limit}


def most(seen):
    return {name: max(row[name] for row in seen) for name in seen[0]} if seen else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--coordinator-binary", required=True, metavar="PROGRAM")
    parser.add_argument("--calls", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--alone", type=float, default=30, metavar="SECONDS", help="of each of the first two phases")
    parser.add_argument("--address-space", type=int, default=0, metavar="MIB")
    parser.add_argument("--json", metavar="FILE")
    said = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as directory:
        daemon = Coordinator(said.coordinator_binary, f"{directory}/a", said.address_space)
        other = Coordinator(said.coordinator_binary, f"{directory}/b", 0)
        found = measure(daemon, other, said.calls, said.alone)
        other.end()
        found["exit_status"] = daemon.end()
    found["address_space_mib"] = said.address_space
    for name in PHASES:
        row = found[name]
        print(f"{name:14} p50 {row['p50_ms']:7.2f} ms, p99 {row['p99_ms']:7.2f} ms, refused {row['refused']} of {row['calls']}")
    ratio = found["goals"][0]["measured"]
    print(f"{found['attacks']:,} attacks in {found['seconds']:.0f} s; p99 {ratio:.2f} times (goal {GOAL})")
    print(f"most in the first half  {found['most_in_first_half']}\nmost in the second half {found['most_in_second_half']}")
    if said.json:
        with open(said.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
    return 0 if found["alive"] and found["exit_status"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
