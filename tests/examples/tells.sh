#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program that ends well and has announced each of its phases, as "PHASE: ..." in this order.
# Usage: tells.sh "PHASE..." -- PROGRAM [ARGUMENT]...
set -euo pipefail
phases=$1
shift 2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$@" | tee "$log"
told=$(grep -oE "(${phases// /|}): " "$log" | tr -d ':' | uniq | paste -sd ' ' | tr -s ' ')
[ "${told% }" = "$phases" ] || { echo "it told of '$told', not of '$phases'"; exit 1; }
