#!/bin/sh
# symbols.sh LIBRARY HEADER: the library shows the functions of the header with their version and nothing else, has its
# soname, and needs neither SimGrid nor what the command line alone needs.
command -v nm >/dev/null && command -v readelf >/dev/null || { echo "no nm or readelf"; exit 77; }
found=$(nm -D --defined-only "$1" | awk '$2 == "T" { print $3 }' | LC_ALL=C sort)
wanted=$(sed -n 's/^FABRICAST_API .*[ *]\(fabricast_[a-z_]*\)(.*/\1@@FABRICAST_0.2/p' "$2" | LC_ALL=C sort)
[ "$(echo "$wanted" | wc -l)" -ge 20 ] || { echo "the header was not understood"; exit 1; }
[ "$found" = "$wanted" ] || { echo "exported: $found"; exit 1; }
others=$(nm -D --defined-only "$1" | awk '$2 != "T" { print $3 }')
[ "$others" = FABRICAST_0.2 ] || { echo "also exported: $others"; exit 1; }
readelf -d "$1" | grep -q 'SONAME.*\[libfabricast.so.0\]' || { echo "the soname is another"; exit 1; }
if readelf -d "$1" | grep -E 'NEEDED.*(simgrid|program_options|ibverbs|hwloc|cuda)'; then exit 1; fi
# Nothing in it prints. `signal` is of the child of the chunk engine.
! nm -D --undefined-only "$1" | grep -wE "printf|puts|putchar|perror|sigaction" || exit 1
