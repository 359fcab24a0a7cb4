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
    return {policy: {"ttft_p99_s": auto if policy == "auto" else others, "goodput_rps": 1.0, "tpot_mean_s": 1.0}
            for policy in llama_policies.POLICIES}


def workload(of: dict[str, dict[str, float]]) -> dict:
    return {"medians": of, "means": of, "verdict": llama_policies.verdict(of),
            "tpot_over_best_other": llama_policies.over_best_other(of, "tpot_mean_s")}


class Figures(unittest.TestCase):
    def test_are_of_what_users_felt(self) -> None:
        rows = [[0.0, 5, 3, 1.0, 2.0], [1.0, 5, 1, 2.5, 2.5], [2.0, 5, 11, 6.0, 10.0]]
        felt = llama_policies.figures_of({"requests": rows, "copies": [1], "switches": []}, ttft_s=1.5, tpot_s=0.5)
        self.assertEqual(felt["ttft_p99_s"], 4.0)
        self.assertEqual(felt["ttft_p50_s"], 1.5)
        self.assertEqual(felt["within_sla"], 2 / 3)
        self.assertEqual(felt["goodput_rps"], 2 / 10)
        self.assertAlmostEqual(felt["tpot_mean_s"], (0.5 + 0 + 0.4) / 3)


class Sla(unittest.TestCase):
    def probe(self, prompt: int, output: int, iterations: list[float]) -> dict:
        """Two requests at once. The second waits for the first one's prompt, of half its length, 1 s."""
        rows = [[0.0, prompt, output, 1.0, 1.0 + 0.2 * (output - 1)],
                [0.0, 2 * prompt, output, 3.0, 3.0 + 0.4 * (output - 1)]]
        return {"requests": rows, "iterations": [[took, 1, 1, 1, 1, 1] for took in iterations]}

    def test_of_a_token_has_what_the_prompts_of_others_hold_it_up_by(self) -> None:
        sla = llama_policies.sla_of(self.probe(400, 11, [0.1, 0.1, 5.0]))
        self.assertAlmostEqual(sla["tpot_s"], 3 * 0.3)
        self.assertEqual(sla["probe_within_tpot"], 1)

    def test_of_the_first_is_a_hundred_iterations_or_ten_prompts(self) -> None:
        sla = llama_policies.sla_of(self.probe(400, 11, [0.1, 0.1, 5.0]))
        self.assertAlmostEqual(sla["prompt_s"], 1.5)
        self.assertAlmostEqual(sla["ttft_s"], 15)
        self.assertAlmostEqual(llama_policies.sla_of(self.probe(400, 11, [0.2, 0.2, 5.0]))["ttft_s"], 20)

    def test_of_the_probe_counts_who_would_miss_it(self) -> None:
        probe = self.probe(400, 11, [0.1])
        probe["requests"] += [[0.0, 400, 11, 1.0, 3.0]] * 4 + [[0.0, 400, 11, 1.0, 41.0]]
        self.assertAlmostEqual(llama_policies.sla_of(probe)["probe_within_tpot"], 6 / 7)


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
        self.assertIn("goodput_rps: undecided", llama_policies.table("prompts", workload(none)))
        self.assertEqual(llama_policies.met_by({"chat": workload(medians(1.0, 1.0)), "prompts": workload(none)}),
                         {"never_worst": None, "near_best": None})

    def test_that_is_missed_once_is_missed_whatever_is_undecided(self) -> None:
        none = medians(1.5, 1.0)
        for row in none.values():
            row["goodput_rps"] = 0.0
        self.assertEqual(llama_policies.met_by({"prompts": workload(none)}), {"never_worst": False, "near_best": False})
        self.assertEqual(llama_policies.met_by({"chat": workload(medians(1.0, 1.0))}),
                         {"never_worst": True, "near_best": True})

    def test_tells_the_time_of_a_token_and_does_not_judge_it(self) -> None:
        slow = medians(1.0, 1.0)
        slow["auto"]["tpot_mean_s"] = 3.0
        self.assertIn("(not judged): 3.00", llama_policies.table("chat", workload(slow)))
        self.assertEqual(llama_policies.met_by({"chat": workload(slow)}), {"never_worst": True, "near_best": True})


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
        self.assertAlmostEqual(chat["sla"]["tpot_s"], 3 * 0.02)
        self.assertAlmostEqual(chat["sla"]["ttft_s"], 10 * 3.0)
        self.assertAlmostEqual(chat["means"]["auto"]["ttft_p99_s"], 0.5)
        self.assertAlmostEqual(chat["tpot_over_best_other"], 1)

    def test_keeps_the_workloads_before_one_that_fails(self) -> None:
        self.assertNotEqual(self.run_with("breaks").returncode, 0)
        result = json.loads(self.out.read_text())
        self.assertEqual(list(result["workloads"]), ["chat", "prompts"])
        self.assertFalse(result["complete"])
        self.assertIsNone(result["met"], "nothing is judged by a part")


if __name__ == "__main__":
    unittest.main()
