#!/usr/bin/env bash
# The installed C library, found by pkg-config and by CMake from a C project, in a tree that was moved.
#   link.sh BUILD SOURCES CC
set -eu
build=$1 sources=$2 cc=$3
command -v pkg-config >/dev/null || { echo "no pkg-config" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for component in libfabricast libfabricast-dev; do
  cmake --install "$build" --prefix "$work/first" --component "$component" >/dev/null
done
mv "$work/first" "$work/tree"
! grep -rlF -e "$sources" -e "$work/first" "$work/tree" --include=*.pc --include=*.cmake --include=*.h || exit 1
pc=$(dirname "$(find "$work/tree" -name fabricast.pc)")
libraries=$(dirname "$(find "$work/tree" -name libfabricast.so.0)")
scenario=$sources/scenarios/two_nodes.yaml
flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs fabricast)
# shellcheck disable=SC2086
"$cc" -std=c99 -pedantic -Wall -Wextra -Werror "$sources/docs/examples/c/forecast.c" -o "$work/by_pkg" $flags
cmake -S "$sources/docs/examples/c" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/tree" -DCMAKE_C_COMPILER="$cc" \
  >"$work/log" 2>&1 && cmake --build "$work/build" >>"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
"$build/fabricast" run "$scenario" --json - >"$work/wanted"
LD_LIBRARY_PATH=$libraries "$work/by_pkg" "$scenario" | diff - "$work/wanted"
"$work/build/forecast" "$scenario" | diff - "$work/wanted"
status=0
LD_LIBRARY_PATH=$libraries "$work/by_pkg" "$work/none.yaml" 2>"$work/message" || status=$?
[ "$status" -eq 2 ] && grep -q 'no such file' "$work/message"
