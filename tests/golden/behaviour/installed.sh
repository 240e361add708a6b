#!/usr/bin/env bash
# The installed tree works where it is put, and uses its own data.
#   installed.sh BUILD
set -eu
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cmake --install "$1" --prefix "$tree/first" >/dev/null
mv "$tree/first" "$tree/moved"
cd "$tree/moved"
bin/fabricast run share/fabricast/scenarios/two_nodes.yaml | grep -q '8589934592'
test -f share/doc/fabricast/LICENSE
# Were it to read the cases of the source tree, it would find some.
echo '[]' >share/fabricast/cases.json
bin/fabricast calibrate validate 2>message && exit 1
grep -qx 'error: the file has no cases' message
