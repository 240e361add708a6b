#!/usr/bin/env python3
"""Times an all-reduce and an alltoall of 16,384 GPUs on every kind of fabric, with ideal and with reacting senders.

usage: fabrics_16k.py FABRICAST

Prints a table of processor time in seconds, process start included: each figure is the least of three runs. UGAL needs
switches that are connected directly.
"""
import os
import subprocess
import sys
import tempfile

SIZED = "switch: {ports: %d, rate: 400Gbps}"
FABRICS = {
    "fat_tree": "kind: fat_tree",
    "rail_optimized": "kind: rail_optimized",
    "multi_plane": "kind: multi_plane, planes: 4, switch: {ports: 256, rate: 100Gbps}",
    "dragonfly": "kind: dragonfly, groups: 32, switches_per_group: 32, nodes_per_switch: 2, " + SIZED % 64,
    "dragonfly_plus": "kind: dragonfly_plus, groups: 16, leaves_per_group: 16, spines_per_group: 16, "
                      "nodes_per_switch: 8, " + SIZED % 128,
    "torus": "kind: torus, dimensions: [16, 8, 8], nodes_per_switch: 2, " + SIZED % 64,
    "hyperx": "kind: hyperx, dimensions: [16, 16], nodes_per_switch: 8, " + SIZED % 128,
    "ocs": "kind: ocs, pods: [16], leaves_per_pod: 16, spines_per_pod: 16, nodes_per_switch: 8, " + SIZED % 128,
}
ROUTINGS = {"adaptive": "adaptive", "ECMP": "ecmp, seeds: 4", "UGAL": "ugal"}
WITHOUT_DETOURS = ("fat_tree", "rail_optimized", "multi_plane")
SCENARIO = """fabricast: 1
node: {profile: hgx-h100}
cluster: {nodes: 2048}
fabric: {%s, congestion: {control: %s}}
routing: {kind: %s}
workload: {collective: %s, sizes: [1GiB]}
"""


def processor_time(command):
    before = os.times()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def main():
    program = sys.argv[1]
    heads = [f"{op}, {routing}" for op in ("all_reduce", "alltoall") for routing in ROUTINGS]
    print(f"| | {' | '.join(heads)} |")
    print("|---" * (len(heads) + 1) + "|")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        for name, fabric in FABRICS.items():
            cells = []
            for op in ("all_reduce", "alltoall"):
                for head, routing in ROUTINGS.items():
                    if head == "UGAL" and name in WITHOUT_DETOURS:
                        cells.append("")
                        continue
                    times = []
                    for control in ("ideal", "reactive"):
                        file.seek(0)
                        file.truncate()
                        file.write(SCENARIO % (fabric, control, routing, op))
                        file.flush()
                        command = [program, "run", file.name, "--no-intervals"]
                        times.append(min(processor_time(command) for _ in range(3)))
                    cells.append("{:.2f}, {:.2f}".format(*times))
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
