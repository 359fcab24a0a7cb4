#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/plan/pipeline_tables.md, beside DéjàVu's Tables 2 to 5 and Figures 2, 12 to 14, 24,
25 and 28 to 31.

Usage: pipeline_tables.py --aqua PROGRAM [--requests N] [--only KEY]... [--page FILE] [--json FILE]

--page FILE   writes the tables into the page, between the comments `<!-- pipeline_tables: KEY -->`
              and `<!-- /pipeline_tables -->`
--json FILE   every row, and what is counted over them (`figures`)
--only KEY    of the tables' keys

`aqua simulate --workload pipeline` runs each row. AQUA_DATA names the folder with traces/ and
profiles/. Virtual time: a busy machine gives the same figures, later.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import pipeline_ratios
import pipeline_recoveries
import pipeline_swaps
from page_tables import data_folder, parser_of, rounded, write_tables

MACHINES = (2, 4, 6, 8, 10, 12, 14, 16)
# Model, server, the paper's splits: baseline as "depth, microbatch"; data parallel as "pipelines,
# depth, microbatch"; apart as "prompt depth / token depth".
PAPER = {
    "table_2": ("opt-66b", "a100x2", {
        2: ("2, 16", "2, 1, 4", "1 / 1"), 4: ("4, 16", "2, 2, 16", "2 / 2"), 6: ("6, 16", "3, 2, 16", "2 / 4"),
        8: ("8, 16", "2, 4, 16", "3 / 5"), 10: ("10, 16", "5, 2, 16", "4 / 6"), 12: ("12, 16", "3, 4, 16", "5 / 7"),
        14: ("14, 16", "7, 2, 16", "5 / 9"), 16: ("16, 8", "4, 4, 16", "6 / 10")}),
    "table_3": ("opt-66b", "a100x4", {
        2: ("2, 32", "2, 1, 32", "1 / 1"), 4: ("4, 16", "4, 1, 32", "2 / 2"), 6: ("6, 32", "6, 1, 32", "3 / 3"),
        8: ("8, 16", "8, 1, 32", "4 / 4"), 10: ("10, 32", "10, 1, 32", "5 / 5"), 12: ("12, 16", "12, 1, 32", "6 / 6"),
        14: ("14, 32", "14, 1, 32", "7 / 7"), 16: ("16, 8", "16, 1, 32", "8 / 8")}),
    "table_4": ("opt-30b", "v100x4", {
        2: ("2, 8", "", ""), 4: ("4, 16", "2, 2, 8", "2 / 2"), 6: ("6, 16", "3, 2, 8", "2 / 4"),
        8: ("8, 16", "2, 4, 16", "3 / 5"), 10: ("10, 16", "5, 2, 8", "4 / 6"), 12: ("12, 16", "3, 4, 16", "5 / 7"),
        14: ("14, 16", "7, 2, 8", "6 / 8"), 16: ("16, 8", "4, 4, 16", "7 / 9")}),
    "table_5": ("bloom-176b", "a100x4", {
        2: ("2, 16", "", ""), 4: ("4, 16", "2, 2, 16", "2 / 2"), 6: ("6, 32", "3, 2, 16", "3 / 3"),
        8: ("8, 16", "2, 4, 16", "4 / 4"), 10: ("10, 32", "5, 2, 16", "5 / 5"), 12: ("12, 16", "6, 2, 16", "6 / 6"),
        14: ("14, 32", "7, 2, 16", "8 / 6"), 16: ("16, 8", "4, 4, 16", "10 / 6")}),
}
OURS = ("colocated", "colocated+dp", "disaggregated")
MORE = ("disaggregated+dp", "colocated+chunked", "colocated+dp+chunked")


class Simulator:
    def __init__(self, aqua, data, requests):
        self.aqua, self.data, self.requests = aqua, data, requests

    def run(self, *words):
        command = [self.aqua, "simulate", "--workload", "pipeline", "--trace",
                   str(self.data / "traces" / "azure_llm_inference_conv_2023.csv"), "--profiles",
                   str(self.data / "profiles"), "--fixed-prompt", "1000", "--requests", str(self.requests),
                   "--json", "--no-progress", *words]  # of one given twice the last counts
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"pipeline_tables: {' '.join(command)}: {done.stderr or done.stdout}")
        return json.loads(done.stdout)["policies"]


