# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by scripts that run a pipeline on three hosts, namespaces of this machine, with the programs as arguments.
#   run ARGUMENTS...   serves requests there. Each answer has to be that of one process. The result is in $result.
#   check              python, in which `told` is the result, on stdin
# Exits with 77 where this machine has no etcd, or does not let us make hosts.
pipeline=$1 keeper=$2 courier=$3 certificates=$4
skip() { echo "SKIPPED: $1"; exit 77; }
[ -x /usr/bin/etcd ] || skip "no etcd here (Debian's etcd-server)"
[ "$(id -u)" = 0 ] || skip "only root makes hosts"
command -v ip >/dev/null || skip "no ip command (Debian's iproute2)"
why=$(unshare --net --pid --ipc --uts --mount --fork ip link add name h0 type bridge 2>&1) || skip "no namespaces here: $why"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
result=$directory/result
"$certificates" "$directory" h0.test h1.test h2.test >/dev/null
hosts=("$pipeline" --hosts 3 --certificates "$directory" --keeper-binary "$keeper" --courier-binary "$courier")
run() {
  "${hosts[@]}" --json "$@" >"$result" || { cat "$result"; echo "FAILED: $*"; exit 1; }
}
check() { python3 -c "import json; told = json.load(open('$result'))
$(cat)" || { cat "$result"; exit 1; }; }
