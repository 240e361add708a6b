#!/usr/bin/env bash
# From a fresh clone to a forecast: installs the packages for the build (Debian 12), builds Release in build/, and runs
# `fabricast run`.
#
#   ./forecast.sh                        forecasts a cluster of 64 nodes with 8 H100 each
#   ./forecast.sh SCENARIO.yaml [...]    forecasts another scenario, with options of `fabricast run`
#   ./forecast.sh --set KEY=VALUE [...]  forecasts the cluster of 64 nodes with options of `fabricast run`
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$home/.ci/packages.sh"

need $build_packages
if [ ! -f "$home/build/build.ninja" ]; then
  quietly configuring cmake -S "$home" --preset default -DFABRICAST_TESTS=OFF
fi
building "$home/build" fabricast_installed

scenario="$home/scenarios/nodes64_rail_optimized.yaml"
case "${1:-}" in
  "" | -*) ;;
  *) scenario=$1 && shift ;;
esac
exec "$home/build/fabricast" run "$scenario" "$@"
