#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says in one line what a run of ctest has skipped, and what proves it.

Usage: not_proven.py FILE      (ctest's Testing/Temporary/LastTestsDisabled.log)

Prints nothing where nothing was skipped, or the file is not there. Of how many tests it was is read from LastTest.log
beside the file: ctest's own closing line counts skipped tests among those that passed.
"""
import os
import re
import sys

# What a name stands for, and the command after which scripts/test runs it.
PROOFS = (
    (r"^dashboard_browser$", "the dashboard in a browser", "scripts/setup browser"),
    (r"^dashboard_axe$", "the dashboard's accessibility", "export AQUA_AXE=$(scripts/fetch-axe build/axe)"),
    (r"^(llama_cpp|prefill_decode)\.|^fleet_llama$", "llama.cpp's tokens", "scripts/llama"),
    (r"^Python\.vllm_interface", "vLLM's interface", "scripts/vllm-interface"),
    (r"^Python\.vllm_real$", "weights inside vLLM",
     "pytest python/tests/in_vllm/test_vllm_real.py with a Python that has vLLM"),
    (r"^kernels_sass$", "what the kernels compile to",
     "export AQUA_CUOBJDUMP=$(scripts/fetch-cuobjdump build/cuobjdump)"),
    (r"promtool$", "metrics and alerts", "scripts/setup check"),
    (r"^(Servers|EtcdClient|SharedGroups\w*|SlowEtcd)\.|SlowGroup\.", "coordinators that share an etcd", "scripts/setup check"),
    (r"^RealTrace\.|OnTheTrace\.|TheRealOnes|ScalingOneMeasured|H100Nvlink|^pipeline_tables\.", "real traces and profiles",
     "export AQUA_DATA=FOLDER"),
    (r"^(Columns|Planted|Exhaustive|Solve|Conflict)\.", "placement with a solver", "scripts/setup build"),
    (r"^packaging_published$", "manifests and the board, against published schemas",
     "scripts/setup check; export AQUA_SCHEMAS=$(scripts/fetch-schemas build/schemas)"),
    (r"^packaging_pods$|^PeerElsewhere\.", "pods, in namespaces of their own", "run as root, on Linux 6.9 or later"),
    (r"one_server_to_another$", "couriers over a link between network namespaces", "run as root, with iproute2"),
    (r"on_three_hosts$|without_a_lost_host$", "pipelines on hosts of one machine",
     "scripts/setup check; run as root, with iproute2"),
    (r"^(Weights|Pool)OfAnotherUser\.", "another user's keeper", "run as root, in a folder that the user nobody may enter"),
    (r"^OtherUser\.|AnotherUser|ByRoot|RootGives|RootsKey|DiskWithoutSpace", "other users and disks", "run as root"),
    (r"ThatRunsOutEndsRequests|OfManySlabsForManyReaders|JumpsByYears|^Fork\.",
     "what a sanitizer stands in the way of", "scripts/test without one"),
    (r"(?i)cuda|gpu", "a GPU", "scripts/gpu-check, on a machine with one"),
)


def line_of(names, total=0):
    """The line; empty for no names. `total`: of the tests that ran or were skipped, 0 where it is not known."""
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
    skipped = sum(counts.values())
    of = f" of {total}" if total else ""
    return f"NOT PROVEN HERE, {skipped}{of} skipped, not passed: " + "; ".join(groups)


def names_in(text):
    """Of lines of the form `number:name`."""
    return [line.split(":", 1)[1] for line in text.splitlines() if ":" in line]


def total_in(text):
    """Of LastTest.log: how many tests there were; 0 where it does not say."""
    found = re.search(r"^\d+/(\d+) Test", text, re.MULTILINE)
    return int(found.group(1)) if found else 0


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if len(sys.argv) == 2 else 2
    if os.path.exists(sys.argv[1]):
        with open(sys.argv[1], encoding="utf-8") as file:
            names = names_in(file.read())
        log = os.path.join(os.path.dirname(sys.argv[1]), "LastTest.log")
        total = 0
        if os.path.exists(log):
            with open(log, encoding="utf-8", errors="replace") as file:
                total = total_in(file.read())
        line = line_of(names, total)
        if line:
            print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
