#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the death of a stage costs requests, by how the pipeline recovers (DéjàVu, 5.2.3).

Usage: pipeline_recovery.py --pipeline PROGRAM --keeper PROGRAM [--rounds N] [--layer-us N] [--json FILE]

Serves the same requests by examples/pipeline five times a round: undisturbed; and with a stage of
decode killed once 70 % of all tokens are there, which is replaced by a new process and reads its
replicas, or by one that stands by, or computes what was lost from tokens that are known, or answers
the running requests anew. Told is how long a request took on average, over the undisturbed run of
the same round: the median of N rounds (5), each with a seed of its own.

A toy's process starts in milliseconds and has no weights to load, which is most of what the paper's
baseline waits for.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

SHAPE = ["--prefill", "2x1", "--decode", "2x1", "--requests", "16"]
DEATH = ["--replicate", "--kill", "decode:1@70%", "--compare"]
WAYS = {"replicas": "as asked", "replicas, standby": "with a standby", "prefilled again": "prefilled again",
        "from scratch": "from scratch"}
AT_MOST = 1.2


def judge(goal: str, limit: float, measured: float) -> Dict[str, Any]:
    return {"goal": goal, "limit": limit, "measured": measured, "met": measured <= limit}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pipeline", required=True, help="the example's program")
    parser.add_argument("--keeper", required=True, help="aqua-keeper")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--layer-us", type=int, default=300, help="of the example")
    parser.add_argument("--json", help="write the result")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds wants 1 or more")
    command = [arguments.pipeline, "--keeper-binary", arguments.keeper, *SHAPE, *DEATH, "--json"]
    command += ["--layer-us", str(arguments.layer_us)]
    rounds: List[Dict[str, Any]] = []
    for seed in range(1, arguments.rounds + 1):
        ran = subprocess.run(command + ["--seed", str(seed)], check=True, stdout=subprocess.PIPE, text=True)
        rounds.append(json.loads(ran.stdout))
    over: Dict[str, List[float]] = {}
    for way, told in WAYS.items():
        if not all(each["compared"][told]["deaths"] for each in rounds):
            sys.exit(f"{way}: nobody died")
        latencies = [(each["compared"][told], each["compared"]["undisturbed"]) for each in rounds]
        over[way] = [with_death["latency_seconds"] / without["latency_seconds"] for with_death, without in latencies]
    median = {way: statistics.median(ratios) for way, ratios in over.items()}
    for way, ratios in over.items():
        print(f"{way:18} {median[way]:.2f} times the undisturbed latency ({min(ratios):.2f} to {max(ratios):.2f})")
    goals = [judge("latency with a death and replicas, over undisturbed", AT_MOST, median["replicas"]),
             judge("with one that stands by", AT_MOST, median["replicas, standby"])]
    print(f"{sum(goal['met'] for goal in goals)} of {len(goals)} goals are met")
    if arguments.json:
        result = {"layer_us": arguments.layer_us, "over_undisturbed": over, "median": median, "goals": goals,
                  "rounds": rounds}
        Path(arguments.json).write_text(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
