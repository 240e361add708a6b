#!/bin/sh
# doors.sh DIRECTORY: `fabricast mcp` and others run the program beside it, or say which package has it.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1/fabricast" mcp --help | grep -q 'usage: fabricast mcp' || { echo "mcp was not run"; exit 1; }
"$1/fabricast" serve --help | grep -q 'usage: fabricast serve' || { echo "serve was not run"; exit 1; }
"$1/fabricast" serve --port none 2>"$work/message"
[ $? -eq 2 ] && grep -q -- "--port 'none' is not a whole number" "$work/message" || exit 1
cp "$1/fabricast" "$work/fabricast"
for door in mcp serve watch; do
  "$work/fabricast" $door --help >"$work/out" 2>"$work/message"
  [ $? -eq 3 ] && grep -q "in the package fabricast-$door" "$work/message" || { cat "$work/message"; exit 1; }
done
