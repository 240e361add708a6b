#!/usr/bin/env bash
# Sweeps as a user runs them: the same bytes on any number of threads, after Ctrl-C and --resume, and on ranks of MPI of
# which one is killed. Usage: plan.sh FABRICAST [threads|mpi] [STEP]
#   STEP  of the 48 to 128 nodes: 18 rows for each
set -uo pipefail
fabricast=$1 part=${2:-threads} step=${3:-16}
rows=$((18 * (80 / step + 1)))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
check() { "${@:2}" || { echo "FAILED: $1"; failed=1; }; }

cat > study.yaml <<YAML
fabricast: 1
node: {profile: hgx-h100-roce}
cluster: {nodes: 64}
workload: {collective: all_reduce, sizes: [1MiB, 256MiB]}
sweep:
  fabric.kind: [fat_tree, rail_optimized, rail_only]
  fabric.oversubscription: [1, 2]
  cluster.nodes: {from: 48, to: 128, step: $step}
  fabric.switch.ports: [64, 32, 4]
objective: {minimize: time_us, keep: "busbw_gbps >= 0.9 * best", pareto: [time_us, busbw_gbps]}
YAML
"$fabricast" plan study.yaml --no-intervals --threads 1 --csv one.csv --json one.json --results one.db > one.txt
check "a sweep ends well" test $? -eq 0
check "$rows rows" test "$(wc -l < one.csv)" -eq $((rows + 1))
check "a leaf of 4 ports is too small for a node in a fat tree" grep -q ',refused,fat_tree,1,48,4,.*fabric.switch.ports' one.csv

rows() { python3 -c "import sqlite3,sys; print(sqlite3.connect(sys.argv[1]).execute('select count(*) from rows').fetchone()[0])" "$1"; }
# until FILE COUNT: waits until so many rows are there.
until_rows() { for _ in $(seq 600); do [ -f "$1" ] && [ "$(rows "$1" 2>/dev/null || echo 0)" -ge "$2" ] && return; sleep 0.05; done; return 1; }

if [ "$part" = threads ]; then
  "$fabricast" plan study.yaml --no-intervals --threads 2 --csv two.csv --json two.json --results two.db > two.txt
  for kind in csv json db txt; do check "the same $kind on two threads" cmp one.$kind two.$kind; done

  "$fabricast" plan study.yaml --no-intervals --threads 2 --csv part.csv --results part.db > part.txt 2> part.err &
  check "rows are kept as they are done" until_rows part.db 5
  kill -INT $!
  wait $!
  check "Ctrl-C ends with 130" test $? -eq 130
  check "what is left is said" grep -q 'with --resume continues from part.db' part.err
  check "rows that were done are told" grep -q ',done,' part.csv
  check "and those that were not" grep -q ',not_run,' part.csv
  "$fabricast" plan study.yaml --no-intervals --results part.db > /dev/null 2> again.err
  check "a file that is there is not written over" test $? -eq 2
  "$fabricast" plan study.yaml --no-intervals --csv part.csv --results part.db --resume > /dev/null
  check "the same rows after --resume" cmp one.csv part.csv
  check "and the same file" cmp one.db part.db
else
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  ranks() { timeout 120 mpirun --oversubscribe -n 4 "$@"; }
  kill_rank() {
    for pid in $(pgrep -x fabricast); do
      tr '\0' '\n' < /proc/"$pid"/environ 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$1" &&
        grep -qz "$work" /proc/"$pid"/environ && kill -9 "$pid" && return
    done
    return 1
  }
  ranks "$fabricast" plan study.yaml --no-intervals --csv ranks.csv --results ranks.db > ranks.txt
  check "a sweep on four ranks ends well" test $? -eq 0
  check "the same rows on four ranks" cmp one.csv ranks.csv
  check "the same file" cmp one.db ranks.db
  check "rank 0 alone speaks" cmp one.txt ranks.txt

  # killed NAME RANK [mpirun's options]: a sweep of which a rank is killed after some rows; its exit code is in $status.
  # On a busy machine the sweep may end before that, so it is tried again.
  killed() {
    local name=$1 rank=$2 try launcher
    for try in 1 2 3 4 5; do
      rm -f "$name".*
      ranks "${@:3}" "$fabricast" plan study.yaml --no-intervals --csv "$name.csv" --results "$name.db" > /dev/null 2>&1 &
      launcher=$!
      if until_rows "$name.db" 5 && kill_rank "$rank"; then
        wait $launcher
        status=$?
        return 0
      fi
      wait $launcher
    done
    return 1
  }
  check "rank 2 is killed after some rows" killed part 2
  check "mpirun gives up when a rank is killed" test "$status" -ne 0
  ranks "$fabricast" plan study.yaml --no-intervals --csv part.csv --results part.db --resume > /dev/null
  check "and no row is lost" cmp one.csv part.csv

  check "rank 1 is killed after some rows" killed alive 1 --enable-recovery
  check "told to, it goes on without the killed rank" test "$status" -eq 0
  check "which loses no row" cmp one.csv alive.csv
fi
exit $failed
