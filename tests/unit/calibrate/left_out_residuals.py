#!/usr/bin/env python3
"""Writes the errors of tests/data/left_out_residuals.txt anew, of the same cases and octaves.

usage: left_out_residuals.py ERRORS.json RESIDUALS.txt

ERRORS.json is that of `fabricast calibrate validate --leave-out fifth --json ERRORS.json` (8 minutes).
"""
import collections
import json
import math
import statistics
import sys


def errors_of(case):
    """By octave of the size: the mean logarithm of measured over forecast time."""
    errors = collections.defaultdict(list)
    for row in case["rows"]:
        errors[round(math.log2(row["bytes"]))].append(math.log(row["measured_us"] / row["forecast_us"]))
    return {octave: statistics.mean(values) for octave, values in errors.items()}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = {case["id"]: case for case in json.load(file)["leave_out"]["fifth"]["cases"]}
    with open(sys.argv[2], encoding="utf-8") as file:
        lines = file.read().splitlines()
    written = []
    for line in lines:
        words = line.split()
        if words and not line.startswith("#"):
            errors = errors_of(cases[words[3]])
            octaves = [float(word.split(":")[0]) for word in words[4:]]
            line = " ".join(words[:4] + [f"{octave:.2f}:{errors[round(octave)]:.3f}" for octave in octaves])
        written.append(line)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write("\n".join(written) + "\n")


if __name__ == "__main__":
    main()
