#!/usr/bin/env bash
# Bad input, and what fabricast says to it. Each folder here has
#
#   command     shell lines, run in a copy of the folder; the last runs `fabricast ...`
#   expected    its standard error, and in a last line its exit code
#
# Nothing may come on standard output. A case fails that says anything else, takes over ten seconds, or crashes.
#
#   check.sh BINARY [NAME...]             compares
#   check.sh BINARY --update [NAME...]    writes the expectations anew: read each of them
set -u
binary=$1 update=""
shift
[ "${1:-}" = --update ] && update=1 && shift
home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$binary" "$work/bin/fabricast"
export PATH="$work/bin:$PATH" LC_ALL=C

count=0 failed=0
[ $# -gt 0 ] || set -- $(cd "$home" && ls -d -- */ | tr -d /)
# Of what is not tested, as little as can be is done for each of the hundreds of cases, as starting programs takes longer
# than what they are started for: the folders are copied at once, and only texts that differ are shown.
mkdir "$work/cases"
(cd "$home" && cp -r -- "$@" "$work/cases" && cd "$work/cases" && rm -f -- */expected)
for name in "$@"; do
  count=$((count + 1))
  cd "$work/cases/$name" || exit 1
  timeout 10 bash ./command >"$work/out" 2>"$work/got" </dev/null
  echo "exit $?" >>"$work/got"
  [ -z "$update" ] || cp "$work/got" "$home/$name/expected"
  mapfile -d '' -t expected <"$home/$name/expected"
  mapfile -d '' -t got <"$work/got"
  if [ "${expected[*]}" != "${got[*]}" ]; then
    failed=$((failed + 1))
    printf '== %s: other words than expected\n' "$name" && diff -u "$home/$name/expected" "$work/got"
  elif [ -s "$work/out" ]; then
    failed=$((failed + 1))
    printf '== %s: standard output should be empty\n' "$name" && head -5 "$work/out"
  fi
done
cd "$home" || exit 1
for leftover in $(find "$work/cases" -name '*.part'); do
  failed=$((failed + 1))
  printf '== left behind: %s\n' "${leftover#"$work"/cases/}"
done
echo "$count cases, $failed failed"
[ "$failed" -eq 0 ] && [ "$count" -ge 1 ]
