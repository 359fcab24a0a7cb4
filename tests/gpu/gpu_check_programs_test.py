#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-check with this build's programs: without a GPU, and over the stand-in for its driver. Usage: see
scripts_fixture.py. AQUA_GPU_PROGRAMS and AQUA_STAND_IN_PROGRAMS are NAME=PATH, one after the other with commas between;
AQUA_STAND_IN_DIRECTORY is where the stand-in's libcuda.so.1 lies."""
import json
import os
import subprocess

from gpu_check_fixture import WithGpuCheck
from scripts_fixture import PATIENCE, run


class GpuCheckPrograms(WithGpuCheck):
    def lay(self, variable):
        pairs = [pair.split("=", 1) for pair in os.environ[variable].split(",")]
        for name, path in pairs:
            self.script(name, f'exec {path} "$@"')
        return [name for name, _ in pairs]

    def test_without_a_gpu_each_step_is_skipped_with_its_reason(self):
        if subprocess.run(["bash", "-c", "ldconfig -p | grep -q 'libcuda.so.1 '"], check=False).returncode == 0:
            self.skipTest("there is a driver here")
        laid = self.lay("AQUA_GPU_PROGRAMS")
        self.script("bin/nvidia-smi", "exit 9")
        self.check("--mib", "64", status=77)
        for name, step in self.steps().items():
            self.assertEqual(step["status"], "skipped", step)
            if step["reason"] == "not built":
                self.assertNotIn(name, laid)
            elif step["group"] != "sanitizer":
                self.assertRegex(step["reason"], "CUDA|cuda|GPU|first_contact: 0 yes", name)

    def test_over_the_stand_in_each_step_runs_that_can(self):
        self.lay("AQUA_STAND_IN_PROGRAMS")
        os.environ["LD_LIBRARY_PATH"] = os.environ["AQUA_STAND_IN_DIRECTORY"]
        self.addCleanup(os.environ.pop, "LD_LIBRARY_PATH")
        self.start("--only", "contact", "--only", "device_contract_test").communicate(timeout=4 * PATIENCE)
        step = self.steps()["device_contract_test"]
        self.assertEqual(step["status"], "passed", step)
        self.assertGreater(step["passed"], 30)
        # The stand-in need not do what a driver does; that it was asked is the point.
        told = json.loads((self.out / "first-contact.json").read_text(encoding="utf-8"))
        answers = {row["check"]: row["answer"] for row in told["answers"]}
        self.assertTrue(told["complete"])
        self.assertNotIn("skipped", answers.values())
        self.assertEqual(answers["map_twice"], "yes")
        self.assertGreater(len(answers), 15)


if __name__ == "__main__":
    run()
