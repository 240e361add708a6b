#!/bin/sh
# Checks a node of a Kubernetes cluster, and cordons it if it fails.
#
#   cordon.sh NODE MANIFEST.yaml IMAGE
#
# MANIFEST.yaml is what `fabricast gate node.yaml --measured healthy.log --kubernetes MANIFEST.yaml` wrote, of one node; IMAGE has
# nccl-tests in its PATH. Exit code: 0 the node passes; 1 it failed and is cordoned; 2 it was not checked.
set -eu
node=$1 manifest=$2 image=$3
kubectl delete job/fabricast-gate --ignore-not-found >/dev/null
# `nodeName` binds the pod to the node past the scheduler, so also while the node is cordoned.
sed -e "s|^      restartPolicy: Never|&\\n      nodeName: $node|" -e "s|image: nccl-tests:latest|image: $image|" "$manifest" |
  kubectl apply -f - >/dev/null || exit 2
exit_code() {
  kubectl get pod -l job-name=fabricast-gate -o 'jsonpath={.items[0].status.containerStatuses[0].state.terminated.exitCode}'
}
waited=0
until code=$(exit_code) && [ -n "$code" ]; do
  [ "$waited" -lt 1800 ] || exit 2
  sleep 10
  waited=$((waited + 10))
done
kubectl logs job/fabricast-gate
case $code in
  0) ;;
  1) kubectl cordon "$node" ;;
  *) code=2 ;;
esac
exit "$code"
