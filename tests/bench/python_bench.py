"""Many forecasts from Python on one core, against a target.

  python_bench.py [COUNT [FACTOR]]

Each of COUNT forecasts (10,000) is of 64 H100 and of another scenario: the size of the message changes every time, and
the rate of the NICs takes one of four usual values. Each opens the changed scenario, forecasts it and reads the row into
NumPy. NCCL's search of the node runs once for each rate, as it does for a sweep. Then COUNT sizes of one scenario are
forecast in one question, which is how to ask for many sizes. FACTOR relaxes the target for busy
machines. Run it on one core: `taskset -c 0`.
"""

import sys
import time

import fabricast

TARGET = 10.0  # s, for 10,000
RATES = ("100Gbps", "200Gbps", "400Gbps", "800Gbps")


def scenario():
    return fabricast.Scenario({
        "fabricast": 1, "nccl": {"version": "2.27"}, "node": {"profile": "hgx-h100", "gdr": "true"},
        "cluster": {"nodes": 8}, "fabric": {"kind": "rail_optimized"}, "workload": {"sizes": ["1MiB"]}})


def measure_sizes(count):
    begin = time.perf_counter()
    processor = time.process_time()
    sizes = [f"{1024 * (i + 1)}B" for i in range(count)]
    rows = scenario().with_({"workload.sizes": sizes}).run(intervals=False, threads=1).rows
    assert rows["bytes"].tolist() == [1024 * (i + 1) for i in range(count)]
    return time.perf_counter() - begin, time.process_time() - processor


def measure(count):
    base = scenario()
    seen = set()
    begin = time.perf_counter()
    processor = time.process_time()
    for i in range(count):
        changes = {"workload.sizes": [f"{1024 * (i + 1)}B"], "node.nics.rate": RATES[i % len(RATES)]}
        row = base.with_(changes).run(intervals=False, threads=1).rows[0]
        seen.add((int(row["bytes"]), float(row["time_us"])))
    assert len(seen) == count, "some answers are those of another question"
    return time.perf_counter() - begin, time.process_time() - processor


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    factor = float(sys.argv[2]) if len(sys.argv) > 2 else 1
    target = TARGET * factor * count / 10_000
    failed = False
    for what, function in (("a scenario each", measure), ("sizes of one scenario", measure_sizes)):
        duration, processor = function(count)
        print(f"{count} forecasts of 64 GPUs, {what}: {duration:.2f} s, processor {processor:.2f} s, "
              f"{processor / count * 1e3:.3f} ms each; target {target:.2f} s")
        # The processor's time counts, so that others at work here do not.
        failed = failed or processor >= target
    sys.exit(1 if failed else 0)
