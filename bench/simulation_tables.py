#!/usr/bin/env python3
"""The tables of docs/simulation.md, and what they are held to, by `aqua simulate`.

Usage: simulation_tables.py --aqua PROGRAM [--seeds N] [--markdown FILE] [--json FILE]

AQUA_DATA names the folder with traces/ and profiles/. Virtual time: a busy machine gives the same
figures, later. Exit status 1 if a goal is missed that docs/simulation.md calls met.

A row is memory-bound when FCFS with memory without end would have had at most a quarter of its p99
TTFT: then, and only then, can paging win four times. The lent memory suffices when cfs+aqua filled
less than nine tenths of it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

POLICIES = ("fcfs", "cfs+dram", "cfs+aqua", "cfs+free")
BURSTS = "2,3,4"
# Model, server, GPUs: with all the KV that the device has, and by capacity.
WHOLE = [("codellama-34b", "h100", 1), ("yi-34b", "h100", 1), ("llama-2-70b", "h100", 2),
         ("llama-2-7b", "h100", 1), ("llama-3-8b", "a100", 1)]
BY_CAPACITY = [("codellama-34b", "h100", 1), ("llama-3-8b", "a100", 1), ("llama-2-70b", "h100", 2),
               ("llama-2-7b", "h100", 1)]
CAPACITIES = (8000, 16000, 32000, 64000)
ENDLESS = 1_000_000  # KV tokens
NEARLY_FULL = 0.9  # of the lent memory: cfs+aqua falls back to FCFS when a sequence does not fit
QUIET = [("llama-3-8b", "a100", 2), ("codellama-34b", "h100", 0.3), ("llama-2-7b", "h100", 3)]


class Simulator:
    def __init__(self, aqua: str, seeds: int) -> None:
        trace = Path(os.environ["AQUA_DATA"]) / "traces" / "azure_llm_inference_conv_2023.csv"
        self.command = [aqua, "simulate", "--trace", str(trace), "--no-progress", "--json"]
        self.seeds = seeds

    def run(self, **options: Any) -> Dict[str, Any]:
        words = list(self.command)
        for name, value in options.items():
            words += ["--" + name.replace("_", "-"), str(value)]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
        result: Dict[str, Any] = json.loads(done.stdout)
        return result

    def bursts(self, model: str, server: str, gpus: int, **options: Any) -> List[Dict[str, Any]]:
        """One row for each burst size, at the stable rate of this capacity."""
        common = {"workload": "burst", "model": model, "server": server, "tensor_parallel": gpus, "seeds": self.seeds}
        points = self.run(**common, **options, sweep=f"burst={BURSTS}")["points"]
        rate = re.search(r" x (\S+) a second", points[0]["workload"]["name"])
        assert rate is not None, points[0]["workload"]["name"]
        options["kv_tokens"] = ENDLESS
        endless = self.run(**common, **options, compare="fcfs", rate=rate[1], sweep=f"burst={BURSTS}")["points"]
        return [burst_row(point, other, server, float(rate[1])) for point, other in zip(points, endless)]


def burst_row(point: Dict[str, Any], endless: Dict[str, Any], server: str, rate: float) -> Dict[str, Any]:
    of = point["policies"]
    fcfs, aqua, free = of["fcfs"], of["cfs+aqua"], of["cfs+free"]
    over = lambda key: aqua[key] / free[key] - 1
    return {
        "model": point["model"], "gpus": point["tensor_parallel"], "server": server.upper(),
        "kv_tokens": point["kv_tokens"], "burst": point["burst"], "rate": rate,
        "ttft_p99_s": {name: of[name]["ttft_p99_s"] for name in POLICIES},
        "tpot_mean_s": {name: of[name]["tpot_mean_s"] for name in POLICIES},
        "fcfs_over_aqua": fcfs["ttft_p99_s"] / aqua["ttft_p99_s"],
        "fcfs_over_free": fcfs["ttft_p99_s"] / free["ttft_p99_s"],
        "memory_bound": fcfs["ttft_p99_s"] >= 4 * endless["policies"]["fcfs"]["ttft_p99_s"],
        "lent_suffices": aqua["totals"]["peak_peer_bytes"] < NEARLY_FULL * point["lent_bytes"],
        "tpot_over_free": over("tpot_mean_s"), "latency_over_free": over("latency_mean_s"),
        "makespan_over_fcfs": aqua["makespan_s"] / fcfs["makespan_s"] - 1,
    }


def quiet_row(simulator: Simulator, model: str, server: str, rate: float) -> Dict[str, Any]:
    of = simulator.run(workload="poisson", requests=500, model=model, server=server, rate=rate)["policies"]
    off = lambda key: of["cfs+aqua"][key] / of["fcfs"][key] - 1
    return {"model": model, "server": server, "rate": rate, "ttft_mean_off": off("ttft_mean_s"),
            "latency_mean_off": off("latency_mean_s")}


def long_prompt_row(simulator: Simulator, server: str) -> Dict[str, Any]:
    ways = simulator.run(workload="long-prompt", model="opt-30b", server=server)["ways"]
    speed = {name: way["tokens_per_second"] for name, way in ways.items()}
    return {"server": server, "tokens_per_second": speed, "serial": speed["aqua, serial"] / speed["dram, serial"],
            "overlapped": speed["aqua"] / speed["dram"]}


def goals(tables: Dict[str, List[Dict[str, Any]]]) -> Dict[str, Any]:
    bursts = tables["whole"] + tables["by_capacity"]
    fit = [row for row in bursts if row["lent_suffices"]]
    bound = [row for row in fit if row["memory_bound"]]
    near = lambda row: max(row["tpot_over_free"], row["latency_over_free"]) <= 0.10
    return {
        "rows": len(bursts), "rows_lent_suffices": len(fit), "rows_memory_bound_too": len(bound),
        "of_these_4_times": sum(row["fcfs_over_aqua"] >= 4 for row in bound),
        "of_these_4_times_with_free": sum(row["fcfs_over_free"] >= 4 for row in bound),
        "of_these_median": statistics.median(row["fcfs_over_aqua"] for row in bound),
        "best_fcfs_over_aqua": max(row["fcfs_over_aqua"] for row in bursts),
        "rows_within_10_percent_of_free": sum(near(row) for row in bursts),
        "makespan_worst": max(abs(row["makespan_over_fcfs"]) for row in bursts),
        "quiet_worst": max(max(abs(row["ttft_mean_off"]), abs(row["latency_mean_off"])) for row in tables["quiet"]),
        "long_prompt_serial_least": min(row["serial"] for row in tables["long_prompt"]),
    }


# A page's tables.
def markdown(rows: List[Dict[str, Any]]) -> str:
    heads = ["TTFT p99 s: fcfs", *POLICIES[1:], "fcfs / aqua", "TPOT ms: fcfs", *POLICIES[1:]]
    lines = ["| model | KV tokens | burst × stable rate | " + " | ".join(heads) +
             " | aqua − free: TPOT | mean latency | memory-bound, lent suffices |", "|---" * 15 + "|"]
    for row in rows:
        cells = [f'{row["model"]}, {row["gpus"]} {row["server"]}', f'{row["kv_tokens"]:,.0f}',
                 f'{row["burst"]:g} × {row["rate"]:.4g}']
        cells += [f'{row["ttft_p99_s"][name]:.2f}' for name in POLICIES] + [f'{row["fcfs_over_aqua"]:.1f}']
        cells += [f'{row["tpot_mean_s"][name] * 1e3:.1f}' for name in POLICIES]
        cells += [f'{row[key] * 100:+.1f} %' for key in ("tpot_over_free", "latency_over_free")]
        cells.append(", ".join("yes" if row[key] else "no" for key in ("memory_bound", "lent_suffices")))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aqua", required=True, help="the aqua command")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--markdown", help="write the tables as the page has them")
    parser.add_argument("--json", help="write rows and goals")
    arguments = parser.parse_args()
    if not os.environ.get("AQUA_DATA"):
        sys.exit("simulation_tables: AQUA_DATA names no folder with traces/ and profiles/")
    simulator = Simulator(arguments.aqua, arguments.seeds)
    tables: Dict[str, List[Dict[str, Any]]] = {
        "whole": [row for of in WHOLE for row in simulator.bursts(*of, lent_gb=60)],
        "by_capacity": [row for of in BY_CAPACITY for tokens in CAPACITIES
                        for row in simulator.bursts(*of, lent_gb=40, kv_tokens=tokens)],
        "quiet": [quiet_row(simulator, *of) for of in QUIET],
        "long_prompt": [long_prompt_row(simulator, server) for server in ("h100", "a100")],
    }
    reached = goals(tables)
    print(json.dumps(reached, indent=1))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"goals": reached, **tables}, indent=1))
    if arguments.markdown:
        Path(arguments.markdown).write_text(markdown(tables["whole"]) + "\n" + markdown(tables["by_capacity"]))
    met = (reached["makespan_worst"] <= 0.05 and reached["quiet_worst"] <= 0.05
           and reached["long_prompt_serial_least"] >= 4 and reached["best_fcfs_over_aqua"] >= 4
           and reached["rows_within_10_percent_of_free"] == reached["rows"])
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
