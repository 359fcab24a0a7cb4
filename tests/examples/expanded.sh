#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# elastic_offload with layers in frames that change, a reclaim and a killed lender: with few changes
# under one scheduler, or with AQUA_RESIZES=200 of them under each of five. Usage:
#   expanded.sh PROGRAM [ARGUMENT]...
set -euo pipefail
policies=cfs
[ -z "${AQUA_RESIZES:-}" ] || policies="cfs las fcfs vtc auto"
for policy in $policies; do
  echo "expanded: $policy"
  "$@" --expand auto --policy "$policy" --resizes "${AQUA_RESIZES:-12}" \
    --json "elastic_offload_expanded_$policy.json" --html "elastic_offload_expanded_$policy.html"
done
