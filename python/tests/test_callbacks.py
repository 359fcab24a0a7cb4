# SPDX-License-Identifier: Apache-2.0
"""Callbacks reach Python, from the runtime's thread or from tick(), and what they raise does no
harm."""

from __future__ import annotations

import sys
import threading

import pytest
from conftest import MIB, until

import aqua_kv
from aqua_kv import BudgetReason, Callbacks, Code, Error


def open_one(tmp_path, callbacks, **options):
    return aqua_kv.Runtime.open(
        device="emu:0", coordinator="none", host_bytes=4 * MIB, slab_bytes=4 * MIB,
        socket_directory=str(tmp_path), callbacks=callbacks, **options,
    )


def test_a_budget_is_told_on_a_thread_of_the_runtime(tmp_path):
    told = threading.Event()
    budgets, threads = [], []

    def on_budget(budget):
        budgets.append(budget)
        threads.append(threading.current_thread())
        told.set()

    with open_one(tmp_path, Callbacks(on_budget=on_budget)) as runtime:
        assert told.wait(60)
        assert budgets[0].reason is BudgetReason.OPENED
        assert budgets[0].host_bytes == 4 * MIB == runtime.budget().host_bytes
        assert threads[0] is not threading.main_thread()


def test_callbacks_in_tick_run_on_the_thread_that_ticks(tmp_path):
    threads = []
    callbacks = Callbacks(on_budget=lambda budget: threads.append(threading.current_thread()))
    with open_one(tmp_path, callbacks, callbacks_in_tick=True) as runtime:
        while not threads:
            runtime.tick()
    assert threads[0] is threading.current_thread()


def test_a_callback_calls_the_runtime_but_cannot_close_it(tmp_path):
    answers, told, ready = [], threading.Event(), threading.Event()

    def on_budget(_):
        ready.wait(60)
        answers.append(runtime.budget().host_bytes)
        with runtime.allocate(4096) as tensor:
            answers.append(tensor.tier)
        try:
            runtime.close()
        except Error as error:
            answers.append(error.code)
        told.set()

    runtime = open_one(tmp_path, Callbacks(on_budget=on_budget))
    kept = runtime.allocate(4096)
    ready.set()
    assert told.wait(60)
    assert answers == [4 * MIB, aqua_kv.Tier.HOST, Code.FAILED_PRECONDITION]
    assert kept.tier is aqua_kv.Tier.HOST  # the refusal freed nothing
    runtime.close()


def test_an_exception_in_a_callback_is_reported_and_ends_there(tmp_path, monkeypatch):
    reported = threading.Event()
    seen = []

    def hook(unraisable):
        seen.append(unraisable.exc_type)
        reported.set()

    monkeypatch.setattr(sys, "unraisablehook", hook)
    with open_one(tmp_path, Callbacks(on_budget=lambda budget: 1 / 0)) as runtime:
        assert reported.wait(60)
        runtime.tick()
    assert seen[0] is ZeroDivisionError


def test_a_log_line_reaches_python(tmp_path, coordinator):
    lines, told = [], threading.Event()

    def on_log(level, text):
        lines.append((level, text))
        told.set()

    with aqua_kv.Runtime.open(
        device="emu:0", coordinator=coordinator.address, host_bytes=4 * MIB,
        socket_directory=str(tmp_path), callbacks=Callbacks(on_log=on_log),
    ) as runtime:
        until(lambda: runtime.status().connected, "connected")
        coordinator.kill()
        assert told.wait(60)
        until(lambda: not runtime.status().connected, "no longer connected")
        assert runtime.status().last_error
    assert lines[0][0] is aqua_kv.LogLevel.WARNING and "coordinator" in lines[0][1]


def test_reports_and_profiles_are_checked(tmp_path):
    with open_one(tmp_path, None) as runtime:
        profile = aqua_kv.LoadProfile(2.0, 1.0, 10 << 30, 1 << 30, 1 << 20)
        band = aqua_kv.LoadBand(1.5, 0.5, 2.0, 8.0)
        runtime.set_profile(profile, aqua_kv.ProducerOptions(rise=band))
        runtime.report(aqua_kv.LoadReport(2.0, 0.0, 10, 20))
        for wrong in (
            aqua_kv.LoadReport(requests_per_second=-1.0),
            aqua_kv.LoadReport(queue_length=float("nan")),
            aqua_kv.LoadReport(kv_bytes_used=2, kv_bytes_wanted=1),
        ):
            with pytest.raises(Error) as raised:
                runtime.report(wrong)
            assert raised.value.code is Code.INVALID_ARGUMENT
