#!/usr/bin/env bash
# The example for continuous integration passes on what it accepted, and fails when a forecast gets worse.
#   ci_example.sh BINARY SOURCES
set -eu
binary=$1 example=$2/docs/examples/ci/check_forecast.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$binary" "$work/bin/fabricast"
export PATH="$work/bin:$PATH"
cd "$work"
cat >cluster.yaml <<'YAML'
fabricast: 1
node: {profile: hgx-h100-roce}
cluster: {nodes: 16}
fabric: {kind: fat_tree, switch: {ports: 32}}
workload: {collective: all_reduce, sizes: [64KiB, 1GiB]}
YAML
"$example" cluster.yaml baseline.json --accept >/dev/null
"$example" cluster.yaml baseline.json >same
grep -qx '# the same forecast' same
# Twice oversubscribed, the large size gets slower, and the log says why.
sed -i 's/kind: fat_tree,/kind: fat_tree, oversubscription: 4,/' cluster.yaml
"$example" cluster.yaml baseline.json >worse && { cat worse && exit 1; }
grep -q '^# changed: fabric.oversubscription: 1.0 -> 4.0$' worse
grep -q '1GiB.* worse' worse
grep -q 'of 2 figures are worse by more than 2 %$' worse
# Better is no fault; what is missing is.
fabricast compare forecast.json baseline.json --tolerance 2% | grep -q better
sed -i 's/, 1GiB\]/]/' cluster.yaml
"$example" cluster.yaml baseline.json 100% >missing && exit 1
grep -q '1GiB is missing in the newer forecast' missing
fabricast compare baseline.json forecast.json --tolerance 100% --json - | grep -q '"passes": false' || exit 1
