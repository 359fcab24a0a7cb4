#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prefill on one server and decode on another one: two keepers, and couriers in network namespaces of
# their own, which reach each other over one link. Every answer is that of one process, and what was
# streamed crossed the link: its counters have at least the KV of all prompts. Then the same with
# couriers, a prefill stage and a decode stage killed, on the loopback; with the link cut in the middle, for
# AQUA_LINK_CUT seconds (3), after which TCP goes on where it was, or couriers connect anew (30); and over a link
# that delays and loses packets, with couriers and a stage killed. Skips what it may not do.
# Usage: two_servers.sh PIPELINE KEEPER COURIER CERTIFICATES-SCRIPT
set -euo pipefail
pipeline=$1 keeper=$2 courier=$3 certificates=$4
directory=$(mktemp -d)
a=aqua-a-$$ b=aqua-b-$$ work=
# shellcheck disable=SC2317  # the trap calls it
tidy() {
  if [ -n "$work" ]; then kill "$work"; wait "$work" || true; fi  # it ends what it has started
  rm -rf "$directory"
  ip netns delete "$a" 2>/dev/null || true
  ip netns delete "$b" 2>/dev/null || true
}
trap tidy EXIT
"$certificates" "$directory" prefill.test decode.test >/dev/null
# With 7 layers, 6 heads of 16 bytes, keys and values: 1,344 bytes a token.
command=("$pipeline" --requests 8 --batch 4 --prefill 2x2 --decode 3x1 --two-servers "$directory"
  --keeper-binary "$keeper" --courier-binary "$courier")
run() { "${command[@]}" "$@"; }
run --requests 16 --kill courier:0@10% --kill courier:1@30% --kill decode:1@50% --kill prefill:1@60% --kill courier:0@80%
if run --flip-a-byte >"$directory/result" 2>&1 ||
  ! grep -q "answers differ from those of one process" "$directory/result"; then
  cat "$directory/result"
  echo "FAILED: a flipped byte was not noticed, or something else failed"
  exit 1
fi

if ! ip netns add "$a" 2>"$directory/why" || ! ip netns add "$b" 2>"$directory/why"; then
  echo "SKIPPED: no network namespaces here: $(tail -n 1 "$directory/why" 2>/dev/null || echo 'no ip command')"
  exit 77
fi
ip -n "$a" link add link0 type veth peer name link0 netns "$b"
ip -n "$a" address add 10.99.7.1/24 dev link0
ip -n "$b" address add 10.99.7.2/24 dev link0
for one in "$a" "$b"; do ip -n "$one" link set link0 up; ip -n "$one" link set lo up; done
received() { ip netns exec "$b" cat /sys/class/net/link0/statistics/rx_bytes; }
over_the_link=(--prompt-tokens 400 --prefill-network "$a" --decode-network "$b" --decode-address 10.99.7.2 --json)
all_is_well() {  # STATUS
  cat "$directory/result"
  [ "$1" -eq 0 ] && grep -q '"equal_answers": 8,' "$directory/result" && grep -q '"segments_left": 0,' "$directory/result"
}
status=0
run "${over_the_link[@]}" >"$directory/result" || status=$?
all_is_well $status
least=$((8 * 200 * 1344))  # prompts have 200 tokens at least
whole=$(received)
echo "$whole bytes crossed the link; the KV of all prompts has $least at least"
[ "$whole" -ge "$least" ] || { echo "FAILED: not all KV crossed the link"; exit 1; }

"${command[@]}" "${over_the_link[@]}" >"$directory/result" &
work=$!
until [ $(($(received) - whole)) -ge $((least / 4)) ]; do
  [ -e /proc/$work/exe ] || { work=; echo "FAILED: it ended before a quarter of the KV had crossed"; exit 1; }
done
ip -n "$a" link set link0 down
cut=$(($(received) - whole))
sleep "${AQUA_LINK_CUT:-3}"
ip -n "$a" link set link0 up
wait $work || status=$?
work=
all_is_well $status
crossed=$(($(received) - whole))
echo "the link was cut after $cut bytes, of $crossed in all"
[ $((crossed - cut)) -ge $((least / 4)) ] || { echo "FAILED: less than a quarter of the KV was still to cross"; exit 1; }

# netem where the kernel has it, else a rate with a queue that TCP overruns.
worsen() {
  tc -n "$1" qdisc add dev link0 root netem delay 20ms 5ms loss 1% 2>/dev/null ||
    tc -n "$1" qdisc add dev link0 root tbf rate 50mbit burst 16kb latency 20ms
}
for one in "$a" "$b"; do worsen "$one"; done
run "${over_the_link[@]}" --kill courier:0@20% --kill courier:1@40% --kill decode:1@60% >"$directory/result" || status=$?
all_is_well $status
lost=$(tc -n "$a" -s qdisc show dev link0 | sed -n 's/.*dropped \([0-9]*\).*/\1/p' | head -n 1)
echo "the worse link lost $lost packets of prefill's"
[ "$lost" -gt 0 ] || { echo "FAILED: the worse link lost nothing"; exit 1; }
