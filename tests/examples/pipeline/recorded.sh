#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A pipeline is recorded, also when a process of it is killed, and the simulator reads that: it fits
# costs to one recording and predicts another one. How well, bench/calibration/pipeline_calibration.py measures.
# Usage: recorded.sh PIPELINE KEEPER AQUA
set -euo pipefail
program=$1 keeper=$2 aqua=$3
to=$(mktemp -d)
trap 'rm -rf "$to"' EXIT
record() {  # NAME OPTION...
  local name=$1
  shift
  "$program" --keeper-binary "$keeper" --layers 3 --requests 10 --record "$to/$name.json" "$@" >"$to/log" || { cat "$to/log"; exit 1; }
}
record base --colocated 2x1 --batch 2 --kill colocated:1@30%
record longer --colocated 3x1 --batch 3 --answer-tokens 60 --kill colocated:0@60%
"$aqua" simulate --calibrate "$to/base.json" --predict "$to/longer.json,$to/base.json" --json >"$to/predicted.json"
python3 - "$to" <<'EOF'
import json, pathlib, sys
to = pathlib.Path(sys.argv[1])
base, longer, made = (json.loads((to / f"{name}.json").read_text()) for name in ("base", "longer", "predicted"))
for recording in (base, longer):
    assert len(recording["outages"]) == 1, recording["outages"]
    # Every token of every request was computed in every stage, in steps that follow each other. A
    # process that is killed may have handed on one step that it has not noted yet.
    missing = 0
    for stage in range(recording["stages"]):
        steps = [row for row in recording["steps"] if row[1] == stage]
        for sequence, (prompt, answer) in enumerate(recording["requests"]):
            computed = {at for of, _, _, _, first, count in steps if of == sequence for at in range(first, first + count)}
            assert computed <= set(range(prompt + answer - 1)), (stage, sequence)
            missing += prompt + answer - 1 - len(computed)
        assert all(a[3] <= b[2] for a, b in zip(steps, steps[1:])), stage
        assert steps[-1][2] <= recording["makespan_s"]  # its end may be noted after the last token is told
    assert missing <= len(recording["outages"]), missing
assert made["calibration"]["outages"] == 1
assert made["calibration"]["outage_s"] > 0
for recording, row in zip((longer, base), made["predictions"]):
    busy = [sum(step[3] - step[2] for step in recording["steps"] if step[1] == stage) for stage in range(recording["stages"])]
    assert row["makespan_s"]["measured"] == recording["makespan_s"]
    assert all(abs(a - b) < 1e-6 for a, b in zip(row["busy_s"]["measured"], busy)), row
    assert row["makespan_s"]["predicted"] > max(row["busy_s"]["predicted"]), row
EOF
for wrong in "--colocated 2x2 --batch 2" "--colocated 2x1 --batch 4" "--prefill 1x1 --decode 1x1 --batch 1"; do
  # shellcheck disable=SC2086  # words
  if "$program" $wrong --record "$to/none.json" >"$to/log" 2>&1; then echo "was recorded: $wrong"; exit 1; fi
  grep -q -- "--record wants" "$to/log" || { cat "$to/log"; exit 1; }
  [ ! -e "$to/none.json" ] || { echo "written all the same: $wrong"; exit 1; }
done
echo "recorded and predicted"
