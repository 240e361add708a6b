#!/bin/sh
# Graphviz reads what `inspect fabric --dot` writes, without a warning. Usage: dot.sh FABRICAST SOURCES
command -v dot >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for nodes in 2 64 1024; do
  "$1" inspect fabric "$2/scenarios/nodes64_fat_tree.yaml" --set cluster.nodes=$nodes --dot "$work/fabric.dot" >/dev/null || exit 1
  timeout 60 dot -Tplain "$work/fabric.dot" >"$work/plain" 2>"$work/words" || { cat "$work/words"; exit 1; }
  [ -s "$work/words" ] && cat "$work/words" && exit 1
  cables=$(sed -n 's/.*-- .*tooltip="\([0-9]*\) x.*/\1/p' "$work/fabric.dot" | awk '{ n += $1 } END { print n }')
  known=$("$1" inspect fabric "$2/scenarios/nodes64_fat_tree.yaml" --set cluster.nodes=$nodes | sed -n 's/.* \([0-9]*\) cables$/\1/p')
  [ "$cables" = "$known" ] || { echo "$nodes nodes: $cables cables are drawn of $known"; exit 1; }
done
