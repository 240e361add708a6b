#!/bin/sh
# format.sh ROOT: whether the sources are as clang-format 14 writes them (.clang-format). Other versions differ in detail,
# so without that one the check is skipped (exit code 77). Prints the places that differ.
cd "$1" || exit 2
format=$(command -v clang-format-14 || true)
[ -n "$format" ] || { echo "clang-format-14 is not installed"; exit 77; }
differing=$(find calibrate docs/examples include models sim tests -name '*.cpp' -print0 -o -name '*.hpp' -print0 |
  xargs -0 "$format" --dry-run 2>&1 | grep 'code should be clang-formatted' | cut -d: -f1,2 | sort -u)
[ -z "$differing" ] && exit 0
echo "not as clang-format writes it (clang-format-14 -i FILE):"
echo "$differing"
exit 1
