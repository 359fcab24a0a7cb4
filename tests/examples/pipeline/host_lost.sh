#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One of three hosts is lost at 70 % of all tokens: its link is cut, and all that runs on it ends. The coordinators of
# the others find that by its silence, and a process that stands by on the next host takes the lost rank and reads the
# copies of its KV from the keeper beside it. Every answer is that of one process. The same with a host that is cut off
# and lives on. Then AQUA_HOSTS_LOST rounds (2), in which a random host is lost or cut off at a random moment, with
# couriers and stages killed as well.
# Usage: [AQUA_HOSTS_LOST=ROUNDS] host_lost.sh PIPELINE KEEPER COURIER CERTIFICATES-SCRIPT
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/hosts.sh"
lost=(--prefill 2x2 --decode 3x1 --replicate --standby --batch 4)

run "${lost[@]}" --server-ttl-ms 3000 --requests 8 --prompt-tokens 200 --layer-us 300 --kill host:2@70%
check <<'END'
assert told["equal_answers"] == 8, "answers"
assert [host["lost"] for host in told["hosts"]] == [False, False, True]
# h2 has decode's first stage alone; its keeper died with it, so that what was read came from the copies at h0.
assert told["tokens_restored"] > 0 and told["reckonings"][0]["sequences_read"] > 0, "no copy was read"
assert told["segments_left"] == 0 or told["not_looked"] == "a process was killed as all ended", "segments"
(gone,) = told["interruptions"]
assert (gone["pipeline"], gone["stage"]) == ("decode", 0), gone
# Nobody tells that a host is lost but its silence: its lease of three seconds is kept every second.
assert gone["noticed_after"] > 0.5, gone
assert all(gone[phase] >= 0 for phase in ("surveyed_after", "restored_after", "resumed_after", "next_token_after")), gone
print(told["tokens_restored"], "tokens were read from copies,", told["tokens_computed_again"], "computed again;", gone)
END

# Cut off, that host lives on: its process still has the rank for all that it knows, and its memory. Nobody hears it.
run "${lost[@]}" --server-ttl-ms 2000 --requests 8 --prompt-tokens 200 --layer-us 300 --cut host:2@50%
check <<'END'
assert told["equal_answers"] == 8 and told["deaths"] == 0 and told["recoveries"] == 1, "answers, or deaths"
assert told["tokens_restored"] > 0 and told["segments_left"] == 0, "no copy was read, or segments are left"
print("cut off:", told["tokens_restored"], "tokens were read from copies")
END

RANDOM=1  # the seed
for ((round = 1; round <= ${AQUA_HOSTS_LOST:-2}; ++round)); do
  how=--kill
  [ $((RANDOM % 2)) -eq 0 ] || how=--cut
  kills=("$how" "host:$((RANDOM % 3))@$((RANDOM % 90))%")
  [ $((RANDOM % 2)) -eq 0 ] || kills+=(--kill "courier:$((RANDOM % 3))@$((RANDOM % 90))%")
  [ $((RANDOM % 2)) -eq 0 ] || kills+=(--kill "decode:$((RANDOM % 3))@$((RANDOM % 90))%")
  [ $((RANDOM % 2)) -eq 0 ] || kills+=(--kill "prefill:$((RANDOM % 2)):$((RANDOM % 2))@$((RANDOM % 90))%")
  run "${lost[@]}" --server-ttl-ms 2000 --requests 8 --seed $round "${kills[@]}"
  check <<'END'
assert told["equal_answers"] == 8, "answers"
END
done
echo "$((round - 1)) hosts lost or cut off at random moments: all answers are those of one process"
