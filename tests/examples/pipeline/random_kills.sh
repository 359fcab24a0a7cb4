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
. "$(dirname "$0")/kill_runs.sh"
for ((round = 0; round < rounds; ++round)); do
  pipelines=(colocated)
  [ $((round % 2)) = 0 ] || pipelines=(prefill decode)
  more=(--batch $((1 + RANDOM % 4)) --seed $RANDOM)
  for pipeline in "${pipelines[@]}"; do
    shape=${shapes[RANDOM % ${#shapes[@]}]}
    more+=(--"$pipeline" "$shape")
    for ((kills = 1 + RANDOM % 3; kills > 0; --kills)); do
      how=--kill
      [ $((RANDOM % 4)) != 0 ] || how=--stop
      more+=("$how" "$pipeline:$((RANDOM % ${shape%x*})):$((RANDOM % ${shape#*x}))@$((RANDOM % 100))%")
    done
  done
  [ $((round % 4)) != 1 ] || more+=(--kill "keeper:0@$((RANDOM % 100))%")
  run "${more[@]}"
done
echo "$rounds runs, $recoveries recoveries, $silent were silent, the keeper died $keepers times and was looked at in $looked"
[ "$silent" -ge $((rounds / 10)) ] || { echo "hardly anybody was stopped"; exit 1; }
[ "$looked" -ge $((rounds / 4)) ] || { echo "hardly anybody looked at the keeper"; exit 1; }
[ "$keepers" -ge $((rounds / 5)) ] || { echo "the keeper hardly ever died"; exit 1; }
[ "$recoveries" -ge "$rounds" ] || { echo "hardly anybody was killed"; exit 1; }
