# SPDX-License-Identifier: Apache-2.0
"""python/bench/in_vllm: what it makes of answers. (It itself wants a GPU and vLLM.)"""

from __future__ import annotations

import copy
import os
import subprocess
import sys

import pytest
from conftest import PACKAGE

BENCH = PACKAGE / "bench/in_vllm"
sys.path.insert(0, str(BENCH))

from answers import as_good, compare  # noqa: E402
from in_vllm import judge  # noqa: E402


def answer(*ids, best=(-0.1, -3.0)):
    return {"ids": list(ids), "best": [list(best)] * len(ids)}


def test_answers_are_alike_part_at_a_near_tie_or_are_others():
    near, clear = answer(1, 2, 3, best=(-0.7, -0.8)), answer(1, 2, 3)
    told = compare([near, near, clear, clear], [near, answer(1, 9, 3), answer(1, 9, 3), answer(1, 2)])
    assert told == {"of": 4, "alike": 1, "near_ties": 1, "others": 2, "begun": 4}
    assert compare([near, near], [near])["others"] == 1
    other = answer(9, 2, 3)
    assert compare([near, clear, clear], [other, other, clear])["begun"] == 2


def test_nothing_is_as_good_as_it_is_without_answers():
    noise = {"of": 2, "alike": 2, "near_ties": 0, "others": 0, "begun": 2}
    assert as_good(noise, noise)
    assert not as_good(compare([], []), noise)
    assert not as_good({**noise, "alike": 0, "near_ties": 2}, noise)
    assert not as_good({**noise, "begun": 1}, noise)


def good():
    answers = [answer(i, i + 1) for i in range(12)]
    return {
        "reference": {"ok": True, "answers": answers, "one_by_one": answers},
        "producer": {"ok": True}, "publish": {"ok": True, "answers": answers},
        "map": {"ok": True, "answers": answers},
        "consumer": {"ok": True, "answers": answers, "passed_off": answer(7, 7), "lost": [answers[4]],
                     "loaded_tokens": 2752},
    }


def missed(outcomes):
    return [each["goal"] for each in judge(outcomes)["goals"] if not each["met"]]


def test_goals_are_met_by_engines_that_answer_alike():
    assert missed(good()) == []


@pytest.mark.parametrize("change, goal", [
    (lambda o: o.update(producer={"ok": False, "error": "no room"}), "no engine fails"),
    (lambda o: o["consumer"].update(loaded_tokens=0), "all 2752 tokens of prompts came as KV"),
    (lambda o: o["consumer"].update(passed_off=o["reference"]["answers"][3]), "another prompt's KV"),
    (lambda o: o["consumer"].update(lost=[answer(5, 5)]), "what never comes"),
    (lambda o: o["consumer"].update(answers=[answer(0, 0)] * 12), "consumer answers"),
    (lambda o: o.update(reference={"ok": False, "error": "no GPU"}), "no engine fails"),
])
def test_each_goal_can_be_missed(change, goal):
    outcomes = copy.deepcopy(good())
    change(outcomes)
    [one] = missed(outcomes)
    assert one.startswith(goal)


def test_without_vllm_or_a_gpu_it_is_skipped():
    without = "import sys; sys.modules['torch'] = None; import in_vllm; in_vllm.main()"
    done = subprocess.run(
        [sys.executable, "-B", "-c", without, "--keeper", "none"],
        env=dict(os.environ, PYTHONPATH=str(BENCH)), capture_output=True, text=True, timeout=60)
    assert done.returncode == 77 and done.stdout.startswith("in_vllm: skipped: "), done.stderr
