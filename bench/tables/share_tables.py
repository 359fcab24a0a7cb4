#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several models on one GPU, simulated: requests within the SLA by way to share its multiprocessors.

Usage: share_tables.py --aqua PROGRAM [--seeds N] [--page FILE] [--json FILE]

--page FILE   writes the tables into docs/plan/simulation.md, between the comments
              `<!-- share_tables: rates -->`, or `measured`, and `<!-- /share_tables -->`
--json FILE   every row, and which goals are met (`met`)

`aqua simulate --share` runs each rate, in virtual time: a busy machine gives the same figures, later. `measured` is
the same with --interference measured: no goal is judged by it.
AQUA_DATA names the folder with traces/. Exit status 1 if a goal is missed that the page calls met.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

from page_tables import finish, parser_of, table

Row = Dict[str, Any]

RATES = (1, 1.5, 2, 2.5, 3, 4)  # requests a second, of all models
SERVED = 3  # the highest rate at which any way has most requests within the SLA; the goal is of those up to it
WITHIN = 0.9  # of all requests
SAID = {"temporal": 2, "by load": 2.5}  # the page's: the highest rates at which so many are


def run(aqua: str, seeds: int, rate: float, interference: str) -> Row:
    trace = Path(os.environ["AQUA_DATA"]) / "traces/azure_llm_inference_conv_2023.csv"
    words = ("--share", "3", "--trace", str(trace), "--model", "llama-2-7b", "--server", "a100", "--profiles", "off",
             "--rate", f"{rate:g}", "--seeds", str(seeds), "--interference", interference, "--no-progress", "--json")
    told = json.loads(subprocess.run([aqua, "simulate", *words], check=True, stdout=subprocess.PIPE, text=True).stdout)
    return {"rate": rate, "ways": {way["way"]: {"within_sla": way["within_sla"], "half_width": way["half_width"]}
                                   for way in told["ways"]}}


def best_other(row: Row) -> float:
    return max(float(way["within_sla"]) for name, way in row["ways"].items() if name != "by load")


def most_within(rows: List[Row], name: str, share: float) -> float:
    """The highest rate at which so many requests are within the SLA; 0: there is none."""
    return max((row["rate"] for row in rows if row["ways"][name]["within_sla"] >= share), default=0)


def shown(rows: List[Row]) -> str:
    ways = list(rows[0]["ways"])
    return table(["requests/s", *ways],
                 [[f"{row['rate']:g}", *(f"{way['within_sla'] * 100:.1f} ± {way['half_width'] * 100:.1f}"
                                         for way in row["ways"].values())] for row in rows])


def main() -> int:
    arguments = parser_of(__doc__, seeds=5).parse_args()
    rows = [run(arguments.aqua, arguments.seeds, rate, "assumed") for rate in RATES]
    measured = [run(arguments.aqua, arguments.seeds, rate, "measured") for rate in RATES]
    # Three decimals of a share: what fewer requests decide is chance.
    met = {"by_load_never_below_while_served": all(
        row["ways"]["by load"]["within_sla"] >= best_other(row) - 0.001 for row in rows if row["rate"] <= SERVED),
           "by_load_never_below": all(row["ways"]["by load"]["within_sla"] >= best_other(row) - 0.001 for row in rows)}
    within = {name: most_within(rows, name, WITHIN) for name in rows[0]["ways"]}
    print(json.dumps({**met, "most_with_nine_tenths_within": within}, indent=1))
    print(shown(rows))
    print(shown(measured))
    missed = [] if met["by_load_never_below_while_served"] else ["by_load_never_below_while_served"]
    missed += [f"{WITHIN:g} within the SLA up to {rate:g}/s, {name}"
               for name, rate in SAID.items() if within[name] != rate]
    result = {"seeds": arguments.seeds, "met": met, "most_with_nine_tenths_within": within, "rates": rows,
              "measured": measured}
    return finish("share_tables", arguments, result, {"rates": shown(rows), "measured": shown(measured)}, missed)


if __name__ == "__main__":
    sys.exit(main())
