#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prefill and decode in pipelines of random shapes: each run gives one process's tokens, and leaves
# nothing with the keeper. Usage: [AQUA_SHAPES=ROUNDS] random_shapes.sh PROGRAM KEEPER
set -euo pipefail
program=$1 keeper=$2 rounds=${AQUA_SHAPES:-20}
RANDOM=1  # the seed
ranks=(1 2 3 6 12)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
shape() {  # of at most 12 processes
  while true; do
    stages=$((1 + RANDOM % 7)) each=${ranks[RANDOM % ${#ranks[@]}]}
    [ $((stages * each)) -gt 12 ] || break
  done
  drawn=${stages}x$each
}
for ((round = 0; round < rounds; ++round)); do
  shape; prefill=$drawn
  shape; decode=$drawn
  arguments=(--prefill "$prefill" --decode "$decode" --requests 5 --batch $((1 + RANDOM % 3)) --seed $RANDOM
             --block-tokens $((1 + RANDOM % 20)))
  [ $((RANDOM % 2)) = 0 ] || arguments+=(--heads-first)
  "$program" "${arguments[@]}" --keeper-binary "$keeper" --json >"$log" 2>&1 ||
    { echo "${arguments[*]}"; cat "$log"; exit 1; }
  grep -q '"equal_answers": 5,' "$log" && grep -q '"segments_left": 0' "$log" || { echo "${arguments[*]}"; cat "$log"; exit 1; }
  echo "$prefill to $decode"
done
