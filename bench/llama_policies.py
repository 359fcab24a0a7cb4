#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every policy on llama.cpp, under the same requests: is `auto` never the worst, and near the best?

Usage: llama_policies.py --serve PROGRAM --model GGUF [--seconds S] [--runs N] [--jobs N] [--load SHARE]
                         [--clock cpu|wall] [--workload NAME]... [--json FILE]

Three workloads, each a burst of S seconds at SHARE (1.5) times the rate at which the engine keeps up, which a short
run with all requests at once, the probe, tells. Then all policies serve the same requests, N times (5) with other
arrivals and lengths.

The SLA follows from the probe alone, by one rule for all workloads. A token: three times what one takes there in the
mean of its requests. Its requests are served first come, first served at the full rate, beside the prompts of others,
so that the mean has what these prompts hold answers up by, which the median iteration does not see: an engine that
keeps up is no slower. The first token: a hundred median iterations or ten prompts computed alone, whichever is more.
A prompt alone is what the first of the probe took for its first token, by its length, times the mean length. The JSON
has what share of the probe's own requests were within the time of a token.

Judged are the medians of p99 TTFT and of requests within the SLA a second: of each workload `auto` must not be the
worst (by more than 2 %, since equal ones differ by chance), and must be the best or within 10 % of it. Where no policy
had a request within the SLA nothing is decided, and a goal that is not missed elsewhere is null in `met`. Mean TPOT
over the best other's is told, not judged. The exit status is 0 whatever comes out; the JSON says `met`. It is written
anew after each workload, and says whether it is `complete`.

`scripts/bench --only llama_policies` does it all in one command and adds date, commit, machine and load to the JSON: 75
runs of about a minute and a half each, two hours of one core. Each run that has ended is told on stderr, with the time left.

By the cpu's clock (the default) an engine's time is what its one thread computes: --jobs runs go beside each other.
By the wall's clock give --jobs 1, on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, List, Optional

POLICIES = ("auto", "cfs", "las", "fcfs", "vtc")
WORKLOADS: Dict[str, Dict[str, str]] = {
    "chat": {"prompt-tokens": "100", "output-tokens": "80", "kv-tokens": "768"},
    "prompts": {"prompt-tokens": "400", "output-tokens": "24", "kv-tokens": "1536"},
    "answers": {"prompt-tokens": "50", "output-tokens": "160", "kv-tokens": "768"},
}
ALL_AT_ONCE = 100_000  # requests a second
NEAR = 1.1
SAME = 1.02
# Whether more is better.
JUDGED = {"ttft_p99_s": False, "goodput_rps": True}
Figures = Dict[str, float]


