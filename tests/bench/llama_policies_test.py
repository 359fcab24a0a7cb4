#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of bench/llama_policies.py, on recordings that are made up."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import llama_policies  # noqa: E402  pylint: disable=wrong-import-position

# Stands in for llama_serve: iterations of 10 ms, and a first token that the policy decides.
SERVE = """#!/usr/bin/env python3
import json, sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if [given["--model"], given["--prompt-tokens"], given["--policy"]] == ["breaks", "50", "vtc"]: sys.exit(1)
ttft = {"auto": 0.5, "cfs": 0.48, "las": 2, "fcfs": 3, "vtc": 3}[given["--policy"]]
rows = [[i, 10, 11, i + ttft, i + ttft + 0.2] for i in range(int(given["--requests"]))]
json.dump({"requests": rows, "iterations": [[0.01, 1, 1, 1, 1, 1]], "copies": [], "switches": []}, open(given["--json"], "w"))
"""


def medians(auto: float, others: float) -> dict[str, float]:
    return {policy: {"ttft_p99_s": auto if policy == "auto" else others, "goodput_rps": 1.0}
            for policy in llama_policies.POLICIES}


class Figures(unittest.TestCase):
    def test_are_of_what_users_felt(self) -> None:
        rows = [[0.0, 5, 3, 1.0, 2.0], [1.0, 5, 1, 2.5, 2.5], [2.0, 5, 11, 6.0, 10.0]]
        felt = llama_policies.figures_of({"requests": rows, "copies": [1], "switches": []}, ttft_s=1.5, tpot_s=0.5)
        self.assertEqual(felt["ttft_p99_s"], 4.0)
        self.assertEqual(felt["ttft_p50_s"], 1.5)
        self.assertEqual(felt["within_sla"], 2 / 3)
        self.assertEqual(felt["goodput_rps"], 2 / 10)
        self.assertAlmostEqual(felt["tpot_mean_s"], (0.5 + 0 + 0.4) / 3)


class Verdict(unittest.TestCase):
    def test_is_near_the_best_up_to_ten_percent(self) -> None:
        self.assertTrue(llama_policies.verdict(medians(1.1, 1.0))["ttft_p99_s"]["near_best"])
        self.assertFalse(llama_policies.verdict(medians(1.11, 1.0))["ttft_p99_s"]["near_best"])

    def test_is_not_the_worst_where_all_are_alike(self) -> None:
        self.assertTrue(llama_policies.verdict(medians(1.0, 1.0))["goodput_rps"]["never_worst"])
        self.assertTrue(llama_policies.verdict(medians(1.01, 1.0))["ttft_p99_s"]["never_worst"])
        self.assertFalse(llama_policies.verdict(medians(1.05, 1.0))["ttft_p99_s"]["never_worst"])

    def test_of_none_within_the_sla_is_no_praise(self) -> None:
        none = medians(1.0, 1.0)
        none["auto"]["goodput_rps"] = 0.0
        judged = llama_policies.verdict(none)["goodput_rps"]
        self.assertEqual((judged["near_best"], judged["never_worst"], judged["over_best_other"]), (False, False, None))


    def test_of_nobody_within_the_sla_says_nothing(self) -> None:
        none = medians(1.0, 1.0)
        for row in none.values():
            row["goodput_rps"] = 0.0
        judged = llama_policies.verdict(none)
        self.assertEqual(set(judged["goodput_rps"].values()), {None})
        told = llama_policies.table("prompts", {"medians": {}, "verdict": {"goodput_rps": judged["goodput_rps"]}})
        self.assertIn("nobody had any", told)


class Program(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.serve, self.out = pathlib.Path(folder.name, "serve"), pathlib.Path(folder.name, "out.json")
        self.serve.write_text(SERVE)
        self.serve.chmod(0o755)

    def run_with(self, model: str) -> subprocess.CompletedProcess:
        return subprocess.run([ROOT / "bench/llama_policies.py", "--serve", self.serve, "--model", model, "--seconds", "5",
                               "--runs", "3", "--json", self.out], check=False, capture_output=True, text=True)

    def test_serves_each_policy_and_writes_what_came_of_it(self) -> None:
        ran = self.run_with("none")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        result = json.loads(self.out.read_text())
        told = ran.stderr.splitlines()
        self.assertEqual(len(told), 3 * 5 * 3)
        self.assertTrue(told[0].startswith("1 of 45: chat, auto, seed 1; about "), told[0])
        self.assertEqual(told[-1], "45 of 45: answers, vtc, seed 3; about 0 min left")
        self.assertTrue(result["complete"])
        self.assertEqual(set(result["workloads"]), set(llama_policies.WORKLOADS))
        self.assertEqual(result["met"], {"never_worst": True, "near_best": True})
        chat = result["workloads"]["chat"]
        self.assertEqual([len(runs) for runs in chat["runs"].values()], [3] * 5)
        self.assertAlmostEqual(chat["verdict"]["ttft_p99_s"]["over_best_other"], 0.5 / 0.48)

    def test_keeps_the_workloads_before_one_that_fails(self) -> None:
        self.assertNotEqual(self.run_with("breaks").returncode, 0)
        result = json.loads(self.out.read_text())
        self.assertEqual(list(result["workloads"]), ["chat", "prompts"])
        self.assertFalse(result["complete"])
        self.assertIsNone(result["met"], "nothing is judged by a part")


if __name__ == "__main__":
    unittest.main()
