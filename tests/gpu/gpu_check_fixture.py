# SPDX-License-Identifier: Apache-2.0
"""What both tests of scripts/gpu-check share: programs' outcomes as shell scripts, and a call of it."""
import json
import shutil
import subprocess

from scripts_fixture import PATIENCE, WithPrograms, scripts

PASSES = "echo '[  PASSED  ] 3 tests.'"
JSON_OPTION = 'until [ "$1" = --json ]; do shift; done'
MET = {"goal": "half of the link", "limit": 0.5, "measured": 0.75, "met": True}
MISSED = {"goal": 'a "third" [of {it}]', "limit": 0.3, "measured": 0.001, "met": False}


def report_text(*goals, complete=True, goal_separators=(",", ":")):
    """A report as bench/report/report_file.cpp writes it: sorted, indented, each goal on a line of its own."""
    report = {"benchmark": "gpu", "command": "gpu_bench --only hbm", "commit": None, "complete": complete, "goals": goals,
              "results": [{"bytes": 1 << 30, "way": "library"}]}

    def value(key):
        if key != "goals":
            return json.dumps(report[key], indent=1, sort_keys=True).replace("\n", "\n ")
        lines = ",\n  ".join(json.dumps(goal, separators=goal_separators, sort_keys=True) for goal in goals)
        return f"[\n  {lines}\n ]" if goals else "[]"

    return "{\n " + ",\n ".join(f'"{key}": {value(key)}' for key in sorted(report)) + "\n}\n"


def writes(report, text="", status=0):
    """A benchmark that writes this report."""
    return f"{JSON_OPTION}\ncat >\"$2\" <<'END'\n{report}END\necho '{text}'; exit {status}"


def measures(*goals, **outcome):
    """A benchmark that has these goals and comes to its end."""
    return writes(report_text(*goals), **outcome)


class WithGpuCheck(WithPrograms):
    def setUp(self):
        super().setUp()
        for name in ("gpu-check", "gpu-environment", "gpu-report"):
            shutil.copy(scripts() / name, self.folder)
        (self.folder / "commit").write_text("abc1234\n", encoding="utf-8")
        self.script("bin/nvidia-smi", "echo 'NVIDIA H200, 580.1'")

    def start(self, *arguments):
        process = subprocess.Popen([self.folder / "gpu-check", *arguments, self.out], env=self.environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.stop, process)
        return process

    @staticmethod
    def stop(process):
        if process.poll() is None:  # after a failure
            process.terminate()
            process.communicate(timeout=PATIENCE)

    def check(self, *arguments, status):
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, status, output + errors)
        self.assertEqual(errors, "")
        return output

    def report(self):
        return json.loads((self.out / "gpu-check.json").read_text(encoding="utf-8"))

    def steps(self):
        return {step["name"]: step for step in self.report()["steps"]}

    def listed(self):
        done = subprocess.run([self.folder / "gpu-check", "--list"], check=True, capture_output=True, text=True)
        return done.stdout.splitlines()

    def log(self):
        return (self.out / "gpu-check.log").read_text(encoding="utf-8")

    def running(self, name):
        return self.steps()[name]["status"] == "running"

    def assert_step(self, name, status, reason):
        step = self.steps()[name]
        self.assertEqual((step["status"], step["reason"]), (status, reason))
