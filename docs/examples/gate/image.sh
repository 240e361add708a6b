#!/bin/sh
# A new image of the cluster passes if nccl-tests under it are above the floors of what the old one measured.
#
#   image.sh SCENARIO.yaml HEALTHY.log COMMAND...    e.g. image.sh node.yaml healthy.log all_reduce_perf -b 1M -e 1G -f 32 -g 8
#
# COMMAND runs nccl-tests under the new image. Exit code: 0 it passes; 1 a row is below its floor, or the log is of another cluster;
# 2 the scenario or a log can not be read, or COMMAND failed.
set -eu
scenario=$1 healthy=$2
shift 2
"$@" >new.log || exit 2
exec fabricast gate "$scenario" --measured "$healthy" --log new.log
