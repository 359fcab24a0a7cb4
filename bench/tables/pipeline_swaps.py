# SPDX-License-Identifier: Apache-2.0
"""Microbatch swapping beside DéjàVu's Figures 13 and 28 to 31: each GPU is a stage, in a machine of its own."""

import json
import subprocess
import tempfile
from pathlib import Path

# Model, the machine that one GPU is taken of, the paper's number of GPUs.
STAGES = (("opt-30b", "v100x4", 6), ("opt-66b", "a100x2", 2), ("bloom-176b", "a100x4", 5))
PROMPT = 500
SIZES = (1, 2, 4, 8, 16, 32)
CYCLES = 4  # of as many microbatches as stages
LENT_GB = 80  # that neighbours lend each stage: as much as a device has


class Swaps:
    """Runs of one pipeline whose requests are alike; each is remembered."""

    def __init__(self, simulator):
        self.simulator, self.known, self.folder = simulator, {}, tempfile.TemporaryDirectory()

    def server(self, name):
        path = Path(self.folder.name) / f"{name}.json"
        if not path.exists():
            done = subprocess.run([self.simulator.aqua, "simulate", "--show-preset", name], capture_output=True, text=True,
                                  check=True)
            spec = json.loads(done.stdout)
            spec["host"]["gb"] /= spec["gpus"]
            spec["network"]["gb_s"] /= spec["gpus"]
            spec["gpus"] = 1
            path.write_text(json.dumps(spec))
        return str(path)

    def trace(self, answer):
        path = Path(self.folder.name) / f"{answer}.csv"
        path.write_text("num_prefill_tokens,num_decode_tokens\n" + f"{PROMPT},{answer}\n" * 2)
        return str(path)

    def run(self, model, server, gpus, answer, microbatch, *swap):
        """Tokens a second, and the planner's seconds a request; None where it does not fit."""
        key = (model, server, gpus, answer, microbatch, swap)
        if key not in self.known:
            row = self.simulator.run(
                "--model", model, "--server", self.server(server), "--machines", str(gpus), "--all-machines",
                "--policies", "colocated", "--microbatches", str(microbatch), "--trace", self.trace(answer),
                "--fixed-prompt", str(PROMPT), "--context", "8192", "--stops", "none", "--requests",
                str(CYCLES * gpus * microbatch), *swap)["colocated"]
            self.known[key] = None if "missing" in row else {
                "tokens_s": row["output_tokens"] / row["makespan_s"], "planned_s": row["planned_s_per_request"]}
        return self.known[key]

    def kept(self, *shape):
        return self.run(*shape, "--swap", "never")

    def to_host(self, *shape):
        return self.run(*shape, "--swap", "must")

    def to_lent(self, *shape):
        return self.run(*shape, "--swap", "must", "--swap-lent-gb", str(LENT_GB))

    def stages(self):
        """Those of the paper, or the fewest GPUs with which a microbatch of one request fits."""
        for model, server, gpus in STAGES:
            while self.kept(model, server, gpus, 200, 1) is None:
                gpus += 1
            yield model, server, gpus


def rate(row):
    return "" if row is None else f"{row['tokens_s']:.1f}"


def gains(kept, swapped):
    """Simulated, and by the rule; None where either does not fit."""
    if kept is None or swapped is None:
        return None
    return {"simulated": swapped["tokens_s"] / kept["tokens_s"], "rule": kept["planned_s"] / swapped["planned_s"]}


def shown(gain):
    return "" if gain is None else f"{gain['simulated']:.2f} ({gain['rule']:.2f})"


def doubled_rows(simulator):
    """Figure 13: the largest microbatch that fits, and twice as many that are swapped."""
    swaps, rows = Swaps(simulator), []
    for model, server, gpus in swaps.stages():
        for answer in (200, 1200, 2000):
            shape = (model, server, gpus, answer)
            largest = max((b for b in SIZES if swaps.kept(*shape, b)), default=None)
            if largest is None or 2 * largest > max(SIZES):
                continue
            kept = swaps.kept(*shape, largest)
            rows.append({"model": model, "gpus": gpus, "answer": answer, "kept": largest,
                         "kept_tokens_s": kept["tokens_s"], "host": gains(kept, swaps.to_host(*shape, 2 * largest)),
                         "lent": gains(kept, swaps.to_lent(*shape, 2 * largest))})
    return rows


def doubled_table(rows):
    lines = ["| model | GPUs | new tokens | B | tokens/s, kept | 2B over PCIe: gain (rule) | "
             "2B over NVLink: gain (rule) |", "|" + "---|" * 7]
    for row in rows:
        lines.append(f"| {row['model']} | {row['gpus']} | {row['answer']} | {row['kept']} | "
                     f"{row['kept_tokens_s']:.1f} | {shown(row['host'])} | {shown(row['lent'])} |")
    return "\n".join(lines) + "\n"


def swept_rows(simulator, shapes):
    """Tokens a second for each model, number of new tokens and microbatch of `shapes`."""
    swaps, rows = Swaps(simulator), []
    for model, server, gpus in swaps.stages():
        for answer, microbatch in shapes:
            shape = (model, server, gpus, answer, microbatch)
            rows.append({"model": model, "gpus": gpus, "answer": answer, "microbatch": microbatch,
                         "kept": swaps.kept(*shape), "host": swaps.to_host(*shape), "lent": swaps.to_lent(*shape)})
    return rows


def swept_table(rows):
    lines = ["| model | GPUs | new tokens | microbatch | tokens/s: kept | swapped over PCIe | over NVLink |",
             "|" + "---|" * 7]
    for row in rows:
        lines.append(f"| {row['model']} | {row['gpus']} | {row['answer']} | {row['microbatch']} | "
                     f"{rate(row['kept'])} | {rate(row['host'])} | {rate(row['lent'])} |")
    return "\n".join(lines) + "\n"


LENGTHS = [(answer, 1) for answer in (100, 200, 400, 800, 1200, 2000)]  # Figure 28
BATCHES = [(answer, b) for answer in (200, 1200, 2000) for b in SIZES]  # Figures 29 to 31
MAKE = {"doubled": (doubled_rows, doubled_table),
        "lengths": (lambda simulator: swept_rows(simulator, LENGTHS), swept_table),
        "batches": (lambda simulator: swept_rows(simulator, BATCHES), swept_table)}


def figures_of(tables):
    """The largest gain of Figure 13, and how far the rule is from the simulator."""
    rows = [row[place] for row in tables.get("doubled", []) for place in ("host", "lent") if row[place]]
    if not rows:
        return {}
    agree = [row for row in rows if (row["simulated"] > 1) == (row["rule"] > 1)]
    return {"swapping": {"most": max(row["simulated"] for row in rows), "of": len(rows), "rule is right": len(agree),
                         "largest error of the rule": max(abs(row["rule"] / row["simulated"] - 1) for row in rows)}}
