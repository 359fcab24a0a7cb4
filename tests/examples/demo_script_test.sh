#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What scripts/demo and scripts/setup say before anything is installed or built. Usage:
#   demo_script_test.sh ROOT
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*"; exit 1; }

# A wrong option costs no build.
status=0
"$root/scripts/demo" --trcae x >"$work/out" 2>&1 || status=$?
[ "$status" -eq 2 ] || fail "an unknown option ends with $status"
[ "$(cat "$work/out")" = "demo: unknown option '--trcae'; see scripts/demo --help" ] || fail "$(cat "$work/out")"

# A copy that nothing was built in has the help as well, within 80 columns.
mkdir -p "$work/copy/scripts" "$work/copy/examples/elastic_offload"
cp "$root/scripts/demo" "$work/copy/scripts"
cp "$root/examples/elastic_offload/options.cpp" "$work/copy/examples/elastic_offload"
"$work/copy/scripts/demo" --help >"$work/help"
grep -q '^Usage: elastic_offload' "$work/help" || fail "no usage: $(cat "$work/help")"
grep -q -- '--trace' "$work/help" || fail "no options: $(cat "$work/help")"
! grep -q -- '--role' "$work/help" || fail "it names an option that is not for people"
! grep -n '.\{80\}' "$work/help" || fail "a line is wider than a terminal"

# What is built is counted; in a pipe a line now and then.
sed -n '/^count_steps()/,/^}/p' "$root/scripts/demo" >"$work/count"
{
  echo "[1/346] Building CXX object a.o"
  echo "a warning"
  echo "[2/346] Building CXX object b.o"
  echo "[26/346] Building CXX object c.o"
} | bash -c '. "$1"; count_steps' count "$work/count" >"$work/counted"
printf 'demo: building, step %s of 346\n' 1 26 | cmp - "$work/counted" || fail "$(cat "$work/counted")"

# One build is enough for the demo, the guide and the operator.
for file in scripts/demo docs/engine/integrating.md docs/operate/operations.md; do
  grep -q 'build/release' "$root/$file" || fail "$file does not use build/release"
done

# Neither root nor sudo, and a package missing: at once the command to hand on.
mkdir "$work/bin"
for tool in bash sed grep; do ln -s "$(command -v $tool)" "$work/bin/$tool"; done
printf '#!/bin/sh\necho 1000\n' >"$work/bin/id"
printf '#!/bin/sh\nexit 1\n' >"$work/bin/dpkg-query"
chmod +x "$work/bin/id" "$work/bin/dpkg-query"
status=0
PATH=$work/bin bash "$root/scripts/setup" build >"$work/out" 2>&1 || status=$?
[ "$status" -eq 1 ] || fail "setup without sudo ends with $status"
grep -q '^  apt-get update && apt-get install -y .* file ' "$work/out" || fail "$(cat "$work/out")"
! grep -q 'try 1' "$work/out" || fail "it tried what cannot work"
