#!/usr/bin/env bash
# The example of docs/examples/api, built against an installed tree that was moved, forecasts what the program does.
#   link_library.sh BUILD SOURCES CXX
set -eu
build=$1 sources=$2 cxx=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/tree"
# Nothing of the source tree may be in what is installed for others.
! grep -rlF "$sources" "$work/tree/lib"*/cmake "$work/tree/include" || exit 1
CXXFLAGS="-Wall -Wextra -Werror" cmake -S "$sources/docs/examples/api" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/tree" -DCMAKE_CXX_COMPILER="$cxx" \
  >"$work/log" 2>&1 && cmake --build "$work/build" >>"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
scenario=$work/tree/share/fabricast/scenarios/two_nodes.yaml
"$work/build/busbw" "$scenario" >"$work/out"
[ "$(grep -c 'nodes$' "$work/out")" -eq 2 ]
for nodes in 2 4; do
  "$work/tree/bin/fabricast" run "$scenario" --set cluster.nodes=$nodes --no-intervals --csv - | awk -F, '
    NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i; next }
    { printf "%14s B %10.2f us %8.2f GB/s\n", $column["bytes"], $column["time_us"], $column["busbw_gbps"] }'
done >"$work/wanted"
grep ' B ' "$work/out" | diff - "$work/wanted"
# A wrong file is the user's fault there, too.
echo 'fabricast: 1' >"$work/bad.yaml"
"$work/build/busbw" "$work/bad.yaml" 2>"$work/message" && exit 1
grep -q 'the section is missing' "$work/message"
# SimGrid is loaded for the chunk engine only, from its module, which moves along with the tree.
! ldd "$work/tree/bin/fabricast" "$work/build/busbw" | grep simgrid || exit 1
modules=$(dirname "$(find "$work/tree" -name libfabricast_chunk.so)")
chunk="--set network.engine=chunk --set workload.to=64KiB --set workload.from=64KiB --no-intervals --csv -"
(cd / && "$work/tree/bin/fabricast" run "$scenario" $chunk >"$work/chunk")
[ "$(wc -l <"$work/chunk")" -eq 2 ]
printf 'network: {engine: chunk}\n' | cat "$scenario" - >"$work/chunk.yaml"
LD_LIBRARY_PATH=$modules "$work/build/busbw" "$work/chunk.yaml" >"$work/chunk"
[ "$(grep -c 'nodes$' "$work/chunk")" -eq 2 ]
rm "$modules/libfabricast_chunk.so"
"$work/tree/bin/fabricast" run "$scenario" $chunk 2>"$work/message" && exit 1
grep -q 'cannot load the chunk engine' "$work/message"
# Every public header is complete in itself.
find "$work/tree/include" -name '*.hpp' | sort | sed "s#^$work/tree/include/#\#include \"#; s#\$#\"#" >"$work/all.cpp"
[ "$(wc -l <"$work/all.cpp")" -gt 80 ]
"$cxx" -std=c++20 -fsyntax-only -I"$work/tree/include" "$work/all.cpp"
