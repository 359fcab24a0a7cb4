#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two recoveries, between which the second half of the prompts begins: the later one reckons with
# what these took as well, and not with what the first half did alone.
# Usage: reckoned_anew.sh PROGRAM KEEPER
set -euo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$1" --requests 8 --batch 4 --colocated 2x1 --kill colocated:1@25% --kill colocated:0@75% --json --keeper-binary "$2" \
  >"$log" 2>&1 || { cat "$log"; exit 1; }
rates=$(sed -n 's/.*"prefill_seconds_per_token": \([^,]*\),*$/\1/p' "$log")
[ "$(wc -l <<<"$rates")" -eq 2 ] && [ "$(uniq <<<"$rates" | wc -l)" -eq 2 ] || { cat "$log"; exit 1; }
