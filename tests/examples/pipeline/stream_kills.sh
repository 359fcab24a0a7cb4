#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prefill and decode apart, without replicas: processes of either are killed at each named step, of streaming a prompt
# and taking it, too, and of going on after another death, or stopped there until nobody has heard of them for long. The
# keeper between them is killed and stopped at each of these steps, and twice at once; the coordinator at those of
# streaming and taking. Each run gives one process's tokens, and nothing is left with the keeper: each run looks, but
# where a process was killed as all ended.
# Usage: stream_kills.sh PROGRAM KEEPER
set -euo pipefail
program=$1 keeper=$2
. "$(dirname "$0")/kill_runs.sh"

steps="listening surveyed acknowledged restored resumed connected"
for step in $steps streaming streamed; do
  # A rank of the stage behind the dead one's; another rank of its stage.
  run --prefill 2x2 --decode 3x1 --kill prefill:0:1@20% --kill prefill:1@"$step"
  run --prefill 1x2 --decode 2x1 --kill prefill:0@20% --stop prefill:0:1@"$step"
done
for step in $steps taking taken; do
  run --prefill 1x2 --decode 3x1 --kill decode:1@60% --kill decode:0@"$step"
  run --prefill 2x1 --decode 1x2 --kill decode:0@40% --stop decode:0:1@"$step"
done
[ "$deaths" -ge $((2 * runs - 4)) ] || { echo "$deaths deaths in $runs runs: hardly anybody died at a step"; exit 1; }
[ "$silent" -ge 12 ] || { echo "hardly anybody was stopped"; exit 1; }

for step in $steps streaming streamed taking taken stepped; do
  run --prefill 2x2 --decode 3x1 --kill decode:1@50% --kill keeper:0@"$step"
  run --prefill 1x2 --decode 1x2 --kill prefill:0@30% --stop keeper:0@"$step"
done
# The coordinator, by whose groups they go on, dies or stands still as a prompt is on its way; also with the process
# that has got so far, so that nobody hears of its death before another coordinator does.
for step in streaming streamed taking taken; do
  pipeline=prefill
  [[ $step == stream* ]] || pipeline=decode
  run --prefill 2x2 --decode 3x1 --kill decode:1@50% --kill coordinator:0@"$step"
  run --prefill 1x2 --decode 1x2 --kill prefill:0@30% --stop coordinator:0@"$step"
  run --prefill 1x2 --decode 2x1 --kill coordinator:0@"$step" --kill "$pipeline:0@$step"
done
# 20 is the most there can be, likewise.
[ "$coordinators" -ge 12 ] || { echo "the coordinator was killed or stopped $coordinators times: hardly ever"; exit 1; }
run --prefill 2x2 --decode 1x2 --kill keeper:0@0% --kill keeper:0@20% --kill keeper:0@40% --kill keeper:0@60%
run --prefill 1x2 --decode 2x2 --kill keeper:0@30% --kill decode:1@30% --kill prefill:0@30%
run --prefill 1x1 --decode 1x2 --kill keeper:0@streaming --kill keeper:0@taking --kill decode:0@taking
# 53 is the most there can be; a step that is reached between two lives of the keeper may miss one.
[ "$keepers" -ge 30 ] || { echo "the keeper was killed or stopped $keepers times: hardly ever"; exit 1; }
[ "$again" -ge 10 ] || { echo "hardly any prompt was given again"; exit 1; }
[ "$looked" -ge $((runs / 2)) ] || { echo "hardly anybody looked at the keeper"; exit 1; }
echo "$runs runs, $deaths deaths, $silent were silent, the coordinator died or stood still $coordinators times, the keeper $keepers, $again prompts were given again"
