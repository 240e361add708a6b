#!/usr/bin/env python3
"""Times an all-reduce and an alltoall of 16,384 GPUs on every kind of fabric, by what keeps queues short.

usage: fabrics_16k.py FABRICAST

Prints tables of processor time in seconds, process start included: each figure is the least of three runs. The first has
ideal and reacting senders; the second rates that are simulated. UGAL needs switches that are connected directly.
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
OPERATIONS = ("all_reduce", "alltoall")
WITHOUT_DETOURS = ("fat_tree", "rail_optimized", "multi_plane")
SCENARIO = """fabricast: 1
node: {profile: %s}
cluster: {nodes: 2048}
fabric: {%s, congestion: {control: %s}}
routing: {kind: %s}
workload: {collective: %s, sizes: [1GiB]}
"""


def processor_time(command):
    before = os.times()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def least_time(program, file, scenario):
    file.seek(0)
    file.truncate()
    file.write(scenario)
    file.flush()
    command = [program, "run", file.name, "--no-intervals"]
    return min(processor_time(command) for _ in range(3))


def print_table(heads, cells_of):
    print(f"| | {' | '.join(heads)} |")
    print("|---" * (len(heads) + 1) + "|")
    for name, fabric in FABRICS.items():
        print(f"| {name} | {' | '.join(cells_of(name, fabric))} |", flush=True)


def reacting(program, file):
    def cells_of(name, fabric):
        for op in OPERATIONS:
            for head, routing in ROUTINGS.items():
                if head == "UGAL" and name in WITHOUT_DETOURS:
                    yield ""
                    continue
                times = [least_time(program, file, SCENARIO % ("hgx-h100", fabric, control, routing, op))
                         for control in ("ideal", "reactive")]
                yield "{:.2f}, {:.2f}".format(*times)

    print_table([f"{op}, {routing}" for op in OPERATIONS for routing in ROUTINGS], cells_of)


def simulated(program, file):
    """Controls whose rates are simulated, by ECMP: next to `ideal` with as many samples."""
    def cells_of(_, fabric):
        for op in OPERATIONS:
            for control, seeds in (("none", 4), ("dcqcn", 20)):
                times = [least_time(program, file, SCENARIO % ("hgx-h100-roce", fabric, c, f"ecmp, seeds: {seeds}", op))
                         for c in ("ideal", control)]
                yield "{:.2f}, {:.2f}".format(*times)

    print_table([f"{op}, {control}" for op in OPERATIONS for control in ("none", "dcqcn")], cells_of)


def main():
    program = sys.argv[1]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        reacting(program, file)
        print()
        simulated(program, file)


if __name__ == "__main__":
    main()
