#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A benchmark's result with where, when and of which commit it was measured, sealed against edits.

Usage: result_file.py write REPORT OUT NAME COMMAND DEVICE COMMIT LOAD_BEFORE
       result_file.py seal FILE...
       result_file.py check FILE...

`seal` is for reports that a GPU machine's gpu-check has brought: they say date, commit and device themselves, and
get a seal before anybody has touched them.

`seal` is the SHA-256 of everything else in the file: `check` fails where figures, date, commit or
load were changed after the measurement. Those named in UNSEALED are older, and have none.
"""
import datetime
import hashlib
import json
import os
import pathlib
import platform
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNSEALED = frozenset("""
capi-emulated-2026-11-21.json
llama-emulated-2026-11-21.json
llama_calibration-cpu-2026-11-22.json
llama_profile-cpu-2026-11-22.json
prefix-sweep-2026-11-21.json
profile-cpu-2026-11-22.json
python-emulated-2026-11-21.json
sim-cpu-2026-11-22.json
""".split())


def seal_of(result):
    """Of a result without its seal."""
    text = json.dumps({key: value for key, value in result.items() if key != "seal"}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def load():
    """The machine's mean load of the last minute."""
    return round(os.getloadavg()[0], 2)


def versions_of(name):
    """What else was measured with, of a benchmark of llama.cpp."""
    if "llama" not in name:
        return {}
    pinned = (ROOT / "scripts/llama").read_text(encoding="utf-8").splitlines()
    value = {key: next(line.split("=", 1)[1].split()[0] for line in pinned if line.startswith(key + "="))
             for key in ("engine", "weights")}
    return {"versions": value}


def cpu():
    """The processor, as the kernel calls it."""
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")


def result_of(report, name, command, device, commit, load_before):
    """The whole file. Where the repository and the traces lie on this machine is nobody's concern."""
    command = command.replace(f"{ROOT}/", "")
    if os.environ.get("AQUA_DATA"):
        command = command.replace(os.environ["AQUA_DATA"], "$AQUA_DATA")
    result = {"benchmark": name, "device": device, "driver": None, "command": command,
              "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"), "commit": commit,
              "machine": {"cpu": cpu(), "cores": os.cpu_count(), "kernel": platform.release(),
                          "load_before": load_before, "load_after": load()},
              **versions_of(name), "result": report}
    result["seal"] = seal_of(result)
    return result


def seal_report(path):
    """Adds a seal to a report that has none. What stands in the way; None once it has one."""
    report = json.loads(path.read_text(encoding="utf-8"))
    missing = [key for key in ("date", "commit", "device") if key not in report]
    if missing:
        return f"does not say its {' and '.join(missing)}"
    if "seal" in report:
        return "has a seal"
    report["seal"] = seal_of(report)
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return None


def fault_of(path):
    """What is wrong with a result; None where it is as it was measured."""
    result = json.loads(path.read_text(encoding="utf-8"))
    if "seal" not in result:
        return None if path.name in UNSEALED else "has no seal: scripts/bench writes results, `result_file.py seal` seals those of GPU machines"
    if result["seal"] != seal_of(result):
        return "was changed after it was measured"
    if result["commit"].endswith("-dirty"):
        return f"is of {result['commit']}, which nobody can check out"
    return None


def main(words):
    """Exit status."""
    if len(words) == 8 and words[0] == "write":
        report, out = json.loads(pathlib.Path(words[1]).read_text(encoding="utf-8")), words[2]
        result = result_of(report, *words[3:7], float(words[7]))
        pathlib.Path(out).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        print(out)
        return 0
    if len(words) > 1 and words[0] in ("check", "seal"):
        look = fault_of if words[0] == "check" else seal_report
        faults = [(path, look(pathlib.Path(path))) for path in words[1:]]
        for path, fault in faults:
            if fault:
                print(f"{path}: {fault}", file=sys.stderr)
        return 1 if any(fault for _, fault in faults) else 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
