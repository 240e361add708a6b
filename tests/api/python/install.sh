#!/usr/bin/env bash
# `pip install .` from the tree without a network, into a place of its own, in less than a minute where Fabricast is built.
#   install.sh BUILD SOURCES PYTHON
set -eu
build=$1 sources=$2 python=$3
"$python" -m pip --version >/dev/null 2>&1 || { echo "no pip" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
begin=$(date +%s)
FABRICAST_BUILD=$build "$python" -m pip install "$sources" --no-build-isolation --no-index --no-deps --target "$work/site" \
  --quiet --disable-pip-version-check >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
cd "$work"
env -u PYTHONPATH PYTHONPATH="$work/site" "$python" -c '
import fabricast, sys
assert fabricast.__file__.startswith(sys.argv[1]), fabricast.__file__
rows = fabricast.Scenario(sys.argv[2]).run().rows
assert len(rows) > 2 and (rows["busbw_gbps"] > 0).all()
' "$work/site" "$sources/scenarios/two_nodes.yaml"
seconds=$(($(date +%s) - begin))
echo "pip install and a first answer: $seconds s"
[ "$seconds" -le 60 ]
for file in py.typed _core.pyi libfabricast.so.0; do [ -e "$work/site/fabricast/$file" ]; done
# The same wheel twice has the same bytes.
mkdir one two
for place in one two; do "$python" -B "$sources/sim/api/python/build_by_cmake.py" "$build" "$work/$place" >/dev/null; done
cmp one/*.whl two/*.whl
