#!/usr/bin/env python3
"""Times an all-reduce and an alltoall of 16,384 GPUs on fabrics from files: two and three tiers, and a dragonfly.

usage: fabric_files.py FABRICAST [FOLDER]

Writes leaf_spine.yaml, three_tiers.yaml and dragonfly.yaml to the folder (default: a temporary one). Prints a table of
processor time in seconds, process start and reading included: each figure is the least of three runs.
"""
import os
import sys
import tempfile

import leaf_spine_file
from fabrics_16k import processor_time

NODES, NICS = 2048, 8
ROUTINGS = {"adaptive": "adaptive", "ECMP": "ecmp, seeds: 1"}
SCENARIO = """fabricast: 1
node: {profile: hgx-h100}
cluster: {nodes: %d}
fabric: {kind: file, path: %s}
routing: {kind: %s}
workload: {collective: %s, sizes: [1GiB]}
"""


def entry(out, **keys):
    out.write("  - {%s}\n" % ", ".join(f"{key}: {value}" for key, value in keys.items()))


def cables_of_nics(out, switch_of):
    out.write("links:\n")
    for node in range(NODES):
        for nic in range(NICS):
            entry(out, **{"from": f"node{node}.nic{nic}", "to": switch_of(node)})


def three_tiers(out):
    """64 pods of 8 leaves and 8 spines, and 64 cores; four cables wherever two switches are connected."""
    pods, leaves, spines, cores = 64, 8, 8, 8
    out.write("switches:\n")
    for leaf in range(pods * leaves):
        entry(out, name=f"tor{leaf}", tier="leaf")
    for pod in range(pods):
        for spine in range(spines):
            entry(out, name=f"agg{pod}_{spine}", tier="spine")
    for core in range(spines * cores):
        entry(out, name=f"core{core}", tier="core")
    cables_of_nics(out, lambda node: f"tor{node * pods * leaves // NODES}")
    for leaf in range(pods * leaves):
        for spine in range(spines):
            entry(out, **{"from": f"tor{leaf}", "to": f"agg{leaf // leaves}_{spine}", "count": 4})
    for pod in range(pods):
        for spine in range(spines):
            for core in range(cores):
                entry(out, **{"from": f"agg{pod}_{spine}", "to": f"core{spine * cores + core}", "count": 4})


def dragonfly(out):
    """32 groups of 32 switches with two nodes each; eight cables between two groups."""
    groups, switches, between = 32, 32, 8
    out.write("switches:\n")
    for group in range(groups):
        for switch in range(switches):
            entry(out, name=f"s{group}_{switch}", tier="leaf")
    cables_of_nics(out, lambda node: f"s{node // 64}_{node // 2 % switches}")
    for group in range(groups):
        for a in range(switches):
            for b in range(a + 1, switches):
                entry(out, **{"from": f"s{group}_{a}", "to": f"s{group}_{b}"})
    for a in range(groups):
        for b in range(a + 1, groups):
            for i in range(between):
                entry(out, **{"from": f"s{a}_{(b + 4 * i) % switches}", "to": f"s{b}_{(a + 4 * i) % switches}"})


FABRICS = {
    "leaf_spine": lambda out: leaf_spine_file.write(NODES, out),
    "three_tiers": three_tiers,
    "dragonfly": dragonfly,
}


def print_table(program, folder):
    heads = [f"{op}, {routing}" for op in ("all_reduce", "alltoall") for routing in ROUTINGS]
    print(f"| | lines | {' | '.join(heads)} |")
    print("|---" * (len(heads) + 2) + "|")
    scenario = os.path.join(folder, "scenario.yaml")
    for name, write in FABRICS.items():
        path = os.path.join(folder, name + ".yaml")
        with open(path, "w", encoding="utf-8") as out:
            write(out)
        with open(path, encoding="utf-8") as file:
            cells = [f"{sum(1 for _ in file):,}"]
        for op in ("all_reduce", "alltoall"):
            for routing in ROUTINGS.values():
                with open(scenario, "w", encoding="utf-8") as file:
                    file.write(SCENARIO % (NODES, path, routing, op))
                command = [program, "run", scenario, "--no-intervals"]
                cells.append(f"{min(processor_time(command) for _ in range(3)):.2f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main():
    program = sys.argv[1]
    if len(sys.argv) > 2:
        print_table(program, sys.argv[2])
        return
    with tempfile.TemporaryDirectory() as folder:
        print_table(program, folder)


if __name__ == "__main__":
    main()
