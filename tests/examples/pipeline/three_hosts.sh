#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prefill and decode on three hosts, each with namespaces of its own, a member of an etcd, a coordinator, a keeper and
# a courier. Every answer is that of one process, nothing is left at any keeper, and the link of each host has moved at
# least the KV that it had to send to others. Then one byte is flipped, which has to be noticed; and couriers and
# stages are killed. Usage: three_hosts.sh PIPELINE KEEPER COURIER CERTIFICATES-SCRIPT [ucx|no-ucx]
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/hosts.sh"
shapes=(--prefill 2x2 --decode 3x1 --requests 8 --batch 4)
carrier=${5:-tls}
[ "$carrier" != no-ucx ] || skip "this build is without UCX (libucx-dev, AQUA_UCX)"
hosts+=(--carrier "$carrier")

run "${shapes[@]}" --prompt-tokens 400
CARRIER=$carrier check <<'END'
import os
assert told["equal_answers"] == 8 and told["segments_left"] == 0, "answers, or segments"
assert [host["name"] for host in told["hosts"]] == ["h0", "h1", "h2"]
for host in told["hosts"]:
    assert host["sent_bytes"] >= host["kv_to_send_bytes"], host
    print(host["name"], "has sent", host["sent_bytes"], "bytes, and had", host["kv_to_send_bytes"], "of KV to send")
    over = {name: host["connections_over_" + name] for name in ("tls", "ucx")}
    assert over.pop(os.environ["CARRIER"]) > 0 and set(over.values()) == {0}, "another carrier, or none"
# The first three of 7 layers cross from h0, and one from h1; keys and values, 6 heads of 16 bytes, of 200 tokens at least.
assert told["hosts"][0]["kv_to_send_bytes"] >= 8 * 200 * 3 * 192, told["hosts"][0]
assert told["hosts"][1]["kv_to_send_bytes"] >= 8 * 200 * 1 * 192, told["hosts"][1]
END
if "${hosts[@]}" "${shapes[@]}" --flip-a-byte >"$result" 2>&1 ||
  ! grep -q "answers differ from those of one process" "$result"; then
  cat "$result"
  echo "FAILED: a flipped byte was not noticed, or something else failed"
  exit 1
fi
run "${shapes[@]}" --kill courier:0@10% --kill courier:2@30% --kill decode:1@50% --kill prefill:1@60% --kill courier:1@80%
check <<'END'
assert told["equal_answers"] == 8 and told["deaths"] == 2, "answers, or deaths"
print("with three couriers and two stages killed,", told["equal_answers"], "answers are those of one process")
END
