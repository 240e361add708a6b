#!/bin/sh
# A node that was drained returns to service if it passes. Run it on the node, as root.
#
#   return_to_service.sh CHECK.sh
#
# CHECK.sh is what `fabricast gate node.yaml --measured healthy.log --slurm CHECK.sh` wrote. A node that fails stays drained, with
# the reason in `sinfo -R`; a check that can not run changes nothing.
set -u
node=${SLURMD_NODENAME:-$(hostname -s)}
GATE_NODE=$node sh "$1"
code=$?
case $code in
  0) scontrol update NodeName="$node" State=RESUME ;;
  1) printf '%s stays drained\n' "$node" ;;
  *) printf '%s was not checked\n' "$node" >&2 ;;
esac
exit "$code"
