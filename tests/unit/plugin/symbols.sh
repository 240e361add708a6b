#!/bin/sh
# symbols.sh PLUGIN: the plugin shows NCCL's five symbols and nothing else, and needs no library but those of C.
command -v nm >/dev/null && command -v readelf >/dev/null || { echo "no nm or readelf"; exit 77; }
found=$(nm -D --defined-only "$1" | awk '{print $3}' | LC_ALL=C sort | tr '\n' ' ')
wanted='ncclTunerPlugin_v2 ncclTunerPlugin_v3 ncclTunerPlugin_v4 ncclTunerPlugin_v5 ncclTunerPlugin_v6 '
[ "$found" = "$wanted" ] || { echo "exported: $found"; exit 1; }
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|ld-linux[a-z0-9-]*)\.so')
[ -z "$needed" ] || { echo "needs: $needed"; exit 1; }
# stdout and stderr belong to the job.
! nm -D --undefined-only "$1" | grep -wE 'printf|puts|putchar|perror' || exit 1
