#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages about pipelines say what bench/tables/pipeline_tables.py has found.

Usage: pipeline_tables_test.py                 tables and sentences are those of the newest result
       pipeline_tables_test.py --aqua PROGRAM  tables that take seconds are made again and are the page's; status 77
                                               without AQUA_DATA
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench/tables"))
import pipeline_tables as program  # noqa: E402  pylint: disable=wrong-import-position

QUICK = ("outages", "ratios", "recoveries")  # made again with --aqua
SKIPPED = 77
TABLES = (ROOT / "docs/plan/pipeline_tables.md").read_text(encoding="utf-8")


def table_of_page(key: str) -> str:
    """What stands between the comments of this key."""
    _, found, rest = TABLES.partition(f"<!-- pipeline_tables: {key} -->\n\n")
    table, closed, _ = rest.partition("\n<!-- /pipeline_tables -->\n")
    assert found and closed, key
    return table


def newest_tables() -> dict:
    """Rows by key, as they were recorded last."""
    newest = max((ROOT / "bench/results/cpu").glob("pipeline_tables-cpu-*.json"))
    return json.loads(newest.read_text(encoding="utf-8"))["result"]["tables"]


def span(values, digits=2) -> str:
    """'LEAST to MOST'."""
    values = list(values)
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


class Pages(unittest.TestCase):
    """Against recorded rows: no program runs."""

    def setUp(self) -> None:
        self.rows = newest_tables()
        text = (ROOT / "docs/plan/pipelines.md").read_text(encoding="utf-8")
        self.prose = " ".join(text.split())

    def says(self, *sentences: str) -> None:
        for sentence in sentences:
            self.assertIn(sentence, self.prose)

    def over(self, key, name, other, sizes):
        """Makespan of one policy over that of another, by number of machines."""
        return [program.ratio(row, name, other) for row in self.rows[key] if row["machines"] in sizes]

    def test_each_table_is_what_the_program_makes_of_the_rows(self) -> None:
        for key, rows in self.rows.items():
            self.assertEqual(table_of_page(key), program.MAKE[key][1](rows), key)

    def test_every_table_of_the_program_is_in_the_page(self) -> None:
        for key in program.MAKE:
            self.assertTrue(table_of_page(key), key)

    def test_one_several_and_apart(self) -> None:
        from_four = range(4, 17)
        several = self.over("table_2", "disaggregated", "colocated+dp", from_four)
        longer = self.over("table_2", "colocated", "colocated+dp", from_four)
        whole = self.over("table_3", "disaggregated", "colocated+dp", from_four)
        v100 = self.over("table_4", "colocated+dp", "disaggregated", range(12, 17))
        bloom = self.over("table_5", "colocated+dp", "disaggregated", range(6, 17))
        self.says(f"{span(several)} times as fast as prefill and decode apart with 4 to 16 machines, "
                  f"and {span(longer, 1)} times as fast as one long pipeline",
                  f"{span(whole, 1)} times as fast as apart")
        self.assertEqual(span(v100, 1), "1.2 to 1.2")
        self.says("1.2 times as fast as several pipelines for OPT-30B on machines of four V100 from twelve on; "
                  f"{span(bloom)} times for BLOOM-176B on machines of four A100 from six on")
        one, several = (self.over("table_2", name, "disaggregated", (16,))[0] for name in ("colocated", "colocated+dp"))
        self.says(f"do not come out**: {one:.1f} and {several:.2f} with 16 machines")

    def test_the_table_beside_the_paper(self) -> None:
        for key, name in (("table_2", "OPT-66B, two A100"), ("no_links", "the same, if links took no time"),
                          ("table_3", "OPT-66B, four A100"), ("table_4", "OPT-30B, four V100"),
                          ("table_5", "BLOOM-176B, four A100")):
            cells = [f"{ratio:.2f}" for policy in ("colocated", "colocated+dp")
                     for ratio in self.over(key, policy, "disaggregated", (8, 16))]
            self.says(f"| {name} | {' | '.join(cells)} |")
        self.says(f"is {self.over('no_links', 'colocated', 'disaggregated', (16,))[0]:.2f} times as fast as one pipeline "
                  "with 16 machines")

    def test_splits_that_are_the_papers(self) -> None:
        def same(key: str, name: str) -> str:
            column = program.OURS.index(name)
            of_paper = [row for row in self.rows[key] if row["paper"][column]]
            count = sum(program.split_of(row["policies"].get(name)) == row["paper"][column] for row in of_paper)
            return "all" if count == len(of_paper) else f"{count} of {len(of_paper)}"
        self.says(f"ours are {same('table_2', 'disaggregated')} in Table 2, where ours needs fewer prompt machines, and "
                  f"{same('table_4', 'disaggregated')} in Table 4; with data parallelism "
                  f"{same('table_2', 'colocated+dp')} in Table 2 and {same('table_3', 'colocated+dp')} in Table 3")

    def test_early_stops(self) -> None:
        rows = {row["machines"]: row for row in self.rows["stops"] if row["microbatch"] == 16}
        times = {machines: rows[machines]["makespan_microbatch"] / rows[machines]["makespan_none"] for machines in (4, 16)}
        self.says(f"it is {times[4]:.1f} times that with 4 machines and {times[16]:.1f} times with 16, and falls still")
        spans = [rows[machines]["makespan_microbatch"] for machines in range(4, 17, 2)]
        self.assertEqual(spans, sorted(spans, reverse=True))

    def test_what_users_run(self) -> None:
        longer = []
        for row in self.rows["users"]:
            if row["machines"] < 4:
                continue
            best = program.makespan(row, "colocated+dp+chunked")
            self.assertEqual(best, min(program.makespan(row, name) for name in program.OURS + program.MORE))
            apart = min(program.makespan(row, name) for name in ("disaggregated", "disaggregated+dp"))
            longer.append(100 * (apart / best - 1))
        self.says(f"takes {span(longer, 0)} % longer")

    def test_requests_over_time(self) -> None:
        def over(name: str, other: str) -> str:
            return span((row[name] / row[other] for row in self.rows["rates"]), 1)
        self.says(f"it sustains {over('disaggregated', 'colocated')} times the rate of one pipeline",
                  f"and {over('disaggregated', 'colocated+dp')} times that of several",
                  f"sustains {over('colocated+chunked', 'colocated')} times the rate of one without, apart "
                  f"{over('disaggregated', 'colocated+chunked')} times that of the chunked one")

    def test_the_page_of_benchmarks(self) -> None:
        self.prose = (ROOT / "docs/plan/benchmarks.md").read_text(encoding="utf-8")
        eight, sixteen = self.over("table_2", "colocated", "disaggregated", (8, 16))
        self.assertGreaterEqual(eight, 1.5)
        self.assertGreaterEqual(sixteen, 2.5)
        rates = [span((row["disaggregated"] / row["colocated"] for row in self.rows["rates"] if row["model"] == model), 1)
                 for model in ("opt-66b", "bloom-176b")]
        self.says(f"| ≥ 1.5 and 2.5 | {eight:.2f} and {sixteen:.2f} (",
                  f"| ≥ 1.88 and 2 | {rates[0]} and {rates[1]} |".replace(" to ", "–"))

    def test_swapping(self) -> None:
        def gains(place: str, *models: str) -> str:
            return span(row[place]["simulated"] for row in self.rows["doubled"] if row["model"] in models)
        every = {row["model"] for row in self.rows["doubled"]}
        swapping = program.figures_of(self.rows)["swapping"]
        self.assertEqual(swapping["rule is right"], swapping["of"])
        self.assertLess(swapping["largest error of the rule"], 0.1)
        self.says(f"has {gains('lent', *every)} times the throughput of B, over PCIe {gains('host', 'bloom-176b')} for "
                  f"BLOOM-176B and {gains('host', *every - {'bloom-176b'})} for the others",
                  f"The rule says in all {swapping['of']} cases whether it pays, and is off by a tenth at most")

    def test_prompts_and_tokens(self) -> None:
        rows = [line.split(" | ") for line in table_of_page("ratios").splitlines()[2:]]
        ratios = [float(cell.rstrip(" |")) for row in rows for cell in row[4:]]
        self.assertEqual(len(ratios), len(program.pipeline_ratios.SERVED) * 4 * 4)
        sizes, prompts = program.pipeline_ratios.MICROBATCHES, program.pipeline_ratios.PROMPTS
        self.says(f"A prompt takes {min(ratios):.1f} to {max(ratios):.0f} times as long as a token**, for microbatches of "
                  f"{min(sizes)} to {max(sizes)} and prompts of {min(prompts)} to {max(prompts)} tokens")

    def test_failures(self) -> None:
        times = {way: span(row[way] for row in self.rows["outages"])
                 for way in ("scratch", "reprefill", "restore", "restore+standby")}
        self.says(f"{times['scratch']} from scratch (paper 1.91), {times['restore']} restored (1.24). Computing the KV "
                  f"once more takes {times['reprefill']}",
                  f"With a machine that stands by {times['restore+standby']}")
        rows = [line.strip("| ").split(" | ") for line in table_of_page("recoveries").splitlines()[2:]]
        sooner = {int(row[1]): float(row[5]) for row in rows if len(row) == 6}
        every = [float(row[5]) for row in rows if len(row) == 6]
        self.assertEqual(sooner[32000], max(every))
        self.says(f"beyond the 20 s {span(every)} times at all batches and contexts that fit, the most with 32,000 tokens")


def make_again(aqua: str) -> int:
    """The quick tables, by the program: the page must have them. The exit status."""
    if not os.environ.get("AQUA_DATA"):
        print("skipped: AQUA_DATA names no folder with traces/ and profiles/")
        return SKIPPED
    only = [word for key in QUICK for word in ("--only", key)]
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.md"
        page.write_text(TABLES, encoding="utf-8")
        subprocess.run([sys.executable, "-B", str(ROOT / "bench/tables/pipeline_tables.py"), "--aqua", aqua, *only,
                        "--page", str(page)], check=True, stdout=subprocess.DEVNULL)
        if page.read_text(encoding="utf-8") == TABLES:
            return 0
        print(f"docs/plan/pipeline_tables.md differs from what pipeline_tables.py {' '.join(only)} makes:\n"
              f"{page.read_text(encoding='utf-8')}")
        return 1


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--aqua":
        sys.exit(make_again(sys.argv[2]))
    unittest.main()
