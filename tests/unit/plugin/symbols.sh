#!/bin/sh
# symbols.sh TUNER PROFILER: the plugins show NCCL's symbols and nothing else, and need no library but those of C.
command -v nm >/dev/null && command -v readelf >/dev/null || { echo "no nm or readelf"; exit 77; }
check() {
  found=$(nm -D --defined-only "$1" | awk '{print $3}' | LC_ALL=C sort | tr '\n' ' ')
  [ "$found" = "$2" ] || { echo "$1 exports: $found"; exit 1; }
  needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|ld-linux[a-z0-9-]*)\.so')
  [ -z "$needed" ] || { echo "$1 needs: $needed"; exit 1; }
  # stdout and stderr belong to the job.
  ! nm -D --undefined-only "$1" | grep -wE 'printf|puts|putchar|perror' || exit 1
}
check "$1" 'ncclTunerPlugin_v2 ncclTunerPlugin_v3 ncclTunerPlugin_v4 ncclTunerPlugin_v5 ncclTunerPlugin_v6 '
check "$2" 'ncclProfiler_v4 ncclProfiler_v5 ncclProfiler_v6 '