def percentile(values: List[float], percent: float) -> float:
    """The least value that so many percent of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def figures_of(recording: Dict[str, Any], ttft_s: float, tpot_s: float) -> Figures:
    """What users felt. Rows of requests: arrival, prompt tokens, output tokens, first token, end."""
    rows = recording["requests"]
    ttft = [first - arrival for arrival, _, _, first, _ in rows]
    tpot = [(end - first) / (output - 1) if output > 1 else 0.0 for _, _, output, first, end in rows]
    makespan = max(end for *_, end in rows)
    within = sum(a <= ttft_s and b <= tpot_s for a, b in zip(ttft, tpot))
    return {"ttft_p99_s": percentile(ttft, 99), "ttft_p50_s": statistics.median(ttft), "tpot_mean_s": statistics.mean(tpot),
            "goodput_rps": within / makespan, "within_sla": within / len(rows), "makespan_s": makespan,
            "copies": len(recording["copies"]), "switches": len(recording["switches"])}


def sla_of(probe: Dict[str, Any]) -> Figures:
    """What readers are promised, from the probe and nothing else; and what it is made of."""
    rows = probe["requests"]
    tokens = [(end - first) / (output - 1) for _, _, output, first, end in rows if output > 1]
    iteration = statistics.median(row[0] for row in probe["iterations"])
    arrival, length, _, first, _ = min(rows, key=lambda row: row[3])  # nobody else was there before it
    prompt = (first - arrival) / length * statistics.mean(row[1] for row in rows)
    tpot_s = 3 * statistics.mean(tokens)
    return {"ttft_s": max(100 * iteration, 10 * prompt), "tpot_s": tpot_s, "iteration_s": iteration, "prompt_s": prompt,
            "probe_within_tpot": sum(token <= tpot_s for token in tokens) / len(tokens)}


def medians(runs: List[Figures]) -> Figures:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def means(runs: List[Figures]) -> Figures:
    return {name: statistics.mean(run[name] for run in runs) for name in runs[0]}


def over_best_other(of: Dict[str, Figures], name: str) -> Optional[float]:
    """Of a figure of which less is better."""
    best = min(row[name] for policy, row in of.items() if policy != "auto")
    return of["auto"][name] / best if best > 0 else None


def verdict(of: Dict[str, Figures]) -> Dict[str, Any]:
    """Of the medians by policy. None where nobody had anything, as with no request of any policy within the SLA."""
    judged: Dict[str, Any] = {}
    for name, more in JUDGED.items():
        mine, others = of["auto"][name], [row[name] for policy, row in of.items() if policy != "auto"]
        best, worst = (max(others), min(others)) if more else (min(others), max(others))
        if more and mine == best == 0:
            judged[name] = {"over_best_other": None, "near_best": None, "never_worst": None}
            continue
        over = (best / mine if mine > 0 else math.inf) if more else (mine / best if best > 0 else math.inf)
        judged[name] = {"over_best_other": over if math.isfinite(over) else None, "near_best": over <= NEAR,
                        "never_worst": SAME * mine >= worst if more else mine <= SAME * worst}
    return judged


class Bench:
    def __init__(self, arguments: argparse.Namespace, directory: Path):
        self.arguments, self.directory = arguments, directory
        self.workloads: List[str] = arguments.workload or list(WORKLOADS)
        self.ended, self.began, self.lock = 0, time.monotonic(), threading.Lock()

    def tell(self, what: str) -> None:
        """That a run has ended, and how long all that are left will take if they are like those before."""
        with self.lock:
            self.ended += 1
            of = len(self.workloads) * len(POLICIES) * self.arguments.runs
            left = (time.monotonic() - self.began) / self.ended * (of - self.ended)
            print(f"{self.ended} of {of}: {what}; about {math.ceil(left / 60)} min left", file=sys.stderr, flush=True)

    def record(self, workload: str, name: str, **options: Any) -> Dict[str, Any]:
        to = self.directory / f"{workload}-{name}.json"
        command = [self.arguments.serve, "--model", self.arguments.model, "--clock", self.arguments.clock, "--json", str(to)]
        for key, value in {**WORKLOADS[workload], **options}.items():
            command += [f"--{key.replace('_', '-')}", str(value)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        recording: Dict[str, Any] = json.loads(to.read_text())
        return recording

    def run(self, workload: str) -> Dict[str, Any]:
        probe = self.record(workload, "probe", policy="fcfs", requests=16, rate=ALL_AT_ONCE, seed=1)
        keeps_up = len(probe["requests"]) / max(end for *_, end in probe["requests"])
        sla = sla_of(probe)
        ttft_s, tpot_s = sla["ttft_s"], sla["tpot_s"]
        rate = self.arguments.load * keeps_up
        requests = max(2, round(self.arguments.seconds * rate))
        print(f"{workload}: {requests} requests, {rate:.3f} a second; SLA {ttft_s:.3f} s, {tpot_s:.4f} s", flush=True)

        def serve(policy: str, seed: int) -> Figures:
            recording = self.record(workload, f"{policy}-{seed}", policy=policy, requests=requests, rate=rate,
                                    seconds_per_token=tpot_s, seed=seed)
            self.tell(f"{workload}, {policy}, seed {seed}")
            return figures_of(recording, ttft_s, tpot_s)

        with ThreadPoolExecutor(self.arguments.jobs) as pool:  # all policies of a seed, then the next seed
            asked = [(policy, seed) for seed in range(1, self.arguments.runs + 1) for policy in POLICIES]
            ran = dict(zip(asked, pool.map(lambda one: serve(*one), asked)))
        runs = {policy: [ran[policy, seed] for seed in range(1, self.arguments.runs + 1)] for policy in POLICIES}
        of = {policy: medians(runs[policy]) for policy in POLICIES}
        return {"rate": rate, "requests": requests, "sla": sla, "medians": of,
                "means": {policy: means(runs[policy]) for policy in POLICIES}, "verdict": verdict(of),
                "tpot_over_best_other": over_best_other(of, "tpot_mean_s"), "runs": runs}


def table(workload: str, result: Dict[str, Any]) -> str:
    """Medians of the runs, their means behind them."""
    lines = [f"{workload:10} {'p99 TTFT s':>20} {'within SLA/s':>20} {'mean TPOT s':>20}"]
    for policy, row in result["medians"].items():
        mean = result["means"][policy]
        lines.append(f"  {policy:8}" + "".join(f" {row[name]:10.3f} ({mean[name]:7.3f})"
                                               for name in ("ttft_p99_s", "goodput_rps", "tpot_mean_s")))
    for name, judged in result["verdict"].items():
        if judged["near_best"] is None:
            lines.append(f"  {name}: undecided, as no policy had a request within the SLA")
            continue
        worst, near = ("" if judged["never_worst"] else "NOT "), ("" if judged["near_best"] else "NOT ")
        lines.append(f"  {name}: auto is {worst}better than the worst or as good, {near}the best or within 10 % of it")
    if result["tpot_over_best_other"] is not None:
        lines.append(f"  mean TPOT of auto over the best other's (not judged): {result['tpot_over_best_other']:.2f}")
    return "\n".join(lines)


def met_by(workloads: Dict[str, Any]) -> Dict[str, Optional[bool]]:
    """None, undecided, where nothing speaks against a goal, and something not for it either."""
    judged = [each for result in workloads.values() for each in result["verdict"].values()]
    met: Dict[str, Optional[bool]] = {}
    for goal in ("never_worst", "near_best"):
        said = {each[goal] for each in judged}
        met[goal] = False if False in said else None if None in said else True
    return met


def write(arguments: argparse.Namespace, workloads: Dict[str, Any], complete: bool) -> None:
    """Anew after each workload, so that a run that fails later takes none of them along."""
    if not arguments.json:
        return
    result = {"clock": arguments.clock, "seconds": arguments.seconds, "runs": arguments.runs, "load": arguments.load,
              "complete": complete, "workloads": workloads, "met": met_by(workloads) if complete else None}
    Path(arguments.json).write_text(json.dumps(result, indent=1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", required=True, help="llama_serve")
    parser.add_argument("--model", required=True, help="GGUF file")
    parser.add_argument("--seconds", type=float, default=60, help="that requests come for")
    parser.add_argument("--runs", type=int, default=5, help="of each policy and workload")
    parser.add_argument("--jobs", type=int, default=1, help="runs beside each other")
    parser.add_argument("--load", type=float, default=1.5, help="of the rate at which the engine keeps up")
    parser.add_argument("--clock", choices=("cpu", "wall"), default="cpu")
    parser.add_argument("--workload", action="append", choices=tuple(WORKLOADS), help="of the three; default: all")
    parser.add_argument("--json", help="write the result")
    arguments = parser.parse_args()
    workloads: Dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(arguments, Path(directory))
        for workload in bench.workloads:
            workloads[workload] = bench.run(workload)
            print(table(workload, workloads[workload]), flush=True)
            write(arguments, workloads, complete=workload == bench.workloads[-1])
    words = {goal: "undecided" if met is None else str(met) for goal, met in met_by(workloads).items()}
    print(f"never worst: {words['never_worst']}; best or within 10 %: {words['near_best']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
