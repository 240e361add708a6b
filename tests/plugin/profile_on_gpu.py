"""Runs the profiler plugin in the real NCCL, on a machine with one GPU and PyTorch; under a minute.

  profile_on_gpu.py --plugin LIBRARY --output FOLDER

The ranks share the GPU, as in on_gpu.py, whose jobs these are. What the plugin records on each rank is compared with
what NCCL logs about the same calls on rank 0, the only one that logs them: operation, size, algorithm, protocol and
channels, in order. Times must be above zero. FOLDER gets summary.json, the logs and the records. Exit code 1: something is
wrong, and summary.json says what.
"""

import argparse
import json
import pathlib
import sys

import on_gpu


def records_of(folder, ranks):
    """The records by rank, in the order of launches."""
    by_rank = {rank: [] for rank in range(ranks)}
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text().splitlines():
            record = json.loads(line)
            by_rank[record["header"]["rank"]].append(record)
    for records in by_rank.values():
        records.sort(key=lambda r: r["coll_perf"]["event_trace_ts"]["coll_start_ts"])
    return by_rank


def recorded_choice(record):
    perf = record["coll_perf"]
    return (perf["coll"], perf["coll_msg_size_bytes"], perf["coll_algo"], perf["coll_proto"], perf["coll_channels"])


def logged_choices(folder):
    text = (folder / "rank0.log").read_text(errors="replace")
    return [(name, int(size), algorithm, protocol, int(high) - int(low) + 1)
            for name, size, algorithm, protocol, low, high in on_gpu.CHOICE.findall(text)]


def faults_of(folder, ranks, report):
    records = records_of(folder / "calls", ranks)
    faults = []
    logged = logged_choices(folder)
    if len({r["header"]["id"] for each in records.values() for r in each}) != 1:
        faults.append("the communicator has several ids")
    for rank, own in records.items():
        step = report[rank]["steps"][0]
        if "error" in step or not all(step["right"]):
            faults.append(f"rank {rank}: {step.get('error', 'a wrong result')}")
        recorded = [recorded_choice(r) for r in own]
        if not logged or logged != recorded:
            faults.append(f"rank {rank}: NCCL logged {len(logged)} calls, {len(recorded)} are recorded; first difference: "
                          + str(next(((a, b) for a, b in zip(logged, recorded) if a != b), None)))
        for record in own:
            perf, header = record["coll_perf"], record["header"]
            kernel = perf["event_trace_ts"]["kernel_events"][0]
            if (header["n_ranks"], header["nnodes"]) != (ranks, ranks):
                faults.append(f"rank {rank}: shape {header}")
            if not 0 < perf["coll_exec_time_us"] < 10e6 or kernel["kernel_stop_ts"] < kernel["kernel_start_ts"]:
                faults.append(f"rank {rank}: times {perf}")
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    plugin = str(pathlib.Path(arguments.plugin).resolve())
    summary = {"faults": []}
    for ranks in (2, 4):
        folder = arguments.output.resolve() / f"ranks{ranks}"
        (folder / "calls").mkdir(parents=True, exist_ok=True)
        env = {"NCCL_PROFILER_PLUGIN": plugin, "FABRICAST_PROFILER_DIR": str(folder / "calls")}
        steps = [on_gpu.step_of(ranks, on_gpu.CHECKED_SIZES, {}, runs=True)]
        report, fault = on_gpu.launch(folder, ranks, steps, env, 90)
        if fault:
            summary["faults"].append(fault)
            continue
        summary.update({key: report[0][key] for key in ("gpu", "torch", "nccl")})
        summary["faults"] += faults_of(folder, ranks, report)
        own = records_of(folder / "calls", ranks)
        summary[f"records_of_{ranks}_ranks"] = sum(len(each) for each in own.values())
        log = (folder / "rank0.log").read_text(errors="replace")
        summary["loaded"] = [line.split("NCCL INFO ", 1)[1] for line in log.splitlines()
                             if "PROFILER/Plugin" in line or "NCCL INFO fabricast" in line]
    (arguments.output / "summary.json").write_text(json.dumps(summary, indent=1))
    print(json.dumps(summary, indent=1))
    return 1 if summary["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
