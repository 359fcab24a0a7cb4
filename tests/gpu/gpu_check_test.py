#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What scripts/gpu-check makes of its steps' outcomes, with shell scripts in place of programs. Usage: see
scripts_fixture.py."""
import json
import os
import signal
import time

from gpu_check_fixture import MET, MISSED, PASSES, WithGpuCheck, measures, report_text, writes
from scripts_fixture import PATIENCE, end_group, has_ended, readable, run

SKIPS = r"""printf 'a_test.cpp:7: Skipped\nno second GPU\n\n[  PASSED  ] 2 tests.\n[  SKIPPED ] 1 test, listed below:\n'"""
FAILS = r"""printf '[  PASSED  ] 2 tests.\n[  FAILED  ] 1 test, listed below:\n'; exit 1"""
HANGS = "sleep 600"
HEEDS_NO_SIGTERM = "trap '' TERM; while true; do sleep 0.2; done"
# Tells the test who it is once it is at work: see pid_at_work().
AT_WORK = "echo at work; echo $$ >at_work; sleep 600"
UNMEASURED = {"goal": "blocks of 16 KiB", "limit": 5.0, "measured": None, "met": False}


class GpuCheck(WithGpuCheck):
    def setUp(self):
        super().setUp()
        self.at_work = self.folder / "at_work"
        os.mkfifo(self.at_work)

    def pid_at_work(self, process):
        """Waits until a step is, and answers its number; it and its group end with the test."""
        fd = os.open(self.at_work, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, fd)
        self.assertTrue(readable(fd), process.poll())
        pid = int(os.read(fd, 20))
        self.addCleanup(end_group, pid)
        return pid

    def test_each_outcome_is_told_from_the_others(self):
        self.script("kernels_cpu_test", PASSES)
        self.script("kernels_gpu_test", SKIPS)
        self.script("cuda_device_test", FAILS)
        self.script("device_contract_test", "echo '[==========] Running 0 tests'; echo '[  PASSED  ] 0 tests.'")
        self.script("lending_process_test", "kill -SEGV $$")
        output = self.check("--only", "tests", status=1)
        self.assert_step("kernels_cpu_test", "passed", "3 passed")
        self.assert_step("kernels_gpu_test", "skipped", "1 skipped, 2 passed: no second GPU")
        self.assert_step("cuda_device_test", "failed", "exit status 1, 1 failed")
        self.assert_step("device_contract_test", "failed", "ran no test")
        self.assert_step("lending_process_test", "failed", "ended by SIGSEGV")
        self.assert_step("gpu_runtime_test", "skipped", "not built")
        self.assertEqual(output.splitlines()[-1], f"1 passed, 3 failed, 0 missed, 5 skipped; {self.out}/gpu-check.json")
        report = self.report()
        self.assertEqual([report[key] for key in ("device", "driver", "commit", "failed", "missed", "skipped", "running")],
                         ["NVIDIA H200", "580.1", "abc1234", 3, 0, 5, 0])

    def test_exit_status_0_is_for_all_passed_and_77_for_skipped(self):
        self.script("exporter_death", "echo readable")
        self.check("--only", "death", status=0)
        self.assert_step("exporter_death", "passed", "readable")
        self.script("exporter_death", r"printf 'no GPU: \xff\t\"\\ \n'; exit 77")
        self.check("--only", "death", status=77)
        self.assert_step("exporter_death", "skipped", 'no GPU:  "\\ ')

    def test_what_hangs_is_stopped_at_its_limit(self):
        self.script("kernels_cpu_test", HANGS)
        self.script("kernels_gpu_test", HEEDS_NO_SIGTERM)
        self.check("--limit", "1", "--only", "tests", status=1)
        self.assert_step("kernels_cpu_test", "failed", "still ran after 1 s")
        self.assert_step("kernels_gpu_test", "failed", "still ran after 1 s")
        self.assert_step("cuda_device_test", "skipped", "not built")  # and so on

    def test_what_a_step_leaves_behind_is_ended_and_holds_nothing_up(self):
        self.script("kernels_cpu_test", f"(trap '' TERM; sleep 600) &\necho $! >left; {PASSES}")
        before = time.monotonic()
        self.check("--only", "kernels_cpu_test", status=0)
        self.assertLess(time.monotonic() - before, 30)
        left = int((self.folder / "left").read_text(encoding="utf-8"))
        self.addCleanup(end_group, left)
        self.assertTrue(has_ended(left))

    def test_an_env_that_knows_no_signals_will_do(self):
        self.script("bin/env", 'case $1 in --default-signal*) echo unknown option >&2; exit 125 ;; esac; exec /usr/bin/env "$@"')
        self.script("exporter_death", "echo readable")
        self.check("--only", "death", status=0)
        self.assert_step("exporter_death", "passed", "readable")

    def test_a_hanging_nvidia_smi_is_no_hindrance(self):
        self.script("bin/nvidia-smi", HANGS)
        self.check("--limit", "1", "--only", "death", status=77)
        self.assert_step("exporter_death", "skipped", "not built")
        self.assertEqual(self.report()["device"], "unknown")

    def test_a_missed_goal_is_neither_passed_nor_failed(self):
        self.script("planner_bench", measures(MET, MISSED))
        self.check("--only", "planner", status=3)
        self.assert_step("planner", "missed", '1 of 2 goals missed, the first: a "third" [of {it}]')
        self.assertEqual(self.steps()["planner"]["goals"], [MET, MISSED])
        self.assertEqual(self.report()["missed"], 1)
        self.script("planner_bench", writes(report_text(MET, MISSED, goal_separators=(", ", ": "))))
        self.check("--only", "planner", status=3)
        self.assert_step("planner", "missed", '1 of 2 goals missed, the first: a "third" [of {it}]')
        self.assertEqual(self.steps()["planner"]["goals"], [MET, MISSED])
        self.script("exporter_death", "exit 1")
        self.check("--only", "planner", "--only", "death", status=1)

    def test_a_goal_that_was_not_measured_is_missed_and_counted(self):
        self.script("gpu_bench", measures(MET, UNMEASURED, MISSED))
        self.check("--only", "hbm", status=3)
        self.assert_step("hbm", "missed", "2 of 3 goals missed, 1 of them unmeasured, the first: blocks of 16 KiB")
        self.assertEqual(self.steps()["hbm"]["goals"], [MET, UNMEASURED, MISSED])

    def test_a_benchmark_passes_by_its_goals_and_file(self):
        self.script("planner_bench", measures(MET))
        self.script("gpu_bench", measures(MET, MET))
        self.script("reclaim_bench", "echo measured")
        self.check("--only", "planner", "--only", "hbm", status=0)
        self.assert_step("planner", "passed", "all goals met: 1")
        self.assertEqual(self.steps()["planner"]["goals"], [MET])
        self.assert_step("hbm", "passed", "all goals met: 2")
        self.assertTrue((self.out / "gpu-bench-hbm.json").exists())
        self.check("--only", "reclaim", status=1)
        self.assert_step("reclaim", "failed", "wrote no gpu-reclaim.json")
        self.script("planner_bench", writes(report_text(MET, goal_separators=(",\n", ":"))))
        self.check("--only", "planner", status=1)
        self.assert_step("planner", "failed", "gpu-planner.json has goals that are not one a line")
        self.script("planner_bench", measures(MISSED, text="a byte is wrong", status=1))
        self.check("--only", "planner", status=1)
        self.assert_step("planner", "failed", "exit status 1: a byte is wrong")

    def test_a_benchmark_that_did_not_come_to_its_end_has_failed(self):
        self.script("gpu_bench", writes(report_text(complete=False)))
        self.script("planner_bench", writes(report_text(MET, complete=False)))
        self.script("reclaim_bench", writes(report_text(MET).replace('"complete": true', '"complete":true')))
        self.check("--only", "launches", "--only", "planner", "--only", "reclaim", status=1)
        self.assert_step("launches", "failed", "gpu-bench-launches.json is not complete")
        self.assert_step("planner", "failed", "gpu-planner.json is not complete")
        self.assert_step("reclaim", "passed", "all goals met: 1")

    def test_a_benchmark_is_not_judged_by_the_file_of_an_earlier_call(self):
        self.script("planner_bench", measures(MISSED))
        self.check("--only", "planner", status=3)
        self.script("planner_bench", "true")
        self.check("--only", "planner", status=1)
        self.assert_step("planner", "failed", "wrote no gpu-planner.json")

    def test_killed_it_has_written_what_ended_and_where_it_was(self):
        self.script("kernels_cpu_test", PASSES)
        self.script("kernels_gpu_test", AT_WORK)
        process = self.start("--only", "tests")
        hanging = self.pid_at_work(process)
        self.assertTrue(self.running("kernels_gpu_test"))
        self.assertIn("\nat work\n", self.log())
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        end_group(hanging)
        self.assert_step("kernels_cpu_test", "passed", "3 passed")
        self.assertTrue(self.running("kernels_gpu_test"))
        self.assertEqual(len(self.steps()), 2)
        self.assertEqual(self.report()["running"], 1)

        # A later call says that it did not end.
        self.script("exporter_death", "true")
        self.check("--only", "death", status=0)
        self.assert_step("kernels_gpu_test", "failed", "gpu-check was ended while this ran")
        self.assert_step("kernels_cpu_test", "passed", "3 passed")

    def test_told_to_end_it_ends_the_step_and_keeps_it_as_running(self):
        self.script("exporter_death", AT_WORK)
        process = self.start("--only", "death")
        hanging = self.pid_at_work(process)
        process.terminate()
        process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 143)
        self.assertTrue(self.running("exporter_death"))
        self.assertTrue(has_ended(hanging))

    def test_a_second_call_replaces_its_steps_and_keeps_the_others(self):
        self.script("kernels_cpu_test", PASSES)
        self.script("exporter_death", "echo dead; exit 1")
        self.script("planner_bench", measures(MISSED))
        self.check("--only", "death", "--only", "kernels_cpu_test", "--only", "planner", status=1)
        first = self.steps()
        self.script("exporter_death", "true")
        (self.folder / "commit").write_text("def5678\n", encoding="utf-8")
        self.check("--only", "exporter_death", "--mib", "64", status=0)
        second = self.steps()
        self.assertEqual(list(second), ["exporter_death", "kernels_cpu_test", "planner"])
        self.assertEqual(second["kernels_cpu_test"], first["kernels_cpu_test"])
        self.assertEqual(second["planner"], first["planner"])
        self.assertEqual(second["exporter_death"]["status"], "passed")
        self.assertEqual(second["exporter_death"]["commit"], "def5678")
        self.assertEqual(second["exporter_death"]["command"], "gpu-check --only exporter_death --mib 64 out")
        self.assertNotIn(str(self.folder), (self.out / "gpu-check.json").read_text(encoding="utf-8"))
        self.assertRegex(second["exporter_death"]["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(first["planner"]["commit"], "abc1234")
        self.assertEqual([self.report()[key] for key in ("failed", "missed")], [0, 1])
        self.assertEqual(self.log().count("\n==== ") + 1, 2)
        self.assertIn("\ndead\n", self.log())

    def test_a_file_of_another_make_is_left_alone(self):
        self.script("exporter_death", "true")
        self.check("--only", "death", status=0)
        report = json.dumps(self.report(), indent=2)
        (self.out / "gpu-check.json").write_text(report, encoding="utf-8")
        process = self.start("--only", "death")
        _, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 2)
        self.assertIn("move it away", errors)
        self.assertEqual((self.out / "gpu-check.json").read_text(encoding="utf-8"), report)

    def test_without_time_left_a_step_is_not_started(self):
        self.script("exporter_death", "true")
        self.script("kernels_cpu_test", PASSES)
        self.check("--only", "kernels_cpu_test", status=0)
        self.check("--seconds", "19", "--only", "death", "--only", "kernels_cpu_test", status=77)
        self.assert_step("exporter_death", "skipped", "no time left")
        self.assert_step("kernels_cpu_test", "passed", "3 passed")  # it did run once

    def test_limits_are_cut_to_what_is_left(self):
        # Its parent is timeout; the exit status is that of timeout when the limit has passed.
        self.script("exporter_death", "tr '\\0' ' ' </proc/$PPID/cmdline; exit 124")
        for arguments, least, most, cut in ((["--limit", "1000"], 60, 60, ""), (["--limit", "40"], 40, 40, ""),
                                            (["--seconds", "40", "--limit", "1000"], 10, 30, ", which is what --seconds had left")):
            with self.subTest(arguments=arguments):
                self.check(*arguments, "--only", "death", status=1)
                limit = self.steps()["exporter_death"]["limit"]
                self.assertTrue(least <= limit <= most, limit)
                self.assert_step("exporter_death", "failed", f"still ran after {limit} s{cut}")
                self.assertIn(f"timeout -k 10 {limit} ./exporter_death", self.log())

    def test_a_wrong_command_line_says_how(self):
        for arguments in (["--only", "nothing"], ["--only", "s"], ["--only", "and"], ["--only", ""], ["--only"], ["--limit", "0"],
                          ["--seconds", "soon"], ["--call"], ["--call", "F"], ["--mib"], ["--mib", "32"], ["--mib", "1000"], ["--unknown"], ["elsewhere"]):
            with self.subTest(arguments=arguments):
                process = self.start(*arguments)
                output, errors = process.communicate(timeout=PATIENCE)
                self.assertEqual((process.returncode, output), (2, ""))
                self.assertIn("Usage: gpu-check", errors)
        self.assertFalse(self.out.exists())


if __name__ == "__main__":
    run()
