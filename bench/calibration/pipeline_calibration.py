#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well `aqua simulate` predicts a pipeline of real processes on this machine.

Usage: pipeline_calibration.py --pipeline PROGRAM --keeper PROGRAM --aqua PROGRAM [--rounds N]
                               [--layer-us N] [--at-most PERCENT] [--json FILE]

Records examples/pipeline with two stages, one of which is killed, fits the simulator's costs to
that, and predicts the makespan of others: other shapes, other lengths, another death. The median
of N rounds (3) is told, each with recordings of its own.

Kernels of the emulated devices last as long as a device's would (--layer-us, 300), so that stages
do not slow each other down by sharing the cores of one machine. With --layer-us 0 they last as long
as this machine computes.
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

MODEL = ["--layers", "7", "--requests", "16"]
TWO = ["--colocated", "2x1", "--batch", "2"]
LENGTHS = ["--prompt-tokens", "100", "--answer-tokens", "100"]
BASE = TWO + LENGTHS + ["--kill", "colocated:1@30%"]
OTHERS: Dict[str, List[str]] = {
    "one stage": ["--colocated", "1x1", "--batch", "1"] + LENGTHS,
    "three stages": ["--colocated", "3x1", "--batch", "3"] + LENGTHS,
    "seven stages": ["--colocated", "7x1", "--batch", "7"] + LENGTHS,
    "longer answers": TWO + ["--prompt-tokens", "50", "--answer-tokens", "200"],
    "longer prompts, a death": TWO + ["--prompt-tokens", "200", "--answer-tokens", "60", "--kill", "colocated:0@60%"],
}


def predict(arguments: argparse.Namespace, directory: Path, seed: int) -> Dict[str, Any]:
    def record(name: str, asked: List[str], seed: int) -> str:
        to = directory / f"{name}.json"
        command = [arguments.pipeline, "--keeper-binary", arguments.keeper, *MODEL, *asked]
        command += ["--layer-us", str(arguments.layer_us)]
        subprocess.run(command + ["--seed", str(seed), "--record", str(to)], check=True, stdout=subprocess.DEVNULL)
        return str(to)

    base = record("base", BASE, seed)
    others = [record(name.replace(",", ""), asked, seed + 100) for name, asked in OTHERS.items()]
    command = [arguments.aqua, "simulate", "--calibrate", base, "--predict", ",".join(others), "--json"]
    result: Dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    for name, row in zip(OTHERS, result["predictions"]):
        row["recording"] = name
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pipeline", required=True, help="the example's program")
    parser.add_argument("--keeper", required=True, help="aqua-keeper")
    parser.add_argument("--aqua", required=True, help="the aqua command")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--layer-us", type=int, default=300, help="of the example")
    parser.add_argument("--at-most", type=float, help="fail if a makespan is further off (percent)")
    parser.add_argument("--json", help="write the result")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        rounds = [predict(arguments, Path(directory), seed) for seed in range(arguments.rounds)]
    makespans = []
    for i, name in enumerate(OTHERS):
        rows = [each["predictions"][i]["makespan_s"] for each in rounds]
        off = [row["off_percent"] for row in rows]
        makespans.append({"name": name, "measured_s": [row["measured"] for row in rows], "off_percent": off,
                          "off_percent_median": statistics.median(off)})
        print(f"{name:26} {statistics.median(row['measured'] for row in rows):7.3f} s measured,"
              f" predicted {statistics.median(off):+5.1f} % off ({min(off):+.1f} to {max(off):+.1f})")
    worst = max(abs(row["off_percent_median"]) for row in makespans)
    print(f"makespans are off by {worst:.1f} % at most (goal: 15 %)")
    if arguments.json:
        result = {"layer_us": arguments.layer_us, "makespans": makespans, "worst_off_percent": worst, "rounds": rounds}
        Path(arguments.json).write_text(json.dumps(result, indent=1))
    return 1 if arguments.at_most is not None and worst > arguments.at_most else 0


if __name__ == "__main__":
    sys.exit(main())
