#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A coordinator that is killed and takes seconds to start: its clients come back at random times
# then, later than the time of silence. None of them is killed for that. They come so late that one
# would be in one round of three or so.
# Usage: [AQUA_LATE=ROUNDS] late_coordinator.sh PROGRAM KEEPER COORDINATOR
set -euo pipefail
program=$1 keeper=$2 coordinator=$3 rounds=${AQUA_LATE:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The first one of each round starts at once.
cat >"$work/late" <<END
#!/bin/sh
[ ! -e "$work/again" ] || sleep 3
touch "$work/again"
exec "$coordinator" "\$@"
END
chmod +x "$work/late"
for ((round = 0; round < rounds; ++round)); do
  rm -f "$work/again"
  "$program" --requests 8 --batch 4 --keeper-binary "$keeper" --coordinator-binary "$work/late" --prefill 2x2 --decode 3x1 \
    --ttl-ms 400 --layer-us 3000 --answer-tokens 60 --json --kill coordinator:0@3% >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
  for said in '"coordinator_deaths": 1,' '"equal_answers": 8,' '"silent": 0,'; do
    grep -q "$said" "$work/log" || { echo "not $said"; cat "$work/log"; exit 1; }
  done
done
