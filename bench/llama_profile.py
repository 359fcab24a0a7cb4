#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does `aqua profile` find of llama.cpp's own server what brute force finds?

Usage: llama_profile.py --server PROGRAM --aqua PROGRAM --model GGUF [--requests N] [--parallel N]
                        [--json FILE]

Starts llama-server with one thread, measures its capacity (requests a second when all come at once)
and the time to first token when it is asked one thing at a time; the SLA is eight times that for first
tokens, and four times that between tokens, since others' prompts are computed there. Then loads every
rate from a tenth of the capacity to twelve tenths, in steps of a tenth, with a client of its own, the
two about the answer three times each, and lets `aqua profile` search the same rates. A quarter of an hour of
a machine that does nothing else. Exits with 1 where the two differ.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional

VOCABULARY = range(1000, 40_000)  # ids that any model of this size has, none of them special
PROMPTS, ANSWERS = range(8, 25), range(4, 13)  # tokens
TENTHS = range(1, 13)
SLA_FACTORS = (8, 4)  # of the time to first token alone: TTFT, TBT
QUANTILE = 0.99


class Lengths(NamedTuple):
    prompt: int
    answer: int


class Answer(NamedTuple):
    ttft: float  # seconds since it was to be sent
    gaps: List[float]
    end: float


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """llama-server, ready to answer; ended with the block."""

    def __init__(self, arguments: argparse.Namespace, log: Path) -> None:
        self.port = free_port()
        command = [arguments.server, "--model", arguments.model, "--host", "127.0.0.1", "--port", str(self.port)]
        command += ["--threads", "1", "--threads-batch", "1", "--parallel", str(arguments.parallel)]
        command += ["--ctx-size", str(256 * arguments.parallel), "--slots", "--metrics", "--cache-ram", "0"]
        self.command = command[3:]
        with log.open("w") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)

    def __enter__(self) -> Server:
        while True:
            if self.process.poll() is not None:
                raise SystemExit(f"llama-server ended with {self.process.returncode}")
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
                connection.request("GET", "/health")
                if connection.getresponse().status == 200:
                    return self
            except OSError:
                pass
            time.sleep(0.1)  # it tells nobody when it is ready

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(30)

    def ask(self, lengths: Lengths, prompt: List[int], start: float) -> Answer:
        body = {"prompt": prompt, "max_tokens": lengths.answer, "stream": True, "ignore_eos": True, "temperature": 0}
        time.sleep(max(0.0, start - time.monotonic()))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        reply = connection.getresponse()
        if reply.status != 200:
            raise RuntimeError(f"llama-server answers {reply.status}: {reply.read()[:200]!r}")
        times = []
        for line in reply:
            if line.startswith(b"data: {") and json.loads(line[6:])["choices"][0]["finish_reason"] is None:
                times.append(time.monotonic())
        connection.close()
        if not times:
            raise RuntimeError("llama-server answers no token")
        return Answer(times[0] - start, [b - a for a, b in zip(times, times[1:])], times[-1])


def load(server: Server, trace: List[Lengths], rate: Optional[float], requests: int, seed: int) -> List[Answer]:
    """Poisson arrivals at `rate`, or all at once."""
    drawn = random.Random(seed)
    answers: List[Answer] = []
    failures: List[Exception] = []

    def ask(lengths: Lengths, prompt: List[int], start: float) -> None:
        try:
            answers.append(server.ask(lengths, prompt, start))
        except Exception as error:  # told by the caller
            failures.append(error)

    threads = []
    start = time.monotonic() + 0.2
    for _ in range(requests):
        lengths = drawn.choice(trace)
        prompt = drawn.choices(VOCABULARY, k=lengths.prompt)
        threads.append(threading.Thread(target=ask, args=(lengths, prompt, start)))
        start += drawn.expovariate(rate) if rate else 0
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return answers


def quantile(values: List[float]) -> float:
    """The least that is not exceeded by more than one in a hundred."""
    ordered = sorted(values)
    return ordered[len(ordered) - 1 - int(len(ordered) * (1 - QUANTILE) + 1e-9)]


def meets(server: Server, trace: List[Lengths], rate: float, requests: int, seed: int, sla: List[float]) -> Dict[str, Any]:
    answers = load(server, trace, rate, requests, seed)
    ttft = quantile([answer.ttft for answer in answers])
    tbt = quantile([gap for answer in answers for gap in answer.gaps])
    met = ttft <= sla[0] and tbt <= sla[1]
    print(f"  {rate:7.3f} a second: TTFT {ttft:.3f} s, TBT {tbt:.3f} s: {'met' if met else 'missed'}", flush=True)
    return {"rate": rate, "ttft_p99_s": ttft, "tbt_p99_s": tbt, "met": met}


