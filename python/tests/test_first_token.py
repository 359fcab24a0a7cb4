# SPDX-License-Identifier: Apache-2.0
"""python/bench/first_token: in small, over an emulated GPU, with real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import PACKAGE

BENCH = PACKAGE / "bench/first_token"
sys.path.insert(0, str(BENCH))
import report  # noqa: E402
from engine import Engine  # noqa: E402
from maths import NumpyMaths  # noqa: E402
from model import SMALL, Cache, Model  # noqa: E402
from place import OnEmulatedGpu  # noqa: E402
from ways import Recompute, Way  # noqa: E402

WAYS = ["recompute", "pinned copies a block", "host tier", "lent slab"]


def run(maths, tmp_path, *arguments):
    program = os.environ.get("AQUA_COORDINATOR_BINARY")
    if not program:
        pytest.skip("AQUA_COORDINATOR_BINARY names no aqua-coordinator")
    out = tmp_path / "report.json"
    subprocess.run(
        [sys.executable, "-B", str(BENCH / "first_token.py"), "--device", "emu:0", "--shape", "small",
         "--maths", maths, "--prompts", "3", "--tokens", "37", "--bursts", "1", "--curves", "off",
         "--coordinator-binary", program, "--json", str(out), *arguments],
        check=True, timeout=120, env=dict(os.environ, OPENBLAS_NUM_THREADS="1"))
    return json.loads(out.read_text())


def every_way_brings_back_the_logits_of_before(maths, tmp_path):
    told = run(maths, tmp_path)
    assert told["complete"] and told["maths"] == maths
    assert [row["way"] for row in told["results"]] == WAYS
    assert [row["wrong_bytes"] for row in told["results"]] == [None, 0, 0, 0]
    assert [row["other_logits"] for row in told["results"]] == [0, 0, 0, 0]
    assert all(row["requests"] == 3 and row["ttft_p50_s"] > 0 for row in told["results"])
    copies = {row["way"]: row["ran"] for row in told["results"]}
    assert all(copies[way]["each"] > 0 for way in ("host tier", "lent slab"))
    assert not any(copies["recompute"].values())
    assert len(told["goals"]) == 8 and all(goal["measured"] > 0 for goal in told["goals"])


def a_token_alone_follows_from_the_cache_as_in_one_pass(m):
    model, tokens, blocks = Model(m, SMALL), list(range(40, 60)), [3, 1]
    shape = (4 * 16, SMALL.kv_heads, SMALL.head_dim)

    def planes():
        return [m.over(bytearray(4 * shape[0] * shape[1] * shape[2]), shape)
                for _ in range(2 * SMALL.layers)]

    whole = model.forward(tokens, 0, Cache(m, planes()), blocks)
    cache = Cache(m, planes())
    model.forward(tokens[:-1], 0, cache, blocks)
    alone = model.forward(tokens[-1:], len(tokens) - 1, cache, blocks)
    assert np.allclose(np.asarray(whole), np.asarray(alone), rtol=1e-3, atol=1e-4)
    other = model.forward(tokens[:-2] + [7, tokens[-1]], 0, Cache(m, planes()), blocks)
    assert not np.allclose(np.asarray(whole), np.asarray(other), rtol=1e-3, atol=1e-4)


def test_every_way_brings_back_the_logits_of_before(tmp_path):
    every_way_brings_back_the_logits_of_before("numpy", tmp_path)


def test_a_token_alone_follows_from_the_cache_as_in_one_pass():
    a_token_alone_follows_from_the_cache_as_in_one_pass(NumpyMaths())


def engine(runtime):
    maths, cells = NumpyMaths(), (3 * 16, SMALL.kv_heads, SMALL.head_dim)
    place = OnEmulatedGpu(runtime, maths, 2 * SMALL.layers, cells, SMALL.block_bytes(4))
    return Engine(place, maths, Model(maths, SMALL), prompts=3, tokens=9)


class Forgetful(Way):
    """Brings back the first prompt alone."""

    def save(self, engine, prompt):
        pass

    def restore(self, engine, prompt):
        if prompt == 0:
            engine.prefill(prompt)


def test_what_was_not_brought_back_is_noticed(runtime):
    engine_ = engine(runtime)
    engine_.fill(Forgetful())
    assert engine_.burst(Forgetful()).wrong == [1, 2]
    assert engine_.burst(Recompute()).wrong == []


def test_a_failing_model_fails_the_run(runtime):
    with pytest.raises(IndexError):
        engine(runtime).place.run(lambda planes: planes[99])


def test_goals_are_ratios_and_unmeasured_without_their_rows():
    rows = [report.row("recompute", [[2.0, 4.0]], 0, 0, {}),
            report.row("lent slab", [[1.0, 5.0]], 0, 0, {})]
    goals = {goal["goal"]: goal for goal in report.goals(rows)}
    p50 = goals["p50 TTFT by lent slab, over that by recompute"]
    p99 = goals["p99 TTFT by lent slab, over that by recompute"]
    assert (p50["measured"], p50["met"]) == (1.0, True)
    assert p99["measured"] > 1 and not p99["met"]
    missing = goals["p50 TTFT by host tier, over that by recompute"]
    assert missing["measured"] is None and not missing["met"]
    assert report.quantile([3.0, 1.0, 2.0], 0.5) == 2.0


def test_a_report_has_a_goal_a_line():
    told = {"complete": True, "goals": report.goals([]), "results": []}
    written = report.text(told)
    assert json.loads(written) == told
    assert sum('"met"' in line for line in written.splitlines()) == 8
    assert '\n "complete": true' in written


def test_numpy_is_refused_for_a_gpu(tmp_path):
    done = subprocess.run(
        [sys.executable, "-B", str(BENCH / "first_token.py"), "--maths", "numpy"],
        capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "emulated GPU only" in done.stderr
