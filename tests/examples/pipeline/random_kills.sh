#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pipelines of random shapes, of which random processes are killed at random points, or one in four
# stopped until its lease has run out: each run gives one process's tokens, and nothing stays with the
# keeper. In every other round prefill and decode are apart.
# Usage: [AQUA_KILLS=ROUNDS] random_kills.sh PROGRAM KEEPER
set -euo pipefail
program=$1 keeper=$2 rounds=${AQUA_KILLS:-10}
RANDOM=1  # the seed
shapes=(1x1 2x1 3x1 1x2 2x2 1x3 3x2 7x1 1x6)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
recovered=0
for ((round = 0; round < rounds; ++round)); do
  pipelines=(colocated)
  [ $((round % 2)) = 0 ] || pipelines=(prefill decode)
  arguments=(--requests 6 --batch $((1 + RANDOM % 4)) --seed $RANDOM --keeper-binary "$keeper" --ttl-ms 500)
  for pipeline in "${pipelines[@]}"; do
    shape=${shapes[RANDOM % ${#shapes[@]}]}
    arguments+=(--"$pipeline" "$shape")
    for ((kills = 1 + RANDOM % 3; kills > 0; --kills)); do
      how=--kill
      [ $((RANDOM % 4)) != 0 ] || how=--stop
      arguments+=("$how" "$pipeline:$((RANDOM % ${shape%x*})):$((RANDOM % ${shape#*x}))@$((RANDOM % 100))%")
    done
  done
  "$program" "${arguments[@]}" --json >"$log" 2>&1 || { echo "${arguments[*]}"; cat "$log"; exit 1; }
  grep -q '"equal_answers": 6,' "$log" && grep -q '"segments_left": 0,' "$log" || { echo "${arguments[*]}"; cat "$log"; exit 1; }
  recovered=$((recovered + $(sed -n 's/.*"recoveries": \([0-9]*\).*/\1/p' "$log")))
done
echo "$rounds runs, $recovered recoveries"
[ "$recovered" -ge "$rounds" ] || { echo "hardly anybody was killed"; exit 1; }
