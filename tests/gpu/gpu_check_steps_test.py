#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What scripts/gpu-check runs in each step and call, with shell scripts in place of programs. Usage: see
scripts_fixture.py."""
import os
import shutil

from gpu_check_fixture import MET, MISSED, PASSES, WithGpuCheck, measures
from scripts_fixture import run, scripts

# As nvidia-smi -q writes it, in part.
SMI = """
==============NVSMI LOG==============

Driver Version                            : 580.159.04

Attached GPUs                             : 1
GPU 00000000:1B:00.0
    Product Name                          : NVIDIA H200
    PCI
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 4
            Link Width
                Max                       : 16x
                Current                   : 8x
    ECC Mode
        Current                           : Enabled
        Pending                           : Disabled
    Clocks
        SM                                : 345 MHz
    Max Clocks
        SM                                : 1980 MHz
GPU 00000000:2B:00.0
    Product Name                          : another
"""


class GpuCheckSteps(WithGpuCheck):
    def test_only_some_benchmarks_may_have_no_goals(self):
        for program in ("gpu_bench", "gpu_layer_pool_bench", "planner_bench", "reclaim_bench"):
            self.script(program, measures())
        self.script("bin/python3", "exit 1")
        self.check("--only", "bench", status=1)
        for name, file in (("hbm", "gpu-bench-hbm"), ("host", "gpu-bench-host"), ("slab", "gpu-bench-slab"),
                           ("planner", "gpu-planner"), ("reclaim", "gpu-reclaim"), ("layer_pool", "gpu-layer-pool")):
            self.assert_step(name, "failed", f"{file}.json has no goals")
        for name in ("sm_budget", "launches", "nccl", "batch"):
            self.assert_step(name, "passed", "measured; it has no goals")

    def test_benchmarks_are_told_what_to_measure(self):
        for program in ("gpu_bench", "gpu_layer_pool_bench", "planner_bench", "reclaim_bench"):
            self.script(program, f'echo "$0 $*"; {measures(MET)}')
        self.script("bin/python3", f"echo {self.folder}/gpu_bench")
        self.check("--only", "bench", "--repetitions", "5", "--mib", "64", status=0)
        self.assertIn("gpu_bench --only sm_budget --repetitions 5 --mib 64 --json", self.log())
        self.assertIn(f"gpu_bench --only nccl --repetitions 5 --mib 64 --nccl {self.folder}/gpu_bench --json", self.log())
        self.assertIn("planner_bench --device cuda:0 --peer cuda:0 --mib 64 --json", self.log())
        self.assertIn("reclaim_bench --device cuda:0 --consumer-device cuda:0 --mib 256 --rounds 5", self.log())
        self.assertIn("gpu_layer_pool_bench --repetitions 5 --json", self.log())
        self.assertEqual(len(list(self.out.iterdir())), 12)
        self.script("bin/python3", "exit 1")
        self.check("--only", "nccl", "--only", "planner", status=0)
        self.assertIn("gpu_bench --only nccl --repetitions 11 --mib 1024 --nccl libnccl.so.2 --json", self.log())
        self.assertIn("planner_bench --device cuda:0 --peer cuda:0 --mib 256 --json", self.log())

    def test_on_a_gpu_machine_suites_run_for_its_gpu_alone(self):
        for program in ("device_contract_test", "lending_process_test", "gpu_runtime_test"):
            self.script(program, f'echo "$0 $*"; {PASSES}')
        self.check("--only", "tests", status=77)
        for program in ("device_contract_test", "lending_process_test"):
            self.assertIn(f"./{program} --gtest_filter=*cuda*\n", self.log())
        self.assertIn("./gpu_runtime_test \n", self.log())

    def test_a_suite_may_be_skipped_as_a_whole(self):
        self.script("gpu_transfer_test", "echo skipped: no CUDA driver here; exit 77")
        self.check("--only", "gpu_transfer_test", status=77)
        self.assert_step("gpu_transfer_test", "skipped", "skipped: no CUDA driver here")

    def test_first_contact_says_what_to_do(self):
        self.script("first_contact", r"""echo "$*" >>asked
          printf 'own_import       yes      a: b\nbatch            no       NOT SO: c: d\n'
          printf '                   then   leave it out\nfirst_contact: 1 yes\n'; exit 1""")
        output = self.check("--only", "contact", status=1)
        self.assert_step("first_contact", "failed", "exit status 1: first_contact: 1 yes")
        self.assertIn("\nbatch            no       NOT SO: c: d\n                   then   leave it out\n", output)
        self.assertNotIn("own_import", output)
        self.assertEqual((self.folder / "asked").read_text(encoding="utf-8"), f"--json {self.out}/first-contact.json\n")

    def test_what_sharing_rests_on_is_asked_one_by_one(self):
        self.script("sharing_contact", r"""echo "$*" >>asked; case $2 in
          write_faults) printf '%s  no       NOT SO: a: b\n                   then   mend it\n' $2; exit 1 ;;
          mps_kill) printf '%s   skipped  a: not proven: no MPS daemon is found here\nsharing_contact: 0 yes\n' $2; exit 77 ;;
          *) printf '%s  yes      a: b\nsharing_contact: 1 yes\n' $2 ;; esac""")
        self.script("gpu_bench", measures())
        output = self.check("--only", "sharing", status=1)
        self.assert_step("descriptor_alone", "passed", "yes a: b")
        self.assert_step("write_faults", "failed", "exit status 1: no NOT SO: a: b")
        self.assert_step("graph_resume", "passed", "yes a: b")
        self.assert_step("mps_kill", "skipped", "a: not proven: no MPS daemon is found here")
        self.assert_step("green_contexts", "passed", "measured; it has no goals")
        self.assertIn("then   mend it", output)
        self.assertEqual((self.folder / "asked").read_text(encoding="utf-8").splitlines()[0],
                         f"--only descriptor_alone --json {self.out}/sharing-descriptor_alone.json")
        self.script("gpu_bench", "echo 'gpu_bench: skipped: the driver has no cuGreenCtxCreate'; exit 77")
        self.check("--only", "green_contexts", status=77)
        self.assert_step("green_contexts", "skipped", "gpu_bench: skipped: the driver has no cuGreenCtxCreate")

    def test_the_engine_runs_where_python_is(self):
        program = "python/bench/first_token/first_token.py"
        self.assertTrue(os.access(scripts().parent / program, os.X_OK), "it is run by its name")
        (self.folder / "python/bench").mkdir(parents=True)
        self.script(program, f'echo "$AQUA_LIBRARY $*"; {measures(MET, MISSED)}')
        self.check("--only", "engine", status=3)
        self.assert_step("first_token", "missed", '1 of 2 goals missed, the first: a "third" [of {it}]')
        self.assertIn(f"{self.folder}/libaqua.so --coordinator-binary ./aqua-coordinator --json", self.log())
        self.assertTrue((self.out / "first-token.json").exists())
        self.script(program, "echo first_token: skipped: no PyTorch here; exit 77")
        self.check("--only", "engine", status=77)
        self.assert_step("first_token", "skipped", "first_token: skipped: no PyTorch here")

    def test_the_packages_tests_run_on_the_gpu(self):
        (self.folder / "python/tests").mkdir(parents=True)
        self.script("bin/python3", 'case "$*" in -c*) ;; *) echo "$AQUA_TEST_DEVICE $*"; echo "2 passed in 1s" ;; esac')
        self.check("--only", "python_api", status=0)
        self.assert_step("python_api", "passed", "2 passed in 1s")
        self.assertRegex(self.log(), "cuda:0 .*-m not emulated python/tests/test_arrays.py python/tests/test_kv_pool.py")
        self.script("bin/python3", "exit 1")
        self.check("--only", "python_api", status=77)
        self.assert_step("python_api", "skipped", "no python3 with pytest and numpy here")

    def test_five_calls_cover_every_step_each_within_nine_minutes(self):
        listed = {row.split()[0] for row in self.listed()}
        seen = []
        for call in "ABCDE":
            self.script("exporter_death", 'echo "$*"; exit 77')
            shutil.rmtree(self.out, ignore_errors=True)
            self.check("--call", call, status=77)
            report = self.report()
            self.assertEqual(report["command"], f"gpu-check --call {call} out")
            seen += [step["name"] for step in report["steps"]]
        self.assertEqual(len(seen), len(set(seen)))
        self.assertEqual(set(seen), listed)
        self.script("gpu_bench", "tr '\\0' ' ' </proc/$PPID/cmdline; exit 124")
        self.check("--call", "B", status=1)
        self.assertIn("--repetitions 5 --mib 1024", self.log())
        self.assertEqual(self.steps()["host"]["limit"], 360)
        self.check("--call", "B", "--repetitions", "11", status=1)
        self.assertLessEqual(self.steps()["host"]["limit"], 540, "720 s by itself")
        self.check("--call", "B", "--seconds", "100", status=1)
        self.assertLessEqual(self.steps()["host"]["limit"], 90)

    def test_limits_of_benchmarks_grow_with_repetitions(self):
        self.script("gpu_bench", "exit 124")
        for arguments, limit in ((["--repetitions", "5"], 360), ([], 720), (["--limit", "30"], 30)):
            self.check("--only", "host", *arguments, status=1)
            self.assertEqual(self.steps()["host"]["limit"], limit)

    def test_the_environment_is_told(self):
        self.script("bin/nvidia-smi", r"""if [ "$1" = -q ]; then printf '%s\n' "$SMI"; else echo 'NVIDIA H200, 580.1'; fi""")
        os.environ["SMI"] = SMI
        self.addCleanup(os.environ.pop, "SMI")
        self.script("bin/lscpu", r"printf 'CPU(s):   16\nModel name:  A \"fast\" one\nNUMA node(s): 2\n'")
        self.check("--only", "death", status=77)
        environment = self.report()["environment"]
        self.assertEqual(environment["gpu"], {
            "driver": "580.159.04", "name": "NVIDIA H200", "pcie_generation_max": "5", "pcie_generation": "4",
            "pcie_width_max": "16x", "pcie_width": "8x", "ecc": "Enabled", "sm_clock": "345 MHz",
            "sm_clock_max": "1980 MHz"})
        self.assertEqual(environment["cpu"], {"cpus": "16", "model": 'A "fast" one', "numa_nodes": "2"})
        self.assertEqual(environment["kernel"], os.uname().release)
        self.assertGreater(environment["memory_kib"], 0)
        self.script("bin/nvidia-smi", "exit 9")
        self.check("--only", "death", status=77)
        self.assertIsNone(self.report()["environment"]["gpu"])

    def test_the_sanitizer_runs_each_of_its_tools(self):
        self.script("kernels_gpu_test", PASSES)
        self.script("compute-sanitizer/compute-sanitizer",
                    'case $2 in memcheck) "$5" ;; racecheck) echo Device not supported; exit 1 ;; *) "$5"; exit 9 ;; esac')
        self.check("--only", "sanitizer", status=1)
        self.assert_step("memcheck", "passed", "3 passed")
        self.assert_step("racecheck", "skipped", "compute-sanitizer: device not supported")
        self.assert_step("initcheck", "failed", "exit status 9, 0 failed")

    def test_list_prints_every_name_and_each_is_taken(self):
        rows = [line.split() for line in self.listed()]
        self.assertEqual(len(rows), 32)
        self.assertEqual({row[1] for row in rows}, {"contact", "death", "tests", "bench", "engine", "sanitizer", "sharing"})
        self.assertIn(["host", "bench", "60", "s,", "and", "for", "each", "repetition", "60", "s"], rows)
        names = [row[0] for row in rows]
        self.check(*(word for name in reversed(names) for word in ("--only", name)), status=77)
        self.assertEqual(list(self.steps()), names)


if __name__ == "__main__":
    run()
