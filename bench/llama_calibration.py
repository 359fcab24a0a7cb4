#!/usr/bin/env python3
"""How well `aqua simulate` predicts llama.cpp on this machine.

Usage: llama_calibration.py --serve PROGRAM --aqua PROGRAM --model GGUF [--threads N]
                            [--requests N] [--at-most PERCENT] [--json FILE]

Records four workloads with llama_serve, each at 0.7 times the rate at which the engine keeps up (a
short run with all requests at once tells it), fits the simulator's costs to the first and predicts
the others. Some twenty minutes of a machine that does nothing else: an engine that shares its cores is
another engine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, List

# The first is fitted to; the others differ from it in lengths, in policy or in memory.
WORKLOADS: Dict[str, Dict[str, str]] = {
    "base": {"policy": "cfs", "prompt-tokens": "200", "output-tokens": "40", "kv-tokens": "1024"},
    "long-fcfs": {"policy": "fcfs", "prompt-tokens": "400", "output-tokens": "24", "kv-tokens": "2048"},
    "chat-cfs": {"policy": "cfs", "prompt-tokens": "100", "output-tokens": "80", "kv-tokens": "1024"},
    "tight-las": {"policy": "las", "prompt-tokens": "150", "output-tokens": "60", "kv-tokens": "768"},
}
LOAD = 0.7
ALL_AT_ONCE = 100_000  # requests a second
HELD_TO_THE_GOAL = ("ttft_mean_s", "ttft_p99_s", "tpot_mean_s")


def record(serve: List[str], requests: int, rate: float, seed: int, to: Path) -> Dict[str, Any]:
    asked = ["--requests", str(requests), "--rate", str(rate), "--seed", str(seed), "--json", str(to)]
    subprocess.run(serve + asked, check=True, stdout=subprocess.DEVNULL)
    recording: Dict[str, Any] = json.loads(to.read_text())
    return recording


def record_all(arguments: argparse.Namespace, directory: Path) -> Dict[str, Dict[str, float]]:
    loads = {}
    for name, workload in WORKLOADS.items():
        serve = [arguments.serve, "--model", arguments.model, "--threads", str(arguments.threads)]
        for key, value in workload.items():
            serve += [f"--{key}", value]
        probe = record(serve, 16, ALL_AT_ONCE, 1, directory / "probe.json")
        rate = LOAD * len(probe["requests"]) / max(end for *_, end in probe["requests"])
        print(f"{name}: {arguments.requests} requests, {rate:.3f} a second", flush=True)
        made = record(serve, arguments.requests, rate, 7, directory / f"{name}.json")
        loads[name] = {"rate": rate, "iterations": len(made["iterations"]), "copies": len(made["copies"])}
    return loads


def predict(aqua: str, directory: Path) -> Dict[str, Any]:
    base, *others = (str(directory / f"{name}.json") for name in WORKLOADS)
    command = [aqua, "simulate", "--calibrate", base, "--predict", ",".join(others)]
    print(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    as_json = subprocess.run(command + ["--json"], check=True, stdout=subprocess.PIPE, text=True)
    result: Dict[str, Any] = json.loads(as_json.stdout)
    for row in result["predictions"]:
        row["recording"] = Path(row["recording"]).stem
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", required=True, help="llama_serve")
    parser.add_argument("--aqua", required=True, help="the aqua command")
    parser.add_argument("--model", required=True, help="GGUF file")
    parser.add_argument("--threads", type=int, default=1, help="of llama.cpp")
    parser.add_argument("--requests", type=int, default=100, help="in each recording")
    parser.add_argument("--at-most", type=float, help="fail if a prediction is further off (percent)")
    parser.add_argument("--json", help="write the result")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        loads = record_all(arguments, Path(directory))
        result = predict(arguments.aqua, Path(directory))
    off = [abs(row[key]["off_percent"]) for row in result["predictions"] for key in HELD_TO_THE_GOAL]
    result.update(requests=arguments.requests, load=LOAD, workloads=loads, worst_off_percent=max(off))
    print(f"mean and p99 TTFT and mean TPOT are off by {max(off):.1f} % at most (goal: 15 %)")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(result, indent=1))
    return 1 if arguments.at_most is not None and max(off) > arguments.at_most else 0


if __name__ == "__main__":
    sys.exit(main())
