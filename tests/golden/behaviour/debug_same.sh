#!/usr/bin/env bash
# A Debug build gives the same bytes as this one: no result hangs on what the optimizer does.
#   debug_same.sh BINARY SOURCES BUILD
set -eu
binary=$1 sources=$2 build=$3
cmake -S "$sources" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DFABRICAST_TESTS=OFF >/dev/null
cmake --build "$build" --target fabricast >/dev/null
for scenario in two_nodes nodes64_fat_tree oversubscription_4 nic_down_and_back gdr_off; do
  cmp <("$binary" run "$sources/scenarios/$scenario.yaml" --json -) <("$build/fabricast" run "$sources/scenarios/$scenario.yaml" --json -) ||
    { echo "$scenario differs" && exit 1; }
done
