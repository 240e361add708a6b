#!/usr/bin/env python3
"""leaf_spine_file.py NODES FILE: writes a fabric file of NODES nodes of eight NICs, four nodes at each leaf, 32 spines.

    python3 tests/bench/leaf_spine_file.py 2048 fabric.yaml
    fabricast run --no-intervals scenario.yaml --set 'fabric={kind: file, path: fabric.yaml}'
"""
import sys

NICS, NODES_PER_LEAF, SPINES = 8, 4, 32


def write(nodes, out):
    leaves = (nodes + NODES_PER_LEAF - 1) // NODES_PER_LEAF
    out.write("switches:\n")
    for leaf in range(leaves):
        out.write(f"  - {{name: tor{leaf}, tier: leaf}}\n")
    for spine in range(SPINES):
        out.write(f"  - {{name: agg{spine}, tier: spine}}\n")
    out.write("links:\n")
    for node in range(nodes):
        for nic in range(NICS):
            out.write(f"  - {{from: node{node}.nic{nic}, to: tor{node // NODES_PER_LEAF}}}\n")
    for leaf in range(leaves):
        for spine in range(SPINES):
            out.write(f"  - {{from: tor{leaf}, to: agg{spine}}}\n")


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        write(int(sys.argv[1]), file)
