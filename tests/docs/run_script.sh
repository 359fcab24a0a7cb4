#!/usr/bin/env bash
# run_script.sh SCRIPT BIN: runs commands of the guide where its programs lie, with BIN on the path,
# and holds what they print against what the page promises. What they leave running is ended.
set -u
XDG_RUNTIME_DIR=$(mktemp -d)
export XDG_RUNTIME_DIR PATH=$2:$PATH TMPDIR=$XDG_RUNTIME_DIR
trap 'jobs -p | xargs -r kill 2>/dev/null; rm -rf "$XDG_RUNTIME_DIR"' EXIT
out=$XDG_RUNTIME_DIR/out
. "./$1" >"$out"
cat "$out"
for line in "seq 42 waits in peer memory" "every byte is back"; do
  grep -qxF "$line" "$out" || { echo "not printed: $line"; exit 1; }
done
