# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# Sourced by scripts that kill processes of pipelines, with `program` and `keeper` set.
#   run ARGUMENTS...   serves six requests. Each answer must be that of one process, and nothing may be left with the
#                      keeper, where anybody could look: not where a process was killed as all ended, nor where there
#                      is no keeper. Then adds to the counts.
runs=0 deaths=0 recoveries=0 silent=0 looked=0 coordinators=0 keepers=0 restored=0 again=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

number() { sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" "$log"; }
fail() { echo "$1: ${arguments[*]}"; cat "$log"; exit 1; }
run() {
  arguments=(--requests 6 --json --keeper-binary "$keeper" --ttl-ms 500 "$@")
  "$program" "${arguments[@]}" >"$log" 2>&1 || fail "failed"
  [ "$(number equal_answers)" = 6 ] || fail "other tokens"
  if grep -q '"segments_left": 0' "$log"; then
    looked=$((looked + 1))
  else
    grep -qE '"not_looked": "(a process was killed as all ended|there is no keeper)"' "$log" || fail "something is left, or nobody looked"
  fi
  runs=$((runs + 1))
  deaths=$((deaths + $(number deaths)))
  recoveries=$((recoveries + $(number recoveries)))
  silent=$((silent + $(number silent)))
  coordinators=$((coordinators + $(number coordinator_deaths) + $(number coordinator_stops)))
  keepers=$((keepers + $(number keeper_deaths) + $(number keeper_stops)))
  restored=$((restored + $(number tokens_restored)))
  again=$((again + $(number prompts_given_again)))
}
