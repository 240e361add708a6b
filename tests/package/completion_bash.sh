#!/usr/bin/env bash
# What bash offers, word by word.
#   completion_bash.sh BINARY
set -u
source <("$1" help --bash) || exit 1
cd "$(mktemp -d)" || exit 1
trap 'rm -rf "$PWD"' EXIT
touch cluster.yaml old.yml out.json
mkdir folder
failed=0

# offered WORD...: what completes the last word, sorted, in one line. Words are given as bash splits them.
offered() {
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  _fabricast
  printf '%s\n' "${COMPREPLY[@]+"${COMPREPLY[@]}"}" | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//'
}
expect() {  # expect "OFFERED" WORD...
  local wanted=$1 got
  shift
  got=$(offered "$@")
  [ "$got" = "$wanted" ] || { echo "after '$*': '$got' instead of '$wanted'" && failed=1; }
}
expect_some() {  # one of those offered
  local wanted=$1
  shift
  [[ " $(offered "$@") " == *" $wanted "* ]] || { echo "after '$*': $wanted is not offered" && failed=1; }
}

expect "run" fabricast ru
expect_some "init" fabricast ""
expect_some "--version" fabricast --
expect "calibrate" fabricast cal
expect "fit import probe residuals validate" fabricast calibrate ""
expect "--identified --iterations" fabricast calibrate fit --i
expect "--leave-out" fabricast calibrate validate --le
expect "cluster.yaml folder old.yml" fabricast run ""
expect "--json" fabricast run cluster.yaml --js
expect "" fabricast run --json ""
expect "cluster.yaml" fabricast run --json out.json c
expect "fabric plan schedule" fabricast inspect ""
expect "cluster.yaml folder old.yml" fabricast inspect fabric ""
expect "parallel" fabricast plan cluster.yaml --search ""
expect "hgx-b200 hgx-b200-roce hgx-b300 hgx-b300-roce" fabricast init --node hgx-b
expect "llama3-405b llama3-70b llama3-8b" fabricast init --model llama3-
expect "gpus" fabricast list gp
expect "rail_only rail_optimized" fabricast describe rail
expect_some "NCCL_ALGO" fabricast describe NCCL_AL
expect "tuner" fabricast export t
expect "cluster.yaml folder old.yml" fabricast check out.json --scenario ""
# Keys and their words; bash splits at =.
expect "routing.salt= routing.seed= routing.seeds=" fabricast run cluster.yaml --set routing.s
expect_some "fabric.oversubscription=" fabricast run --set fabric.o
expect "rail_only rail_optimized" fabricast run --set fabric.kind = rail
expect "adaptive" fabricast run cluster.yaml --set routing.kind = a
expect "auto false true" fabricast run --set node.gdr = ""
expect "" fabricast run --set cluster.nodes = 1
expect "parallel" fabricast plan --search = p
expect "run" fabricast help ru
exit $failed
