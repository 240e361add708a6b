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
for name in "$@"; do
  count=$((count + 1))
  cp -r "$home/$name" "$work/case"
  rm -f "$work/case/expected"
  (cd "$work/case" && timeout 10 bash ./command >"$work/out" 2>"$work/got" </dev/null)
  echo "exit $?" >>"$work/got"
  leftover=$(find "$work/case" -name '*.part')
  rm -rf "$work/case"
  if [ -n "$update" ]; then cp "$work/got" "$home/$name/expected"; fi
  if ! diff -u "$home/$name/expected" "$work/got" >"$work/diff"; then
    failed=$((failed + 1))
    printf '== %s: other words than expected\n' "$name" && cat "$work/diff"
  elif [ -s "$work/out" ]; then
    failed=$((failed + 1))
    printf '== %s: standard output should be empty\n' "$name" && head -5 "$work/out"
  elif [ -n "$leftover" ]; then
    failed=$((failed + 1))
    printf '== %s: left %s behind\n' "$name" "$leftover"
  fi
done
echo "$count cases, $failed failed"
[ "$failed" -eq 0 ] && [ "$count" -ge 1 ]
