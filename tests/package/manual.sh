#!/usr/bin/env bash
# The manual page names every verb and every option that `--help` shows, and mandoc finds nothing to complain of.
#   manual.sh BINARY
set -eu
fabricast=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$fabricast" help --man >"$work/fabricast.1"
# As text, without the backslashes of mdoc.
sed 's/\\-/-/g; s/\\&//g' "$work/fabricast.1" >"$work/plain"

verbs=$("$fabricast" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
[ "$(echo "$verbs" | wc -l)" -ge 12 ]
count=0
for verb in $verbs; do
  words=$verb
  [ "$verb" = calibrate ] && words="calibrate import:calibrate validate:calibrate fit:calibrate probe"
  IFS=:
  for word in $words; do
    unset IFS
    grep -qx ".Ss fabricast $word" "$work/plain" || { echo "the manual has no section on $word" && exit 1; }
    for option in $("$fabricast" $word --help | grep -oE '^  (-[a-z] \[ )?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
      [ "$option" = --help ] && continue
      count=$((count + 1))
      sed -n "/^.Ss fabricast $word\$/,/^.S[sh] /p" "$work/plain" | grep -qE -- "^.It (Fl [a-z] , )?Fl ${option#-}( |\$)" ||
        { echo "the manual does not name $word $option" && exit 1; }
    done
  done
done
[ "$count" -ge 60 ] || { echo "only $count options found" && exit 1; }
"$fabricast" help run | grep -q -- --json
"$fabricast" help rum 2>"$work/message" && exit 1
grep -q "did you mean 'run'" "$work/message"

command -v mandoc >/dev/null || { echo "no mandoc: the page is not linted" && exit 77; }
mandoc -T lint "$work/fabricast.1" >"$work/lint" || true
# What it says of a page that is not installed.
grep -vE 'referenced manual not found' "$work/lint" >"$work/found" || true
[ ! -s "$work/found" ] || { cat "$work/found" && exit 1; }
mandoc -T utf8 "$work/fabricast.1" | grep -q 'FABRICAST(1)'
