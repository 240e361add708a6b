#!/usr/bin/env bash
# The examples of `gate`: a node returns to service, an image passes, a node of Kubernetes is cordoned. Stand-ins for nccl-tests,
# scontrol and kubectl write down what they are told.
#   gate_examples.sh BINARY SOURCES
set -eu
binary=$1 examples=$2/docs/examples/gate
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$binary" "$work/bin/fabricast"
export PATH="$work/bin:$PATH" SLURMD_NODENAME=node7
cd "$work"
if command -v shellcheck >/dev/null; then shellcheck -s sh "$examples"/*.sh; fi

stand_in() { cat >"bin/$1" && chmod +x "bin/$1"; }
# Times of a table by nccl-tests: those of the file `times`, a line of bytes and microseconds for each size.
stand_in all_reduce_perf <<'SH'
#!/bin/sh
echo '# nThread 1 nGpus 8 minBytes 1048576 maxBytes 1073741824 step: 32(factor) warmup iters: 5 iters: 20'
echo '#       size         count      type   redop    root     time   algbw   busbw #wrong'
awk '{ printf "%12d %12d float sum -1 %.2f %.2f %.2f 0\n", $1, $1 / 4, $2, $1 / $2 / 1000, $1 / $2 / 1000 * 1.75 }' times
SH
stand_in scontrol <<'SH'
#!/bin/sh
echo "$*" >>scontrol.words
SH
fabricast gate "$examples/node.yaml" --json floors.json >/dev/null
times_of() {  # RATIO
  awk -v ratio="$1" '/"bytes":/ { gsub(/[^0-9]/, "", $2); bytes = $2 } /"expected_us":/ { print bytes, ($2 + 0) * ratio }' floors.json >times
}

times_of 1.02
all_reduce_perf >healthy.log
fabricast gate "$examples/node.yaml" --measured healthy.log --slurm check.sh --kubernetes manifest.yaml >/dev/null

times_of 1.03
"$examples/return_to_service.sh" check.sh >/dev/null
[ "$(cat scontrol.words)" = 'update NodeName=node7 State=RESUME' ]
"$examples/image.sh" "$examples/node.yaml" healthy.log all_reduce_perf | grep -q '^passes: all 3 rows'

times_of 2
code=0
rm scontrol.words
"$examples/return_to_service.sh" check.sh >/dev/null 2>&1 || code=$?
[ "$code" = 1 ]
grep -q '^update NodeName=node7 State=DRAIN Reason=fabricast gate: all_reduce 1048576 B took ' scontrol.words
grep -q RESUME scontrol.words && exit 1
"$examples/image.sh" "$examples/node.yaml" healthy.log all_reduce_perf >verdict && exit 1
grep -q '^does not pass: 3 of 3 rows are below their floors' verdict
code=0
"$examples/image.sh" "$examples/node.yaml" healthy.log false || code=$?
[ "$code" = 2 ]
# A check that can not run changes nothing.
code=0
rm scontrol.words
GATE_TESTS=/nowhere "$examples/return_to_service.sh" check.sh >/dev/null 2>&1 || code=$?
[ "$code" = 2 ] && [ ! -e scontrol.words ]

stand_in kubectl <<'SH'
#!/bin/sh
echo "$*" >>kubectl.words
case $1 in
  apply) cat >applied.yaml ;;
  get) cat exit_code ;;
esac
SH
for code in 0 1 2; do
  echo $code >exit_code
  rm -f kubectl.words
  got=0
  "$examples/cordon.sh" worker-3 manifest.yaml example.org/nccl:1 || got=$?
  [ "$got" = "$code" ]
  cordoned=$(grep -c '^cordon worker-3$' kubectl.words || true)
  [ "$cordoned" = "$([ "$code" = 1 ] && echo 1 || echo 0)" ]
done
grep -q '^      nodeName: worker-3$' applied.yaml
grep -q '^          image: example.org/nccl:1 ' applied.yaml
# The script of the manifest is the one that was tested.
sed -n '/^  gate.sh: |$/,/^---$/p' manifest.yaml | sed -e 1d -e '$d' -e 's/^    //' >gate.sh
times_of 1.03
sh gate.sh >/dev/null
times_of 2
code=0
sh gate.sh >/dev/null 2>reason || code=$?
[ "$code" = 1 ] && grep -q '^fabricast gate: all_reduce 1048576 B took ' reason
