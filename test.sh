#!/usr/bin/env bash
# Builds and runs the tests.
#
#   ./test.sh             all tests except those labelled nightly; Release, in build/
#   ./test.sh --fast      also without tests labelled slow
#   ./test.sh --nightly   only tests labelled nightly: the same on many more scenarios; takes a quarter of an hour
#   ./test.sh --asan      with the address and undefined-behaviour sanitizers, in build-asan/: the unit tests of code
#                         that reads foreign files, finds paths and counts
#   ./test.sh --asan-all  the same for all unit tests; takes half an hour
#
# Further arguments go to ctest, e.g. ./test.sh -R scenarios.
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$home/.ci/packages.sh"

build=build preset=default select=() leave_out=nightly configure=-DFABRICAST_TESTS=ON target=all
while [ $# -gt 0 ]; do
  case $1 in
    --fast) leave_out='nightly|slow' ;;
    --nightly) leave_out='' select+=(-L nightly) ;;
    --asan) build=build-asan preset=asan select+=(-L unit) configure=-DFABRICAST_SANITIZE_ALL=OFF target=unit_tests ;;
    --asan-all) build=build-asan preset=asan select+=(-L unit) configure=-DFABRICAST_SANITIZE_ALL=ON ;;
    -h | --help) sed -n '2,12s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) break ;;
  esac
  shift
done

need $build_packages $test_packages
cd "$home"
quietly configuring cmake --preset "$preset" -DFABRICAST_TESTS=ON $configure
building "$build" "$target"
# The tests write and read thousands of small files. Keep them in memory if there is room.
if [ -z "${TMPDIR:-}" ] && [ "$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -ge 4000000 ] 2>/dev/null; then
  export TMPDIR=/dev/shm
fi
# glibc gives large blocks back to the kernel at once, and programs that grow lists ask for them again: a fifth of the
# processor time of all tests went into the page faults. Here memory is kept (mallopt(3)).
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=4000000000 MALLOC_TOP_PAD_=16777216
[ -z "$leave_out" ] || select+=(-LE "$leave_out")
# One more than there are processors: some tests wait for connections, and for browsers.
jobs=${CTEST_PARALLEL_LEVEL:-$(($(nproc) + 1))}
begin=$SECONDS log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
ctest --test-dir "$build" --output-on-failure --no-label-summary -j "$jobs" "${select[@]}" "$@" | tee "$log" || status=$?
# One line to end with: ctest lists what failed above it.
count=$(sed -n 's/^.* tests failed out of \([0-9]*\)$/\1/p' "$log")
failed=$(sed -n 's/^.*, \([0-9]*\) tests failed out of .*$/\1/p' "$log")
took="$(((SECONDS - begin) / 60)) min $(((SECONDS - begin) % 60)) s"
if [ "$status" -eq 0 ]; then
  echo "test.sh: all ${count:-0} tests passed in $took"
else
  echo "test.sh: ${failed:-some} of ${count:-the} tests FAILED after $took"
fi
exit "$status"
