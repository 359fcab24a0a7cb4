# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of python/bench/call_cost.py, and that it runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
from conftest import PACKAGE

sys.path.insert(0, str(PACKAGE / "bench"))
import call_cost  # noqa: E402


def test_the_quiet_median_is_that_of_the_lowest_fifth():
    assert call_cost.quiet_median([5.0]) == 5.0
    assert call_cost.quiet_median([9.0, 1.0, 8.0, 7.0]) == 1.0
    assert call_cost.quiet_median([float(n) for n in range(15, 0, -1)]) == 2.0


def test_a_round_is_timed_by_itself(monkeypatch):
    clock = iter([1000, 9000, 0, 4000])
    monkeypatch.setattr(call_cost.time, "perf_counter_ns", lambda: next(clock))
    calls = []
    assert call_cost.timed(lambda: calls.append(1), 4) == 2.0
    assert len(calls) == 4
    assert call_cost.timed_c(lambda rounds: 0 if rounds == 2 else 1, 2) == 2.0


def test_a_failed_call_is_no_figure():
    with pytest.raises(SystemExit):
        call_cost.timed_c(lambda rounds: 1, 1)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.skipif("AQUA_LIBRARY" not in os.environ, reason="AQUA_LIBRARY names no library")
def test_it_runs_and_reports_every_call(tmp_path):
    out = tmp_path / "report.json"
    subprocess.run(
        [sys.executable, str(PACKAGE / "bench/call_cost.py"), "--batches", "1", "--json", str(out)],
        check=True, stdout=subprocess.DEVNULL, timeout=120,
    )
    calls = json.loads(out.read_text())["calls"]
    assert len(calls) == 9
    assert all(each["python_us_a_call"] > 0 and each["c_us_a_call"] > 0 for each in calls.values())
