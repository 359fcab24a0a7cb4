#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the death of a stage costs requests, by how the pipeline recovers (DéjàVu, 5.2.3).

Usage: pipeline_recovery.py --pipeline PROGRAM --keeper PROGRAM [--courier PROGRAM --certificates PROGRAM]
       [--rounds N] [--layer-us N] [--json FILE]

Serves the same requests by examples/pipeline seven times a round: undisturbed; and with a stage of
decode killed once 70 % of all tokens are there, which is replaced by a new process, or by one that
stands by, and reads replicas or computes tokens that are known, as is the shorter by what was
measured; reads in any case; computes in any case, though there are replicas; or has none, and so
copies nothing before either; or answers the running requests anew. Once with short answers, and once
with prompts and answers of hundreds of tokens. With a courier likewise for a pipeline of three stages
whose whole server is lost, with its keeper: its successors are on another server, and read the copies
that couriers have brought there.

Told is how long a request took, over the undisturbed run of the same round: the median of N rounds (5),
each with a seed of its own. Of the requests that the broken pipeline had in hand at the death, beside
the same ones undisturbed, which is what the paper tells (of an active microbatch), and goals judge; and
of all requests on average, most of which no death touches. And the phases of the recovery.

A toy's process starts in milliseconds and has no weights to load, which is most of what the paper's
baseline waits for.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, List

STAGE = ["--prefill", "2x1", "--decode", "2x1", "--requests", "16", "--kill", "decode:1@70%"]
LONG = ["--prefill", "2x1", "--decode", "2x1", "--requests", "8", "--prompt-tokens", "200", "--answer-tokens", "400",
        "--kill", "decode:1@70%"]
SERVER = ["--colocated", "3x1", "--requests", "16", "--prompt-tokens", "200", "--kill", "server:0@70%"]
WAYS = {"replicas": "as asked", "replicas, standby": "with a standby", "always read": "always read", "never read": "never read",
        "prefilled again": "prefilled again", "from scratch": "from scratch"}
PHASES = ("noticed", "surveyed", "restored", "resumed", "next_token")
STAGE_AT_MOST, SERVER_AT_MOST = 1.2, 1.3


def judge(goal: str, limit: float, measured: float) -> Dict[str, Any]:
    return {"goal": goal, "limit": limit, "measured": measured, "met": measured <= limit}


def measure(command: List[str], layer_us: int, rounds: int) -> Dict[str, Any]:
    """By way, latencies over the undisturbed ones, and seconds of the recoveries' phases."""
    ran: List[Dict[str, Any]] = []
    for seed in range(1, rounds + 1):
        line = [*command, "--replicate", "--compare", "--json", "--layer-us", str(layer_us), "--seed", str(seed)]
        ran.append(json.loads(subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True).stdout))
    over: Dict[str, List[float]] = {}
    interrupted: Dict[str, List[float]] = {}
    phases: Dict[str, Dict[str, float]] = {}
    for way, told in WAYS.items():
        if told not in ran[0]["compared"]:
            continue
        if not all(each["compared"][told]["deaths"] for each in ran):
            sys.exit(f"{way}: nobody died")
        disturbed = [each["compared"][told] for each in ran]
        if not all(each["interrupted_requests"] for each in disturbed):
            sys.exit(f"{way}: nothing was interrupted")
        over[way] = [each["latency_seconds"] / beside["compared"]["undisturbed"]["latency_seconds"]
                     for each, beside in zip(disturbed, ran)]
        interrupted[way] = [each["interrupted_latency_seconds"] / each["the_same_undisturbed_latency_seconds"]
                            for each in disturbed]
        phases[way] = phases_of([one for each in disturbed for one in each["interruptions"]])
    for way, ratios in interrupted.items():
        print(f"{way:18} {statistics.median(ratios):.2f} times the undisturbed latency of interrupted requests "
              f"({min(ratios):.2f} to {max(ratios):.2f}), {statistics.median(over[way]):.2f} times that of all; "
              + ", ".join(f"{name} after {seconds * 1000:.0f} ms" for name, seconds in phases[way].items()))
    return {"interrupted_over_undisturbed": interrupted, "interrupted_median": medians(interrupted),
            "over_undisturbed": over, "median": medians(over), "phases_median_seconds": phases, "rounds": ran}


def medians(ratios: Dict[str, List[float]]) -> Dict[str, float]:
    return {way: statistics.median(each) for way, each in ratios.items()}


def phases_of(interruptions: List[Dict[str, Any]]) -> Dict[str, float]:
    """Medians of what each took, in seconds after the one before; the first after the process had ended."""
    after = {name: [each[f"{name}_after"] for each in interruptions] for name in PHASES}
    known = {name: [each for each in seconds if each is not None] for name, seconds in after.items()}
    return {name: statistics.median(seconds) for name, seconds in known.items() if seconds}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pipeline", required=True, help="the example's program")
    parser.add_argument("--keeper", required=True, help="aqua-keeper")
    parser.add_argument("--courier", help="aqua-courier")
    parser.add_argument("--certificates", help="aqua-courier-certificates")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--layer-us", type=int, default=300, help="of the example")
    parser.add_argument("--json", help="write the result")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds wants 1 or more")
    if (arguments.courier is None) != (arguments.certificates is None):
        parser.error("--courier and --certificates go together")
    command = [arguments.pipeline, "--keeper-binary", arguments.keeper]
    print("a stage of decode dies:")
    stage = measure(command + STAGE, arguments.layer_us, arguments.rounds)
    print("the same with long answers:")
    long_answers = measure(command + LONG, arguments.layer_us, arguments.rounds)
    goals = []
    for of, measured in (("", stage), (", long answers", long_answers)):
        median = measured["interrupted_median"]
        goals.append(judge(f"latency of interrupted requests with replicas, over undisturbed{of}", STAGE_AT_MOST,
                           median["replicas"]))
        goals.append(judge(f"with one that stands by{of}", STAGE_AT_MOST, median["replicas, standby"]))
    result = {"layer_us": arguments.layer_us, **stage, "long_answers": long_answers, "goals": goals}
    if arguments.courier:
        print("a server is lost:")
        with tempfile.TemporaryDirectory() as certificates:
            subprocess.run([arguments.certificates, certificates, "prefill.test", "decode.test"], check=True,
                           stdout=subprocess.DEVNULL)
            server = measure(command + SERVER + ["--two-servers", certificates, "--courier-binary", arguments.courier],
                             arguments.layer_us, arguments.rounds)
        result["server_lost"] = server
        goals.append(judge("with a server lost, and copies on another one", SERVER_AT_MOST,
                           server["interrupted_median"]["replicas"]))
    print(f"{sum(goal['met'] for goal in goals)} of {len(goals)} goals are met")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
