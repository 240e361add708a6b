#!/usr/bin/env bash
# A sanitized build gives the same bytes as the Release build: no result hangs on what the optimizer does.
#   same_bytes.sh SANITIZED RELEASE SOURCES    exit code 77, skipped: there is no Release build
set -eu
sanitized=$1 release=$2 sources=$3
[ -x "$release" ] || exit 77
for scenario in two_nodes nodes64_fat_tree oversubscription_4 nic_down_and_back gdr_off training_fsdp_7b inference_decode; do
  cmp <("$sanitized" run "$sources/scenarios/$scenario.yaml" --json -) <("$release" run "$sources/scenarios/$scenario.yaml" --json -) ||
    { echo "$scenario differs" && exit 1; }
done