def split_of(row):
    if not row or "missing" in row:
        return ""
    token = row["token"]
    if "prompt" in row:
        prompt = row["prompt"]
        if prompt["pipelines"] == token["pipelines"] == 1:
            return f"{prompt['depth']} / {token['depth']}"
        return f"{prompt['pipelines']} × {prompt['depth']} / {token['pipelines']} × {token['depth']}"
    many = f"{token['pipelines']}, " if token["pipelines"] > 1 else ""
    return f"{many}{token['depth']}, {token['microbatch']}"


def rows_of(simulator, key, stops, names, sizes=MACHINES):
    model, server, paper = PAPER[key]
    rows = []
    for machines in sizes:
        policies = simulator.run("--model", model, "--server", server, "--machines", str(machines), "--all-machines",
                                 "--policies", ",".join(names), "--seeds", "5", *stops)
        rows.append({"machines": machines, "paper": paper[machines], "policies": policies})
    return rows


def makespan(row, name):
    return row["policies"].get(name, {}).get("makespan_s")


def ratio(row, name, over="disaggregated"):
    if makespan(row, name) is None or makespan(row, over) is None:
        return None
    return makespan(row, name) / makespan(row, over)


def number(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def paper_table(rows):
    lines = ["| machines | one pipeline: paper | ours | several: paper | ours | apart: paper | ours | makespan s: one | "
             "several | apart | machine hours: apart | one / apart | several / apart |", "|" + "---|" * 13]
    for row in rows:
        cells = [str(row["machines"])]
        for name, paper in zip(OURS, row["paper"]):
            cells += [paper, split_of(row["policies"].get(name))]
        cells += [number(makespan(row, name), 0) for name in OURS]
        cells += [number(row["policies"]["disaggregated"].get("machine_hours")), number(ratio(row, "colocated")),
                  number(ratio(row, "colocated+dp"))]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def user_table(rows):
    names = OURS + MORE
    lines = ["| machines | " + " | ".join(f"`{name}`" for name in names) + " | best |", "|" + "---|" * (len(names) + 2)]
    for row in rows:
        known = {name: makespan(row, name) for name in names if makespan(row, name) is not None}
        best = min(known, key=known.get)
        lines.append(f"| {row['machines']} | " + " | ".join(number(known.get(name), 0) for name in names) +
                     f" | {split_of(row['policies'][best])} |")
    return "\n".join(lines) + "\n"


def stops_rows(simulator):
    """Figure 24: makespan by machines, a microbatch of 16; Figure 25: by microbatch, 8 machines."""
    rows = []
    for machines, microbatch in [(m, 16) for m in MACHINES] + [(8, b) for b in (1, 2, 4, 8, 32)]:
        row = {"machines": machines, "microbatch": microbatch}
        for stops in ("none", "microbatch"):
            policies = simulator.run("--model", "bloom-176b", "--server", "a100x4", "--machines", str(machines),
                                     "--all-machines", "--policies", "colocated", "--microbatches", str(microbatch),
                                     "--stops", stops, "--seeds", "5")
            row[f"makespan_{stops}"] = policies["colocated"].get("makespan_s")
        rows.append(row)
    return rows


def stops_table(rows):
    lines = ["| machines | microbatch | makespan s without early stops | with them | times |", "|---|---|---|---|---|"]
    for row in rows:
        none, some = row["makespan_none"], row["makespan_microbatch"]
        times = some / none if none and some else None
        lines.append(f"| {row['machines']} | {row['microbatch']} | {number(none, 0)} | {number(some, 0)} | "
                     f"{number(times)} |")
    return "\n".join(lines) + "\n"


def rate_rows(simulator):
    """Figure 12: the highest rate at which half of the requests have at most twice the unloaded latency a token."""
    rows = []
    for model, server in (("opt-66b", "a100x2"), ("bloom-176b", "a100x4")):
        for stops in (("--stops", "microbatch"), ("--stops", "request", "--refill")):
            row = {"model": model, "server": server, "stops": " ".join(stops[1:])}

            def latency(policy, rate):
                policies = simulator.run("--model", model, "--server", server, "--machines", "8", "--all-machines",
                                         "--requests", "2048", "--rate", str(rate), "--policies", policy, *stops)
                return policies[policy]["normalised_latency_p50_s"]

            row["unloaded_s"] = latency("colocated", 0.02)
            for policy in ("colocated", "colocated+dp", "disaggregated", "colocated+chunked"):
                low, high = 0.02, 8.0
                while high / low > 1.05:
                    middle = (low * high) ** 0.5
                    low, high = (middle, high) if latency(policy, middle) <= 2 * row["unloaded_s"] else (low, middle)
                row[policy] = low
            rows.append(row)
    return rows


def rate_table(rows):
    lines = ["| model, 8 machines | early stops | ms a token, unloaded | requests/s: one pipeline | several | apart | "
             "one, chunked | apart / one | apart / several |", "|" + "---|" * 9]
    for row in rows:
        names = ("colocated", "colocated+dp", "disaggregated", "colocated+chunked")
        one, several, apart, chunked = (row[name] for name in names)
        stops = "one length a microbatch" if row["stops"] == "microbatch" else "one a request, replaced at once"
        lines.append(f"| {row['model']}, {row['server']} | {stops} | {row['unloaded_s'] * 1e3:.0f} | {one:.2f} | "
                     f"{several:.2f} | {apart:.2f} | {chunked:.2f} | {apart / one:.2f} | {apart / several:.2f} |")
    return "\n".join(lines) + "\n"


def outage_rows(simulator):
    """Figure 14: prompts of 500, answers of 1000, 4 stages; one fails 700 tokens into the answers."""
    rows = []
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as trace:
        trace.write("num_prefill_tokens,num_decode_tokens\n" + "500,1000\n" * 2)
        trace.flush()
        for microbatch in (4, 8, 16):
            def run(*words):
                return simulator.run("--trace", trace.name, "--fixed-prompt", "500", "--model", "opt-66b", "--server",
                                     "a100x2", "--machines", "4", "--all-machines", "--policies", "colocated",
                                     "--microbatches", str(microbatch), "--requests", str(4 * microbatch), "--stops",
                                     "none", *words)["colocated"]

            none = run()["makespan_s"]
            row = {"microbatch": microbatch, "none": none}
            for recovery in ("scratch", "reprefill", "restore", "restore+standby"):
                row[recovery] = run("--outages", f"{0.7 * none}:0:1", "--recovery", recovery)["makespan_s"] / none
            rows.append(row)
    return rows


def outage_table(rows):
    lines = ["| microbatch | s without a failure | `scratch` | `reprefill` | `restore` | `restore+standby` |",
             "|" + "---|" * 6]
    for row in rows:
        lines.append(f"| {row['microbatch']} | {row['none']:.0f} | {row['scratch']:.2f} | {row['reprefill']:.2f} | "
                     f"{row['restore']:.2f} | {row['restore+standby']:.2f} |")
    return "\n".join(lines) + "\n"


MAKE = {key: (lambda s, key=key: rows_of(s, key, ("--stops", "microbatch"), OURS), paper_table) for key in PAPER}
MAKE["users"] = (lambda s: rows_of(s, "table_2", ("--stops", "request", "--refill"), OURS + MORE), user_table)
MAKE["no_links"] = (lambda s: rows_of(s, "table_2", ("--stops", "microbatch", "--no-links"), OURS, (4, 8, 16)),
                    paper_table)
MAKE["stops"] = (stops_rows, stops_table)
MAKE["rates"] = (rate_rows, rate_table)
MAKE["outages"] = (outage_rows, outage_table)
MAKE.update(pipeline_swaps.MAKE)
MAKE.update(pipeline_ratios.MAKE)
MAKE.update(pipeline_recoveries.MAKE)


def figures_of(tables):
    result = {}
    for key in PAPER:
        if key not in tables:
            continue
        for name in ("colocated", "colocated+dp"):
            known = {row["machines"]: ratio(row, name) for row in tables[key] if ratio(row, name) is not None}
            result[f"{key} {name} over apart"] = {"8": known.get(8), "16": known.get(16), "most": max(known.values()),
                                                  "median": statistics.median(known.values())}
    result.update(pipeline_swaps.figures_of(tables))
    result.update(pipeline_ratios.figures_of(tables))
    return result


def main():
    parser = parser_of(__doc__, sorted(MAKE))
    parser.add_argument("--requests", type=int, default=2048)
    arguments = parser.parse_args()
    simulator = Simulator(arguments.aqua, data_folder("pipeline_tables"), arguments.requests)
    tables, text = {}, {}
    for key in arguments.only or MAKE:
        make, show = MAKE[key]
        tables[key] = make(simulator)
        text[key] = show(tables[key])
        print(f"{key}\n\n{text[key]}", flush=True)
    figures = figures_of(tables)
    print(json.dumps(rounded(figures), indent=2))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rounded({"tables": tables, "figures": figures}), indent=1) + "\n")
    if arguments.page:
        write_tables(arguments.page, "pipeline_tables", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
