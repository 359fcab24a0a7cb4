#!/usr/bin/env bash
# build_script.sh BUILD BLOCKS: installs BUILD where the guide installs it, in a home of this test's
# own, then builds and runs the guide's programs by the guide's commands, which lie in BLOCKS.
set -eu
HOME=$(mktemp -d)
export HOME
trap 'rm -rf "$HOME"' EXIT
cmake --install "$1" --prefix "$HOME/aqua" >"$HOME/log" 2>&1 || { tail -n 40 "$HOME/log"; exit 1; }
mkdir "$HOME/engine"
cd "$HOME/engine"
cp "$2"/{consumer.cpp,lender.cpp,CMakeLists.txt} .
. "$2/build.sh"  # leaves us where the programs are, with ours on the path
export XDG_RUNTIME_DIR=$HOME TMPDIR=$HOME
. "$2/run.sh" | tee out
grep -qxF "seq 42 waits in peer memory" out
grep -qxF "every byte is back" out
grep -qxF "aqua-coordinator is $HOME/aqua/bin/aqua-coordinator" out
