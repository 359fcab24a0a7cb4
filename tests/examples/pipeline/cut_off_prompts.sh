#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prefill is killed while decode goes on with a prompt that is streamed again, and killed once more
# before it has streamed that to the end: nobody streams it a third time, and nobody waits for it.
# Each round meets that in one of two cases or so; where decode waits, it says so after two minutes.
# Usage: cut_off_prompts.sh PROGRAM KEEPER
set -euo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for ((round = 0; round < 8; ++round)); do
  "$1" --requests 6 --batch 4 --seed 14347 --prefill 2x2 --decode 1x1 --kill prefill:0:0@2% --kill prefill:0:1@2% \
    --kill prefill:1:1@28% --json --keeper-binary "$2" >"$log" 2>&1 || { cat "$log"; exit 1; }
  grep -q '"equal_answers": 6,' "$log" || { cat "$log"; exit 1; }
done
