#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of bench/tables/simulation_tables.py, on a simulator that makes its figures up."""
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench/tables"))
import simulation_rows  # noqa: E402  pylint: disable=wrong-import-position
import simulation_tables  # noqa: E402  pylint: disable=wrong-import-position

# Stands in for `aqua`: every figure is 1, but for what the tests below are about. FCFS waits for memory where it has an
# end, cfs+aqua is quicker than without cost, and auto has half of what is within the SLA on Mooncake's trace, a tenth
# more to wait for where no host memory is, and a tenth less where it knows how long answers are.
AQUA = """#!/usr/bin/env python3
import json, sys
words = sys.argv[2:]
given = {word[2:]: words[i + 1] if i + 1 < len(words) else "" for i, word in enumerate(words) if word.startswith("--")}
assert ("lengths" in given) != ("trace" in given), words
def figures(name):
    of = dict.fromkeys(["ttft_p50_s", "ttft_mean_s", "ttft_p99_s", "tpot_mean_s", "latency_mean_s", "latency_p99_s",
                        "longest_gap_p99_s", "goodput_rps", "within_sla", "makespan_s"], 1.0)
    if name == "fcfs" and given.get("kv-tokens") != "1000000": of["ttft_p99_s"] = 4.0
    if name == "cfs+aqua": of["tpot_mean_s"] = 0.8
    if name == "auto+aqua":
        if "mooncake" in given.get("trace", ""): of["goodput_rps"] = 0.5
        if given.get("host-gb") == "0": of["ttft_p99_s"] = 1.1
        if "known-answers" in given: of["ttft_p99_s"] = 0.9
    return of
def point(burst):
    return {"model": {"llama-2-7b": "Llama-2-7B"}.get(given["model"], given["model"]), "tensor_parallel": 1,
            "kv_tokens": 16000, "lent_bytes": 4e10, "burst": burst,
            "workload": {"name": "burst of 2 x %s a second for 60 s" % given.get("rate", "3.5")},
            "policies": {name: figures(name) for name in given["compare"].split(",")}}
bursts = [float(each) for each in given.get("sweep", "burst=1").removeprefix("burst=").split(",")]
print(json.dumps({"points": [point(burst) for burst in bursts]} if "sweep" in given else point(1)))
"""
MADE_UP = {"quiet": [{"ttft_mean_off": 0, "latency_mean_off": 0}], "long_prompt": [{"serial": 4}],
           "elastic": [{"lender_tpot_off": 0}], "prefix": []}


class Tables(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        aqua = pathlib.Path(folder.name, "aqua")
        aqua.write_text(AQUA)
        aqua.chmod(0o755)
        os.environ["AQUA_DATA"] = folder.name
        self.simulator = simulation_rows.Simulator(str(aqua), 1)

    def made(self) -> dict:
        few = {key: make for key, make in simulation_tables.MAKE.items() if key not in ("whole", "by_capacity", *MADE_UP)}
        rows = {key: make(self.simulator) for key, make in few.items()}
        bursts = [row for model in ("llama-2-7b", "yi-34b") for row in self.simulator.bursts(model, "h100")]
        return {"whole": bursts, "by_capacity": [], **rows, **MADE_UP}

    def test_count_mooncake_by_itself(self) -> None:
        tables = self.made()
        met = simulation_tables.counted(tables)["met"]
        self.assertTrue(met["auto_never_worse_unseen"])
        self.assertFalse(met["auto_never_worse_mooncake"], "half of the best is worse")
        tables["sharegpt"][0]["auto_goodput_over_best"] = 0.97
        self.assertFalse(simulation_tables.counted(tables)["met"]["auto_never_worse_unseen"])

    def test_take_lengths_in_place_of_a_trace(self) -> None:
        rows = simulation_tables.MAKE["sharegpt"](self.simulator)
        self.assertEqual([row["rate"] for row in rows], [3.5] * 9)

    def test_have_what_host_memory_with_an_end_costs(self) -> None:
        rows = simulation_rows.host_end_rows(self.simulator)
        self.assertEqual([row["host_gb"] for row in rows], [gb for gb in (0, 20, 40, 80, 160, 400) for _ in range(3)])
        self.assertEqual([row["auto_ttft_p99_over_best"] for row in rows], [1.1] * 3 + [1.0] * 15)

    def test_have_what_it_is_worth_to_know_how_long_answers_are(self) -> None:
        rows = simulation_rows.known_answer_rows(self.simulator, "llama-2-7b", "h100")
        self.assertEqual([row["burst"] for row in rows], [2, 3, 4])
        for row in rows:
            self.assertAlmostEqual(row["ttft_p99_s_off"], -0.1)
            self.assertEqual(row["goodput_rps_off"], 0)

    def test_have_the_goodput_of_an_overload(self) -> None:
        self.assertEqual(simulation_rows.overload_row(self.simulator)["auto+aqua"]["goodput_rps"], 1)

    def test_of_the_page_have_a_place_there(self) -> None:
        page = (ROOT / "docs/plan/simulation_tables.md").read_text()
        for key in simulation_tables.PAGE_TABLES:
            self.assertIn(f"<!-- simulation_tables: {key} -->", page)


if __name__ == "__main__":
    unittest.main()