def brute_force(server: Server, trace: List[Lengths], step: float, requests: int, sla: List[float]) -> Dict[str, Any]:
    """The highest rate that, with all below it, meets the SLA; of the two about it most of three loads."""
    loads: Dict[int, List[Dict[str, Any]]] = {}

    def ask(tenth: int) -> None:
        made = loads.setdefault(tenth, [])
        made.append(meets(server, trace, tenth * step, requests, 100 * tenth + len(made), sla))

    def holds(tenth: int) -> bool:
        return 2 * sum(made["met"] for made in loads[tenth]) > len(loads[tenth])

    def answer() -> int:
        return next((tenth - 1 for tenth in TENTHS if not holds(tenth)), TENTHS[-1])

    for tenth in TENTHS:
        ask(tenth)
    while True:
        unsure = [tenth for tenth in (answer(), answer() + 1) if len(loads.get(tenth, [0] * 3)) < 3]
        if not unsure:
            return {"max_rps": answer() * step, "loads": [made for tenth in TENTHS for made in loads[tenth]]}
        ask(unsure[0])


def profile(arguments: argparse.Namespace, server: Server, directory: Path, step: float, sla: List[float]) -> Dict[str, Any]:
    path = directory / "profile.json"
    command = [arguments.aqua, "profile", "--url", f"http://127.0.0.1:{server.port}", "--out", str(path)]
    command += ["--trace", str(directory / "lengths.csv"), "--requests", str(arguments.requests), "--no-progress"]
    command += ["--from", f"{step:.6f}", "--to", f"{TENTHS[-1] * step:.6f}", "--step", f"{step:.6f}"]
    command += ["--sla", f"{sla[0]:.6f},{sla[1]:.6f}", "--memory", "llama", "--bytes-per-token", "23040", "--bursts", "off"]
    subprocess.run(command, check=True)
    found: Dict[str, Any] = json.loads(path.read_text())
    return found


def compare(arguments: argparse.Namespace, directory: Path) -> Dict[str, Any]:
    drawn = random.Random(1)
    trace = [Lengths(drawn.choice(PROMPTS), drawn.choice(ANSWERS)) for _ in range(200)]
    rows = "".join(f"{lengths.prompt},{lengths.answer}\n" for lengths in trace)
    (directory / "lengths.csv").write_text("num_prefill_tokens,num_decode_tokens\n" + rows)
    with Server(arguments, directory / "log") as server:
        alone = [load(server, trace, None, 1, seed)[0] for seed in range(20)]
        ttft = statistics.median(answer.ttft for answer in alone)
        sla = [round(factor * ttft, 6) for factor in SLA_FACTORS]
        began = time.monotonic()
        capacity = arguments.requests / (max(a.end for a in load(server, trace, None, arguments.requests, 1)) - began)
        step = round(capacity / 10, 6)
        print(f"capacity {capacity:.2f} requests a second; SLA: TTFT {sla[0]:.3f} s, TBT {sla[1]:.3f} s", flush=True)
        forced = brute_force(server, trace, step, arguments.requests, sla)
        found = profile(arguments, server, directory, step, sla)
        equal = abs(found["max_rps"] - forced["max_rps"]) < step / 100
        print(f"brute force finds {forced['max_rps']:.3f} requests a second, aqua profile {found['max_rps']:.3f}: "
              f"{'equal' if equal else 'they DIFFER'}")
        return {"server": " ".join(server.command), "requests": arguments.requests, "capacity_rps": capacity, "step_rps": step,
                "ttft_alone_s": ttft, "sla_s": sla, "brute_force": forced, "profile": found, "equal": equal}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="llama-server (scripts/llama --server)")
    parser.add_argument("--aqua", required=True, help="the aqua command")
    parser.add_argument("--model", required=True, help="GGUF file")
    parser.add_argument("--requests", type=int, default=100, help="of a load")
    parser.add_argument("--parallel", type=int, default=8, help="sequences that llama-server computes at a time")
    parser.add_argument("--json", help="write the result")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        result = compare(arguments, Path(directory))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(result, indent=1))
    return 0 if result["equal"] else 1


if __name__ == "__main__":
    sys.exit(main())
