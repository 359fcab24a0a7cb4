#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pipelines that replicate their KV, of which processes are killed at each named step, of serving
# and of going on after another death, and at random points, or stopped there until nobody has heard
# of them for long. Each run gives one process's tokens, and nothing is left with the keeper: each run looks, but
# where a process was killed as all ended. The coordinator, by whose groups they go on, is killed and stopped at each of
# these steps, too, and so is the keeper, of which another life has copies of all that runs.
# In every other random round prefill and decode are apart, and another one has a standby.
# Usage: [AQUA_KILLS=ROUNDS] replica_kills.sh PROGRAM KEEPER
set -euo pipefail
program=$1 keeper=$2 rounds=${AQUA_KILLS:-25}
RANDOM=1  # the seed
shapes=(2x1 3x1 1x2 2x2 1x3 7x1)
. "$(dirname "$0")/kill_runs.sh"
replicating() { run --replicate "$@"; }

steps="listening surveyed acknowledged restoring restored resumed connected stepped"
for step in $steps; do
  # The one that takes the dead one's place; one that has lost nothing; another rank of the stage.
  replicating --colocated 3x1 --kill colocated:1@50% --kill colocated:1@"$step"
  replicating --colocated 3x1 --kill colocated:1@50% --kill colocated:2@"$step"
  replicating --colocated 2x2 --kill colocated:1@40% --kill colocated:1:1@"$step" --standby
  replicating --prefill 1x2 --decode 3x1 --kill decode:1@60% --kill decode:0@"$step"
  replicating --colocated 2x2 --kill colocated:1@40% --stop colocated:0@"$step"
  replicating --colocated 3x1 --kill colocated:1@50% --stop colocated:1@"$step"
  replicating --prefill 1x2 --decode 3x1 --kill decode:1@60% --stop decode:0@"$step"
done
[ "$deaths" -ge $((2 * runs - 12)) ] || { echo "$deaths deaths in $runs runs: hardly anybody died at a step"; exit 1; }
for step in $steps; do
  replicating --colocated 3x1 --kill colocated:1@50% --kill coordinator:0@"$step"
  replicating --prefill 1x2 --decode 3x1 --kill decode:1@60% --stop coordinator:0@"$step" --standby
  replicating --colocated 2x2 --kill colocated:1@40% --kill colocated:1:1@"$step" --kill coordinator:0@"$step"
done
replicating --colocated 3x1 --kill colocated:1@50% --kill coordinator:0@50%  # nobody has heard of the death
# 40 is the most there can be; a step that is reached between two lives of the coordinator may miss one.
[ "$coordinators" -ge 30 ] || { echo "the coordinator was killed or stopped $coordinators times: hardly ever"; exit 1; }
for step in $steps; do
  replicating --colocated 3x1 --kill colocated:1@50% --kill keeper:0@"$step"
  replicating --prefill 1x2 --decode 2x1 --kill decode:1@60% --stop keeper:0@"$step"
done
replicating --colocated 3x1 --kill keeper:0@30% --kill colocated:1@60%
replicating --colocated 2x2 --kill colocated:0@30% --kill keeper:0@60% --kill colocated:1:1@80%
# 34 is the most there can be, likewise.
[ "$keepers" -ge 20 ] || { echo "the keeper was killed or stopped $keepers times: hardly ever"; exit 1; }

for ((round = 0; round < rounds; ++round)); do
  pipelines=(colocated)
  [ $((round % 2)) = 0 ] || pipelines=(prefill decode)
  more=(--batch $((1 + RANDOM % 4)) --seed $RANDOM --answer-tokens $((10 + RANDOM % 30)))
  [ $((round % 3)) != 0 ] || more+=(--standby)
  [ $((round % 4)) != 0 ] || more+=(--kill "coordinator:0@$((RANDOM % 100))%")
  [ $((round % 4)) != 1 ] || more+=(--stop "coordinator:0@$((RANDOM % 100))%")
  [ $((round % 5)) != 0 ] || more+=(--kill "keeper:0@$((RANDOM % 100))%")
  [ $((round % 5)) != 1 ] || more+=(--stop "keeper:0@$((RANDOM % 100))%")
  for pipeline in "${pipelines[@]}"; do
    shape=${shapes[RANDOM % ${#shapes[@]}]}
    more+=(--"$pipeline" "$shape")
    for ((kills = 1 + RANDOM % 3; kills > 0; --kills)); do
      how=--kill
      [ $((RANDOM % 8)) != 0 ] || how=--stop
      more+=("$how" "$pipeline:$((RANDOM % ${shape%x*})):$((RANDOM % ${shape#*x}))@$((RANDOM % 100))%")
    done
  done
  replicating "${more[@]}"
done
echo "$runs runs, $deaths deaths, $silent were silent, the coordinator died or stood still $coordinators times, the keeper $keepers, $restored tokens restored, the keeper was looked at in $looked"
[ "$silent" -ge 5 ] || { echo "hardly anybody was stopped"; exit 1; }
[ "$looked" -ge $((runs / 2)) ] || { echo "hardly anybody looked at the keeper"; exit 1; }
[ "$deaths" -ge $((rounds + runs)) ] && [ "$restored" -ge $((20 * rounds)) ] || { echo "hardly anybody was killed, or restored"; exit 1; }
