#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says in one line what a run of ctest has skipped, and what proves it.

Usage: not_proven.py FILE      (ctest's Testing/Temporary/LastTestsDisabled.log)

Prints nothing where nothing was skipped, or the file is not there.
"""
import os
import re
import sys

# What a name stands for, and the command after which scripts/test runs it.
PROOFS = (
    (r"^dashboard_browser$", "the dashboard in a browser", "scripts/setup browser"),
    (r"^dashboard_axe$", "the dashboard's accessibility", "export AQUA_AXE=$(scripts/fetch-axe build/axe)"),
    (r"^llama_cpp\.", "llama.cpp's tokens", "scripts/llama"),
    (r"^Python\.vllm_interface", "vLLM's interface", "scripts/vllm-interface"),
    (r"^Python\.vllm_real$", "weights inside vLLM",
     "pytest python/tests/in_vllm/test_vllm_real.py with a Python that has vLLM"),
    (r"^kernels_sass$", "what the kernels compile to",
     "export AQUA_CUOBJDUMP=$(scripts/fetch-cuobjdump build/cuobjdump)"),
    (r"promtool$", "metrics and alerts", "scripts/setup check"),
    (r"^RealTrace\.|OnTheTrace\.|TheRealOnes|ScalingOneMeasured|H100Nvlink", "real traces and profiles",
     "export AQUA_DATA=FOLDER"),
    (r"^(Columns|Planted|Exhaustive|Solve|Conflict)\.", "placement with a solver", "scripts/setup build"),
    (r"^OtherUser\.|AnotherUsers|ByRoot|RootGives|DiskWithoutSpace", "other users and disks", "run as root"),
    (r"ThatRunsOutEndsRequests|OfManySlabsForManyReaders|JumpsByYears|^Fork\.",
     "what a sanitizer stands in the way of", "scripts/test without one"),
    (r"(?i)cuda|gpu", "a GPU", "scripts/gpu-check, on a machine with one"),
)


def line_of(names):
    """The line; empty for no names."""
    counts = {}
    for name in names:
        for pattern, what, command in PROOFS:
            if re.search(pattern, name):
                break
        else:
            what, command = name, "ctest -V says why"
        counts[what, command] = counts.get((what, command), 0) + 1
    if not counts:
        return ""
    groups = [f"{count} {what} ({command})" for (what, command), count in counts.items()]
    return f"NOT PROVEN HERE, {sum(counts.values())} skipped: " + "; ".join(groups)


def names_in(text):
    """Of lines of the form `number:name`."""
    return [line.split(":", 1)[1] for line in text.splitlines() if ":" in line]


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if len(sys.argv) == 2 else 2
    if os.path.exists(sys.argv[1]):
        with open(sys.argv[1], encoding="utf-8") as file:
            line = line_of(names_in(file.read()))
        if line:
            print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
