#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A pipeline whose server is lost: its processes, the keeper and the courier are killed at once, and it goes
# on on another server, from copies of its replicas there. Every answer is that of one process, and what was
# computed before the loss is read, and not computed again. Then at random moments, with couriers and
# processes killed as well: AQUA_KILLS rounds (4). Nothing is left at a keeper that lives.
# Usage: [AQUA_KILLS=ROUNDS] [AQUA_SEED=NUMBER] server_lost.sh PIPELINE KEEPER COURIER CERTIFICATES-SCRIPT
set -euo pipefail
seed=${AQUA_SEED:-1}
RANDOM=$seed
pipeline=$1 keeper=$2 courier=$3 certificates=$4
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$certificates" "$directory" prefill.test decode.test >/dev/null
run() {
  "$pipeline" --replicate --two-servers "$directory" --keeper-binary "$keeper" --courier-binary "$courier" --json "$@" \
    >"$directory/result" || { cat "$directory/result"; echo "FAILED with AQUA_SEED=$seed: $*"; exit 1; }
}
says() { grep -q "\"$1\": $2" "$directory/result" || { cat "$directory/result"; echo "FAILED: $1 is not $2"; exit 1; }; }
number() { sed -n "s/.*\"$1\": \([0-9]*\),*/\1/p" "$directory/result"; }

run --colocated 2x2
says segments_left 0,
run --colocated 3x1 --prompt-tokens 200 --layer-us 300 --kill server:0@70%
says deaths 3,
says segments_left 0,
echo "$(number tokens_restored) tokens were read from copies, $(number tokens_computed_again) computed again"
[ "$(number tokens_restored)" -gt "$(number tokens_computed_again)" ] || { echo "FAILED: copies were of no use"; exit 1; }

for ((round = 1; round <= ${AQUA_KILLS:-4}; ++round)); do
  kills=(--kill "server:0@$((RANDOM % 90))%")
  [ $((RANDOM % 2)) -eq 0 ] || kills+=(--kill "courier:0@$((RANDOM % 90))%")
  [ $((RANDOM % 2)) -eq 0 ] || kills+=(--kill "courier:1@$((RANDOM % 90))%")
  [ $((RANDOM % 2)) -eq 0 ] || kills+=(--kill "colocated:$((RANDOM % 2))@$((RANDOM % 90))%")
  run --colocated 2x1 --requests 8 --seed $round "${kills[@]}"
  # What a process that is killed as all ended has left, nobody drops.
  grep -qF '"not_looked": "a process was killed as all ended"' "$directory/result" || says segments_left 0,
done
echo "$((round - 1)) servers lost at random moments (AQUA_SEED=$seed): all answers are those of one process"
