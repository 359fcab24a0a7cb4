#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well `aqua simulate` predicts llama.cpp on this machine.

Usage: llama_calibration.py --serve PROGRAM --aqua PROGRAM --model GGUF [--seconds S] [--load SHARE]
                            [--clock cpu|wall] [--threads N] [--keep DIR] [--at-most PERCENT] [--json FILE]

Records four workloads with llama_serve, each at SHARE (0.5) times the rate at which the engine keeps
up (a short run with all requests at once tells it), fits the simulator's costs to the first and
predicts the others. Each keeps its engine busy for S seconds. The nearer to 1 the share, the more a
wait hangs on the engine's speed: the JSON says how much (`percent_if_1_percent_slower`).

By the cpu's clock (the default) an engine's time is what its one thread computes, and the four run
beside each other: a machine that is slower for a while is so for all of them. By the wall's clock
they run one after the other, on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, List, Tuple

# The first is fitted to; the others differ from it in lengths, in policy or in memory.
WORKLOADS: Dict[str, Dict[str, str]] = {
    "base": {"policy": "cfs", "prompt-tokens": "200", "output-tokens": "40", "kv-tokens": "1024"},
    "long-fcfs": {"policy": "fcfs", "prompt-tokens": "400", "output-tokens": "24", "kv-tokens": "2048"},
    "chat-cfs": {"policy": "cfs", "prompt-tokens": "100", "output-tokens": "80", "kv-tokens": "1024"},
    "tight-las": {"policy": "las", "prompt-tokens": "150", "output-tokens": "60", "kv-tokens": "768"},
}
ALL_AT_ONCE = 100_000  # requests a second
HELD_TO_THE_GOAL = ("ttft_mean_s", "ttft_p99_s", "tpot_mean_s")


def record(serve: List[str], requests: int, rate: float, seed: int, to: Path) -> Dict[str, Any]:
    asked = ["--requests", str(requests), "--rate", str(rate), "--seed", str(seed), "--json", str(to)]
    subprocess.run(serve + asked, check=True, stdout=subprocess.DEVNULL)
    recording: Dict[str, Any] = json.loads(to.read_text())
    return recording


def record_all(arguments: argparse.Namespace, directory: Path) -> Dict[str, Dict[str, float]]:
    def serve(name: str) -> List[str]:
        command = [arguments.serve, "--model", arguments.model]
        command += ["--threads", str(arguments.threads), "--clock", arguments.clock]
        for key, value in WORKLOADS[name].items():
            command += [f"--{key}", value]
        return command

    def keeps_up(name: str) -> float:
        probe = record(serve(name), 16, ALL_AT_ONCE, 1, directory / f"probe-{name}.json")
        return len(probe["requests"]) / max(end for *_, end in probe["requests"])

    def load(named: Tuple[str, float]) -> Dict[str, float]:
        name, most = named
        requests = max(1, round(arguments.seconds * most))
        rate = arguments.load * most
        print(f"{name}: {requests} requests, {rate:.3f} a second", flush=True)
        made = record(serve(name), requests, rate, 7, directory / f"{name}.json")
        counts = {key: len(made[key]) for key in ("requests", "iterations", "copies")}
        return {"rate": rate, **counts}

    with ThreadPoolExecutor(len(WORKLOADS) if arguments.clock == "cpu" else 1) as pool:
        rates = list(pool.map(keeps_up, WORKLOADS))
        return dict(zip(WORKLOADS, pool.map(load, zip(WORKLOADS, rates))))


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
    parser.add_argument("--seconds", type=float, default=240, help="that each engine computes")
    parser.add_argument("--load", type=float, default=0.5, help="of the rate at which the engine keeps up")
    parser.add_argument("--clock", choices=("cpu", "wall"), default="cpu")
    parser.add_argument("--threads", type=int, default=1, help="of llama.cpp; by the wall's clock")
    parser.add_argument("--keep", type=Path, help="where recordings stay; aqua simulate --calibrate reads them")
    parser.add_argument("--at-most", type=float, help="fail if a prediction is further off (percent)")
    parser.add_argument("--json", help="write the result")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        recordings = arguments.keep or Path(directory)
        recordings.mkdir(parents=True, exist_ok=True)
        loads = record_all(arguments, recordings)
        result = predict(arguments.aqua, recordings)
    off = [abs(row[key]["off_percent"]) for row in result["predictions"] for key in HELD_TO_THE_GOAL]
    result.update(seconds=arguments.seconds, clock=arguments.clock, load=arguments.load, workloads=loads, worst_off_percent=max(off))
    print(f"mean and p99 TTFT and mean TPOT are off by {max(off):.1f} % at most (goal: 15 %)")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(result, indent=1))
    return 1 if arguments.at_most is not None and max(off) > arguments.at_most else 0


if __name__ == "__main__":
    sys.exit(main())
