#!/usr/bin/env bash
# An example that gets SIGTERM in the middle of its work ends with status 143, says why, and leaves
# no process and no file. Usage: interrupted.sh LINE PROGRAM [ARGUMENT]...
#   LINE   what the program prints once it is at work
set -euo pipefail
line=$1
shift
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
log=$(mktemp)  # in TMPDIR
mkfifo "$TMPDIR/output"
"$@" >"$TMPDIR/output" 2>"$log" &
program=$!
seen=no
while read -r said; do
  if [ $seen = no ] && [[ "$said" == "$line"* ]]; then
    seen=yes
    kill -TERM $program
  fi
done <"$TMPDIR/output"  # ends with the last process that holds the pipe
status=0
wait $program || status=$?
cat "$log"
[ $seen = yes ] || { echo "it never said '$line'"; exit 1; }
[ $status -eq 143 ] || { echo "it ended with status $status"; exit 1; }
grep -q interrupted "$log" || { echo "it does not say why it ended"; exit 1; }
left=$(find "$TMPDIR" -mindepth 1 ! -path "$log" ! -name output)
[ -z "$left" ] || { echo "it left $left"; exit 1; }
