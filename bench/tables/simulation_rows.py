# SPDX-License-Identifier: Apache-2.0
"""Runs `aqua simulate` and makes rows of what it says: for simulation_tables.py."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Sequence

Row = Dict[str, Any]

SHOWN = ("fcfs", "cfs+dram", "cfs+aqua", "cfs+free", "auto+aqua")  # columns of the page's tables
POLICIES = (*SHOWN, "cfs+dram+blocks", "cfs+aqua+blocks")
LEFT_OUT = ("fcfs", "cfs+dram", "cfs+aqua")  # what auto must not be worse than
METRICS = ("ttft_p50_s", "ttft_mean_s", "ttft_p99_s", "tpot_mean_s", "latency_mean_s", "latency_p99_s", "goodput_rps")
ENDLESS_KV = 1_000_000  # tokens
ENDLESS_LENT = 1000  # GB
TRACES = {"azure": "azure_llm_inference_conv_2023.csv", "arxiv": "arxiv_summarization_lengths.csv",
          "mooncake": "mooncake_conversation_trace.jsonl"}
SECONDS = {"before": (60, 120), "surge": (120, 180), "settling": (180, 240), "after": (240, 300)}  # of elastic


class Simulator:
    def __init__(self, aqua: str, seeds: int) -> None:
        self.aqua = aqua
        self.seeds = seeds

    def run(self, trace: str = "azure", **options: Any) -> Row:
        """One command. An option that is True has no value; `lengths` stand in for the trace."""
        words = [self.aqua, "simulate", "--no-progress", "--json"]
        if "lengths" not in options:
            words += ["--trace", str(Path(os.environ["AQUA_DATA"]) / "traces" / TRACES[trace])]
        for name, value in options.items():
            words.append("--" + name.replace("_", "-"))
            if value is not True:
                words.append(str(value))
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
        result: Row = json.loads(done.stdout)
        return result

    def bursts(self, model: str, server: str, gpus: int = 1, bursts: str = "2,3,4", **options: Any) -> List[Row]:
        """One row for each burst size, at the stable rate of this capacity."""
        common = {"workload": "burst", "model": model, "server": server, "tensor_parallel": gpus,
                  "seeds": self.seeds, "sweep": f"burst={bursts}", **options}
        points = self.run(compare=",".join(POLICIES), **common)["points"]
        rate = rate_of(points[0])
        common["rate"] = rate
        no_queue = self.run(compare="fcfs", **{**common, "kv_tokens": ENDLESS_KV})["points"]
        all_fits = self.run(compare="cfs+aqua", **{**common, "lent_gb": ENDLESS_LENT})["points"]
        return [burst_row(*of, server, float(rate)) for of in zip(points, no_queue, all_fits)]

    def few_bursts(self, model: str, server: str, seeds: int, **options: Any) -> List[Row]:
        """Of some policies with 16,000 tokens of KV and 40 GB lent, with no more seeds than are asked for in all."""
        points: List[Row] = self.run(workload="burst", model=model, server=server, kv_tokens=16_000, lent_gb=40,
                                     seeds=min(seeds, self.seeds), sweep="burst=2,3,4", **options)["points"]
        return points


def rate_of(point: Row) -> str:
    """The stable rate that a burst is a multiple of."""
    rate = re.search(r" x (\S+) a second", point["workload"]["name"])
    assert rate is not None, point["workload"]["name"]
    return rate[1]


def auto_over_best(of: Row) -> Row:
    """auto+aqua beside the best of those without it, each figure by itself."""
    auto = of["auto+aqua"]
    return {"auto_ttft_p99_over_best": auto["ttft_p99_s"] / min(of[name]["ttft_p99_s"] for name in LEFT_OUT),
            "auto_goodput_over_best": auto["goodput_rps"] / max(of[name]["goodput_rps"] for name in LEFT_OUT)}


def burst_row(point: Row, no_queue: Row, all_fits: Row, server: str, rate: float) -> Row:
    of = point["policies"]
    fcfs, aqua, free = of["fcfs"], of["cfs+aqua"], of["cfs+free"]
    roomy = all_fits["policies"]["cfs+aqua"]
    row: Row = {
        "model": point["model"], "gpus": point["tensor_parallel"], "server": server.upper(),
        "kv_tokens": point["kv_tokens"], "lent_gb": point["lent_bytes"] / 1e9, "burst": point["burst"], "rate": rate}
    for metric in METRICS:
        row[metric] = {name: of[name][metric] for name in POLICIES}
        row[metric]["cfs+aqua, endless"] = roomy[metric]
    if "confidence_95" in fcfs:  # more than one seed
        row["ttft_p99_half_width_s"] = {name: of[name]["confidence_95"]["ttft_p99_s"] for name in POLICIES}
    return {
        **row,
        "fcfs_over_aqua": fcfs["ttft_p99_s"] / aqua["ttft_p99_s"],
        "fcfs_over_auto": fcfs["ttft_p99_s"] / of["auto+aqua"]["ttft_p99_s"],
        **auto_over_best(of),
        "fcfs_over_free": fcfs["ttft_p99_s"] / free["ttft_p99_s"],
        "memory_bound": fcfs["ttft_p99_s"] >= 4 * no_queue["policies"]["fcfs"]["ttft_p99_s"],
        "lent_suffices": all(math.isclose(aqua[metric], roomy[metric], rel_tol=1e-6) for metric in METRICS),
        "tpot_over_free": aqua["tpot_mean_s"] / free["tpot_mean_s"] - 1,
        "latency_over_free": aqua["latency_mean_s"] / free["latency_mean_s"] - 1,
        "makespan_over_fcfs": aqua["makespan_s"] / fcfs["makespan_s"] - 1,
    }


def quiet_row(simulator: Simulator, model: str, server: str, rate: float) -> Row:
    of = simulator.run(workload="poisson", requests=500, model=model, server=server, rate=rate)["policies"]
    aqua, fcfs = of["cfs+aqua"], of["fcfs"]
    return {"model": model, "server": server, "rate": rate,
            "ttft_mean_off": aqua["ttft_mean_s"] / fcfs["ttft_mean_s"] - 1,
            "latency_mean_off": aqua["latency_mean_s"] / fcfs["latency_mean_s"] - 1}


def long_prompt_row(simulator: Simulator, server: str) -> Row:
    ways = simulator.run(workload="long-prompt", model="opt-30b", server=server)["ways"]
    speed = {name: way["tokens_per_second"] for name, way in ways.items()}
    return {"server": server, "tokens_per_second": speed, "serial": speed["aqua, serial"] / speed["dram, serial"],
            "overlapped": speed["aqua"] / speed["dram"]}


def prefix_row(simulator: Simulator) -> Row:
    """Median TTFT of the prompts of 100,000 tokens: of hits by where the prefix lies, and computed."""
    ways = {"fcfs": "dram", "fcfs+aqua": "peer", "fcfs+dram+blocks": "dram, block by block"}
    ttft: Dict[str, List[float]] = {}
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        simulator.run(workload="prefix", model="yi-34b", server="h100", tensor_parallel=2, rate=0.2, requests=300,
                      compare=",".join(ways), csv=file.name)
        with open(file.name, newline="") as lines:
            for line in csv.DictReader(lines):
                if int(line["prompt_tokens"]) == 100_000:
                    way = ways[line["policy"]] if int(line["cached_tokens"]) > 0 else "computed"
                    ttft.setdefault(way, []).append(float(line["ttft_s"]))
    return {"rate": 0.2, "hits": len(ttft["dram"]),
            "ttft_p50_s": {way: statistics.median(values) for way, values in ttft.items()}}


def elastic_row(simulator: Simulator, server: str) -> Row:
    """One seed: `--workload elastic` has no other."""
    of = simulator.run(workload="elastic", model="llama-3-8b", server=server, rate=2.5, lent_gb=40)
    alone, lending = of["lender_alone"], of["lender_lending"]
    speed: List[float] = of["borrower_tokens_per_second"]
    return {"server": server, "rate": of["rate"], "bytes_moved": of["bytes_moved"],
            "borrower_tokens_per_second": {name: statistics.mean(speed[begin:end])
                                           for name, (begin, end) in SECONDS.items()},
            "lender_tpot_s": {"alone": alone["tpot_mean_s"], "lending": lending["tpot_mean_s"]},
            "lender_tpot_off": lending["tpot_mean_s"] / alone["tpot_mean_s"] - 1,
            "lender_throughput_off": lending["throughput_tokens_s"] / alone["throughput_tokens_s"] - 1}


def overload_row(simulator: Simulator) -> Row:
    """An hour of Azure's own arrivals, more than the engine can serve. One trace, so one run."""
    names: Sequence[str] = (*SHOWN, "las+dram")
    of = simulator.run(workload="trace", model="llama-3-8b", server="a100", kv_tokens=40000,
                       compare=",".join(names))["policies"]
    keys = ("ttft_p50_s", "ttft_p99_s", "tpot_mean_s", "latency_mean_s", "latency_p99_s", "longest_gap_p99_s",
            "goodput_rps", "within_sla")
    return {name: {key: of[name][key] for key in keys} for name in names}


