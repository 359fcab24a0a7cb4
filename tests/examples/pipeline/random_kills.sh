#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pipelines of random shapes, of which random processes are killed at random points, or one in four
# stopped until nobody has heard of it for long: each run gives one process's tokens, and nothing stays with the
# keeper. In every other round prefill and decode are apart, and the keeper between them is killed as well in one of two.
# Usage: [AQUA_KILLS=ROUNDS] random_kills.sh PROGRAM KEEPER
set -euo pipefail
program=$1 keeper=$2 rounds=${AQUA_KILLS:-10}
RANDOM=1  # the seed
shapes=(1x1 2x1 3x1 1x2 2x2 1x3 3x2 7x1 1x6)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
recovered=0 silent=0 looked=0 keepers=0
number() { sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" "$log"; }
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
  [ $((round % 4)) != 1 ] || arguments+=(--kill "keeper:0@$((RANDOM % 100))%")
  "$program" "${arguments[@]}" --json >"$log" 2>&1 || { echo "${arguments[*]}"; cat "$log"; exit 1; }
  # Nobody looks where a process was killed as all ended, nor in one pipeline without replicas, which has no keeper.
  why_not="a process was killed as all ended"
  [ $((round % 2)) = 1 ] || why_not="there is no keeper"
  grep -q '"equal_answers": 6,' "$log" && { grep -q '"segments_left": 0' "$log" || grep -qF "\"not_looked\": \"$why_not\"" "$log"; } ||
    { echo "${arguments[*]}"; cat "$log"; exit 1; }
  recovered=$((recovered + $(number recoveries)))
  silent=$((silent + $(number silent)))
  keepers=$((keepers + $(number keeper_deaths)))
  ! grep -q '"segments_left": 0' "$log" || looked=$((looked + 1))
done
echo "$rounds runs, $recovered recoveries, $silent were silent, the keeper died $keepers times and was looked at in $looked"
[ "$silent" -ge $((rounds / 10)) ] || { echo "hardly anybody was stopped"; exit 1; }
[ "$looked" -ge $((rounds / 4)) ] || { echo "hardly anybody looked at the keeper"; exit 1; }
[ "$keepers" -ge $((rounds / 5)) ] || { echo "the keeper hardly ever died"; exit 1; }
[ "$recovered" -ge "$rounds" ] || { echo "hardly anybody was killed"; exit 1; }