def host_end_rows(simulator: Simulator) -> List[Row]:
    """Where host memory has an end: the bursts of one rate, the stable one without an end."""
    names = (*LEFT_OUT, "auto+aqua")
    rate = rate_of(simulator.few_bursts("llama-2-7b", "h100", 1, compare="fcfs")[0])
    points = [(host_gb, point) for host_gb in (0, 20, 40, 80, 160, 400)
              for point in simulator.few_bursts("llama-2-7b", "h100", 8, compare=",".join(names), rate=rate,
                                                host_gb=host_gb)]
    return [{"host_gb": host_gb, "burst": point["burst"],
             **{key: {name: point["policies"][name][key] for name in names} for key in ("ttft_p99_s", "goodput_rps")},
             **auto_over_best(point["policies"])} for host_gb, point in points]


def known_answer_rows(simulator: Simulator, model: str, server: str) -> List[Row]:
    """What changes for auto where it is told exactly how long each answer will be."""
    told = simulator.few_bursts(model, server, 10, compare="auto+aqua", known_answers=True)
    limits = simulator.few_bursts(model, server, 10, compare="auto+aqua")
    rows: List[Row] = []
    for known, limit in zip(told, limits):
        row: Row = {"model": known["model"], "burst": known["burst"]}
        for key in ("ttft_p99_s", "goodput_rps", "tpot_mean_s"):
            row[key + "_off"] = known["policies"]["auto+aqua"][key] / limit["policies"]["auto+aqua"][key] - 1
        rows.append(row)
    return rows


def block_rows(simulator: Simulator) -> List[Row]:
    """One copy for each block: where the host has a block back sooner than lent memory."""
    names = ("auto+aqua+blocks", "cfs+dram+blocks")
    return [{"burst": point["burst"], **{key: {name: point["policies"][name][key] for name in names}
                                         for key in ("ttft_p99_s", "within_sla")}}
            for point in simulator.few_bursts("llama-3-8b", "a100", 3, compare=",".join(names))]
