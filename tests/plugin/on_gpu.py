"""Runs the tuner plugin in the real NCCL, on a machine with one GPU and PyTorch.

  on_gpu.py --plugin LIBRARY --output FOLDER            checks libnccl-tuner-fabricast.so; under a minute
  on_gpu.py --record --plugin LIBRARY --output FOLDER   records NCCL's cost tables with libnccl-tuner-record.so

The ranks share the GPU. Each claims a host of its own (NCCL_HOSTID), so NCCL takes them for nodes that talk over
sockets. Times mean nothing here; choices and results do. FOLDER gets summary.json, the logs and, with --record, a file
of JSON lines per rank (record_costs.c), the graphs and the topology. Exit code 1: something is wrong, and summary.json
says what.

The check compares three things for each call, by what NCCL itself logs about it:

- without a tuner: NCCL's own choice;
- with the plugin and no profile: the same choice;
- with a profile: its algorithm, protocol and channels where it has a range that NCCL allows, else NCCL's own choice.
  The results of these calls are checked, too.

Then a faulty profile under FABRICAST_TUNER_STRICT=1 must fail the communicator on all ranks.

Where only the choice counts, calls are captured into a CUDA graph that never runs: NCCL chooses while it captures.
"""

import argparse
import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys
import time

COLLECTIVES = ("broadcast", "reduce", "all_gather", "reduce_scatter", "all_reduce")
FLOAT, SUM = 7, 0  # ncclFloat32, ncclSum
INVALID_USAGE = 5
KIB, MIB = 1 << 10, 1 << 20
CHECKED_SIZES = (KIB, 16 * KIB, 256 * KIB, MIB, 16 * MIB)
RECORDED_SIZES = tuple(1 << power for power in range(8, 27))
ROOT = 0

# By collective, the choice for each of CHECKED_SIZES; None: NCCL's. LL128 is there to be refused: NCCL does not use it
# over sockets.
FORCED = {
    "broadcast": (("ring", "simple", 1), None, ("ring", "ll", 2), ("ring", "simple", 4), None),
    "reduce": (None, ("ring", "ll", 1), ("ring", "simple", 2), None, ("ring", "simple", 8)),
    "all_gather": (("ring", "ll", 1), ("pat", "simple", 2), ("ring", "simple", 4), ("pat", "simple", 1), None),
    "reduce_scatter": (("pat", "simple", 1), ("ring", "ll", 1), None, ("ring", "ll", 2), ("ring", "simple", 2)),
    "all_reduce": (("tree", "ll", 1), ("ring", "ll", 2), ("tree", "simple", 4), ("ring", "ll128", 2),
                   ("tree", "simple", 1)),
}


def fingerprint(content):
    """FNV-1a of 64 bits, as in include/fabricast/core/fingerprint.hpp."""
    value = 0xCBF29CE484222325
    for byte in content:
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{value:016x}"


def write_profile(folder, name, ranks, faulty=False):
    """A profile for communicators of these numbers of ranks, one per node. Returns its path."""
    tables = []
    for count in ranks:
        for collective, choices in FORCED.items():
            overrides = [{"from": size, "to": 2 * size - 1, "algorithm": choice[0], "protocol": choice[1],
                          "channels": 65 if faulty else choice[2], "gain": [0.08, 0.15, 0.21]}
                         for size, choice in zip(CHECKED_SIZES, choices) if choice]
            tables.append({"collective": collective, "nodes": count, "ranks": count, "overrides": overrides})
    profile = {"format": "fabricast tuner profile", "version": 1, "fabricast": "0.2.0", "scenario": "on_gpu",
               "nccl": "2.28.9", "tables": tables}
    content = json.dumps(profile).encode()
    path = folder / f"{name}.{fingerprint(content)}.json"
    path.write_bytes(content)
    return str(path)


# --- A rank ---------------------------------------------------------------------------------------------------------


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]


class Nccl:
    """NCCL's functions, from the library that PyTorch has loaded."""

    def __init__(self):
        self.library = ctypes.CDLL("libnccl.so.2")
        pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
        for name, types in {
                "ncclGetVersion": [ctypes.POINTER(number)],
                "ncclGetUniqueId": [ctypes.POINTER(UniqueId)],
                "ncclCommInitRank": [ctypes.POINTER(pointer), number, UniqueId, number],
                "ncclCommDestroy": [pointer],
                "ncclGroupStart": [],
                "ncclGroupEnd": [],
                "ncclBroadcast": [pointer, pointer, size, number, number, pointer, pointer],
                "ncclReduce": [pointer, pointer, size, number, number, number, pointer, pointer],
                "ncclAllGather": [pointer, pointer, size, number, pointer, pointer],
                "ncclReduceScatter": [pointer, pointer, size, number, number, pointer, pointer],
                "ncclAllReduce": [pointer, pointer, size, number, number, pointer, pointer]}.items():
            getattr(self.library, name).argtypes = types

    def __call__(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result != 0:
            raise NcclError(name, result)

    def version(self):
        number = ctypes.c_int()
        self("ncclGetVersion", ctypes.byref(number))
        return f"{number.value // 10000}.{number.value // 100 % 100}.{number.value % 100}"


class NcclError(Exception):
    def __init__(self, name, result):
        super().__init__(f"{name}: result {result}")
        self.result = result


class Rank:
    """One rank of one communicator."""

    def __init__(self, nccl, folder, step, rank, ranks):
        import torch
        self.torch, self.nccl, self.rank, self.ranks = torch, nccl, rank, ranks
        self.stream = torch.cuda.Stream()
        unique = UniqueId()
        file = folder / f"id{step}"
        if rank == 0:
            nccl("ncclGetUniqueId", ctypes.byref(unique))
            (folder / "id.part").write_bytes(bytes(unique))
            (folder / "id.part").rename(file)
        while not file.exists():
            time.sleep(0.01)
        unique = UniqueId.from_buffer_copy(file.read_bytes())
        self.comm = ctypes.c_void_p()
        nccl("ncclCommInitRank", ctypes.byref(self.comm), ranks, unique, rank)

    def values(self, rank, first, count):
        """What a rank sends at indices from `first` on. Sums of these are exact."""
        torch = self.torch
        return torch.arange(first, first + count, device="cuda", dtype=torch.float32).remainder_(7).add_(rank + 1)

    def buffers(self, collective, size):
        """From, to, and the elements of the count that NCCL is given. `size` is NCCL's: the larger of both."""
        share = size // 4 // self.ranks
        sent = share if collective == "all_gather" else size // 4
        received = share if collective == "reduce_scatter" else size // 4
        data = self.values(self.rank, 0, sent)
        return data, self.torch.zeros(received, device="cuda"), min(sent, received)

    def expected(self, collective, size):
        count = size // 4
        share = count // self.ranks
        if collective == "broadcast":
            return self.values(ROOT, 0, count)
        if collective == "all_gather":
            return self.torch.cat([self.values(rank, 0, share) for rank in range(self.ranks)])
        first, length = (self.rank * share, share) if collective == "reduce_scatter" else (0, count)
        return sum(self.values(rank, first, length) for rank in range(self.ranks))

    def call(self, collective, data, out, count):
        stream, comm = ctypes.c_void_p(self.stream.cuda_stream), self.comm
        source, target = data.data_ptr(), out.data_ptr()
        if collective == "broadcast":
            self.nccl("ncclBroadcast", source, target, count, FLOAT, ROOT, comm, stream)
        elif collective == "reduce":
            self.nccl("ncclReduce", source, target, count, FLOAT, SUM, ROOT, comm, stream)
        elif collective == "all_gather":
            self.nccl("ncclAllGather", source, target, count, FLOAT, comm, stream)
        elif collective == "reduce_scatter":
            self.nccl("ncclReduceScatter", source, target, count, FLOAT, SUM, comm, stream)
        else:
            self.nccl("ncclAllReduce", source, target, count, FLOAT, SUM, comm, stream)

    def run(self, calls):
        """Runs the calls one by one. Returns whether each result is right."""
        right = []
        for collective, size in calls:
            data, out, count = self.buffers(collective, size)
            self.torch.cuda.synchronize()
            self.call(collective, data, out, count)
            self.torch.cuda.synchronize()
            received = collective != "reduce" or self.rank == ROOT
            right.append(not received or bool(self.torch.equal(out, self.expected(collective, size))))
        return right

    def capture(self, calls, groups):
        """Captures the calls, each on its own, then groups of (collective, size, number), and runs none."""
        most = max(size for _, size in calls)
        data = self.torch.zeros(most // 4, device="cuda")
        out = self.torch.zeros(most // 4, device="cuda")
        self.torch.cuda.synchronize()
        graph = self.torch.cuda.CUDAGraph()
        # NCCL connects channels when a choice first needs them, which other modes of capture forbid.
        with self.torch.cuda.graph(graph, stream=self.stream, capture_error_mode="relaxed"):
            for collective, size in calls:
                self.call(collective, data, out, self.count(collective, size))
            for collective, size, number in groups:
                self.nccl("ncclGroupStart")
                for _ in range(number):
                    self.call(collective, data, out, self.count(collective, size))
                self.nccl("ncclGroupEnd")
        graph.reset()  # NCCL keeps a communicator while graphs refer to it
        self.torch.cuda.synchronize()

    def count(self, collective, size):
        return size // 4 // (self.ranks if collective in ("all_gather", "reduce_scatter") else 1)


def run_step(nccl, folder, number, step, rank):
    """Runs a step of the plan on this rank. Returns what happened, with the part of the log that it wrote."""
    log = folder / f"rank{rank}.log"
    size_of_log = lambda: log.stat().st_size if log.exists() else 0
    done = {"begin": size_of_log()}
    for name, value in step["env"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    try:
        member = Rank(nccl, folder, number, rank, step["ranks"])
        # The first calls of each kind connect the ranks.
        done["warm"] = len(COLLECTIVES)
        member.run([(collective, 4 * KIB) for collective in COLLECTIVES])
        calls = [(collective, size) for collective in COLLECTIVES for size in step["sizes"]]
        if step["runs"]:
            done["right"] = member.run(calls)
        else:
            member.capture(calls, step["groups"])
        nccl("ncclCommDestroy", member.comm)
    except NcclError as error:
        done["error"], done["result"] = str(error), error.result
    done["end"] = size_of_log()
    return done


def work(folder, rank):
    import torch
    torch.cuda.set_device(0)
    torch.zeros(1, device="cuda")
    nccl = Nccl()
    steps = []
    for number, step in enumerate(json.loads((folder / "plan.json").read_text())):
        steps.append(run_step(nccl, folder, number, step, rank) if rank < step["ranks"] else None)
    about = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "nccl": nccl.version(), "steps": steps}
    (folder / f"rank{rank}.json").write_text(json.dumps(about))
    sys.stdout.flush()
    os._exit(0)  # a communicator that failed may wait for its peers for ever


# --- All ranks ------------------------------------------------------------------------------------------------------


def step_of(ranks, sizes, env, runs=False, groups=()):
    """A communicator of these ranks: the variables it begins with (None: unset), and whether its calls run."""
    return {"ranks": ranks, "sizes": list(sizes), "env": env, "runs": runs, "groups": list(groups)}


def launch(folder, ranks, steps, env, seconds):
    """Runs the steps in as many processes as there are ranks. Returns their reports by rank, or a fault."""
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in ("id*", "rank*", "record*"):
        for old in folder.glob(pattern):
            old.unlink()
    (folder / "plan.json").write_text(json.dumps(steps))
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("NCCL_", "FABRICAST_"))}
    processes = []
    for rank in range(ranks):
        own = {"NCCL_HOSTID": f"node{rank}", "NCCL_SOCKET_IFNAME": "lo", "NCCL_NET": "Socket",
               "NCCL_NET_PLUGIN": "none", "NCCL_MNNVL_ENABLE": "0", "NCCL_GRAPH_REGISTER": "0", "NCCL_DEBUG": "INFO",
               "NCCL_DEBUG_SUBSYS": "INIT,TUNING,COLL,ENV,GRAPH", "NCCL_DEBUG_FILE": str(folder / f"rank{rank}.log")}
        own.update({name: value.replace("{rank}", str(rank)) for name, value in env.items()})
        output = open(folder / f"rank{rank}.out", "w")
        processes.append(subprocess.Popen([sys.executable, __file__, "--rank", str(rank), "--output", str(folder)],
                                          env={**clean, **own}, stdout=output, stderr=subprocess.STDOUT))
    end = time.monotonic() + seconds
    while any(p.poll() is None for p in processes) and time.monotonic() < end:
        time.sleep(0.1)
        if any(p.poll() not in (None, 0) for p in processes):
            end = min(end, time.monotonic() + 5)
    late = [rank for rank, p in enumerate(processes) if p.poll() is None]
    for p in processes:
        if p.poll() is None:
            p.kill()
        p.wait()
    failed = [rank for rank, p in enumerate(processes) if p.returncode != 0]
    if late or failed:
        return None, f"{folder.name}: ranks {late} hung and ranks {failed} failed: see rank*.out and rank*.log there"
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(ranks)], None


CHOICE = re.compile(r"NCCL INFO (Broadcast|Reduce|AllGather|ReduceScatter|AllReduce): (\d+) Bytes -> "
                    r"Algo (\w+) proto (\w+) channel\{Lo\.\.Hi\}=\{(\d+)\.\.(\d+)\}")
LOGGED = {"Broadcast": "broadcast", "Reduce": "reduce", "AllGather": "all_gather", "ReduceScatter": "reduce_scatter",
          "AllReduce": "all_reduce"}


def part_of_log(folder, rank, done):
    with open(folder / f"rank{rank}.log", "rb") as log:
        log.seek(done["begin"])
        return log.read(done["end"] - done["begin"]).decode(errors="replace")


def choices_in(text, ranks):
    """What rank 0 logs about its calls, in order: (collective, NCCL's size, algorithm, protocol, channels)."""
    choices = []
    for name, size, algorithm, protocol, low, high in CHOICE.findall(text):
        collective = LOGGED[name]
        # NCCL logs the share of one rank.
        scale = ranks if collective in ("all_gather", "reduce_scatter") else 1
        choices.append((collective, int(size) * scale, algorithm.lower().replace("_", ""), protocol.lower(),
                        int(high) - int(low) + 1))
    return choices


def plugin_lines(text):
    return [line.split("NCCL INFO ", 1)[1] for line in text.splitlines() if "NCCL INFO fabricast: " in line]


def channels_of_communicator(text):
    found = re.search(r"(\d+) coll channels", text)
    return int(found.group(1)) if found else 0


def channels_used(collective, size, protocol, most):
    """Channels of one call: at most `most`, each with 16 KiB of traffic. All numbers are powers of two here."""
    traffic = size * (2 if collective == "all_reduce" else 1) * (4 if protocol == "ll" else 1)
    return min(most, max(1, traffic // (16 * KIB)))


def check_calls(name, folder, reports, index, step, own):
    """Compares a step with NCCL's own choices. Returns rows and faults."""
    ranks, done = step["ranks"], reports[0]["steps"][index]
    text = part_of_log(folder, 0, done)
    calls = [(collective, size) for collective in COLLECTIVES for size in step["sizes"]]
    choices = choices_in(text, ranks)[done["warm"]:]
    if [choice[:2] for choice in choices] != calls:
        return [], [f"{name}: the log has {len(choices)} choices for {len(calls)} calls, or in another order"]
    refused = set(re.findall(r"fabricast: (\w+) of [^:]*: NCCL does not allow (\w+)/(\w+) here", text))
    rows, faults = [], []
    most = channels_of_communicator(text)
    for i, choice in enumerate(choices):
        collective, size, algorithm, protocol, channels = choice
        forced = FORCED[collective][CHECKED_SIZES.index(size)] if step["runs"] else None
        allowed = forced and (collective, *forced[:2]) not in refused
        wanted = choice[:2] + own[i][2:]
        if allowed:
            channels_wanted = channels_used(collective, size, forced[1], min(forced[2], most))
            wanted = (collective, size, *forced[:2], channels_wanted)
        right = all(report["steps"][index]["right"][i] for report in reports[:ranks]) if step["runs"] else None
        rows.append({"collective": collective, "bytes": size, "algorithm": algorithm, "protocol": protocol,
                     "channels": channels, "nccl": list(own[i][2:]), "forced": forced and list(forced),
                     "allowed": bool(allowed) if forced else None, "right": right})
        if choice != wanted:
            faults.append(f"{name}: {choice} instead of {wanted}")
        if right is False:
            faults.append(f"{name}: {collective} of {size} B has a wrong result")
    return rows, faults


def check_lines(name, folder, reports, index, step):
    """Whether the plugin says the same on all ranks, and as much as it should."""
    lines = [sorted(plugin_lines(part_of_log(folder, rank, reports[rank]["steps"][index])))
             for rank in range(step["ranks"])]
    faults = [f"{name}: rank {rank} logs other lines than rank 0" for rank in range(step["ranks"])
              if lines[rank] != lines[0]]
    forced = sum(1 for choices in FORCED.values() for choice in choices if choice) if step["runs"] else 0
    if len(lines[0]) != 1 + forced:
        faults.append(f"{name}: {len(lines[0])} lines of the plugin instead of {1 + forced}")
    return lines[0], faults


def errors_of(name, reports, index, step):
    return [f"{name}, rank {rank}: {reports[rank]['steps'][index]['error']}" for rank in range(step["ranks"])
            if "error" in reports[rank]["steps"][index]]


def about(reports, begin):
    return {**{key: reports[0][key] for key in ("gpu", "torch", "nccl")}, "seconds": round(time.monotonic() - begin, 1)}


def check(folder, plugin):
    begin, sizes, variable = time.monotonic(), CHECKED_SIZES, "NCCL_TUNER_CONFIG_FILE"
    env = {"NCCL_MIN_NCHANNELS": "8"}
    # NCCL's own choices by number of ranks.
    own_steps = [step_of(ranks, sizes, {}) for ranks in (2, 4)]
    reports, fault = launch(folder / "own", 4, own_steps, {**env, "NCCL_TUNER_PLUGIN": "none"}, 60)
    if fault:
        return {"faults": [fault]}
    faults, own = [], {}
    for index, step in enumerate(own_steps):
        faults += errors_of(f"without a tuner, {step['ranks']} ranks", reports, index, step)
        done = reports[0]["steps"][index]
        own[step["ranks"]] = choices_in(part_of_log(folder / "own", 0, done), step["ranks"])[done.get("warm", 0):]
        if len(own[step["ranks"]]) != len(COLLECTIVES) * len(sizes):
            faults.append(f"without a tuner, {step['ranks']} ranks: the log has {len(own[step['ranks']])} choices")
    if faults:
        return {"faults": faults}

    good = write_profile(folder, "good", (2, 4))
    bad = write_profile(folder, "bad", (2, 4), faulty=True)
    steps = [step_of(2, sizes, {variable: None}), step_of(4, sizes, {variable: None}),
             step_of(2, sizes, {variable: good}, runs=True), step_of(4, sizes, {variable: good}, runs=True),
             step_of(2, sizes, {variable: bad, "FABRICAST_TUNER_STRICT": "1"})]
    reports, fault = launch(folder / "tuned", 4, steps, {**env, "NCCL_TUNER_PLUGIN": str(plugin)}, 120)
    if fault:
        return {"faults": [fault]}
    parts = []
    for index, step in enumerate(steps[:4]):
        name = f"{'with a' if step['runs'] else 'without a'} profile, {step['ranks']} ranks"
        errors = errors_of(name, reports, index, step)
        faults += errors
        if errors:
            continue
        rows, wrong = check_calls(name, folder / "tuned", reports, index, step, own[step["ranks"]])
        lines, more = check_lines(name, folder / "tuned", reports, index, step)
        faults += wrong + more
        text = part_of_log(folder / "tuned", 0, reports[0]["steps"][index])
        parts.append({"name": name, "channels": channels_of_communicator(text), "lines": lines, "calls": rows})
    for rank in range(2):
        if reports[rank]["steps"][4].get("result") != INVALID_USAGE:
            faults.append(f"strict: rank {rank} did not fail with ncclInvalidUsage: {reports[rank]['steps'][4]}")
    forced = [row for part in parts for row in part["calls"] if row["allowed"]]
    if not forced:
        faults.append("nothing was forced")
    otherwise = sum(row["nccl"] != [row["algorithm"], row["protocol"], row["channels"]] for row in forced)
    return {"faults": faults, "forced_calls": len(forced), "forced_otherwise_than_nccl": otherwise,
            **about(reports, begin), "parts": parts}


def communicators_of(lines):
    """The lines of a recorder, a list for each communicator: its first line is that of `init`."""
    communicators = []
    for line in lines:
        if "init" in line:
            communicators.append([])
        communicators[-1].append({key: value for key, value in line.items() if key not in ("init", "call")})
    return communicators


def record(folder, plugin):
    begin = time.monotonic()
    groups = [("all_reduce", size, number) for size in (4 * KIB, MIB) for number in (2, 8, 32)]
    dumps = lambda ranks: {"NCCL_GRAPH_DUMP_FILE": str(folder / f"graph{ranks}.xml"),
                           "NCCL_TOPO_DUMP_FILE": str(folder / f"topology{ranks}.xml")}
    steps = [step_of(ranks, RECORDED_SIZES, dumps(ranks), groups=groups) for ranks in (2, 4, 8)]
    env = {"NCCL_TUNER_PLUGIN": str(plugin), "FABRICAST_RECORD": str(folder / "record{rank}.jsonl")}
    reports, fault = launch(folder, 8, steps, env, 240)
    if fault:
        return {"faults": [fault]}
    records = [[json.loads(line) for line in (folder / f"record{rank}.jsonl").read_text().splitlines()]
               for rank in range(8)]
    # A recorder is loaded anew for each communicator, so its own counts start again.
    tables_of = [communicators_of(lines) for lines in records]
    faults, parts = [], []
    for index, step in enumerate(steps):
        faults += errors_of(f"{step['ranks']} ranks", reports, index, step)
        tables = [tables_of[rank].pop(0) for rank in range(step["ranks"])]
        # What the plugin rests on: all ranks are asked the same.
        differing = [rank for rank, table in enumerate(tables) if table != tables[0]]
        if differing:
            faults.append(f"{step['ranks']} ranks: ranks {differing} were asked otherwise than rank 0")
        text = part_of_log(folder, 0, reports[0]["steps"][index])
        parts.append({"ranks": step["ranks"], "lines": len(tables[0]), "channels": channels_of_communicator(text),
                      "most_pipelined": max((line.get("pipelined", 0) for line in tables[0]), default=0)})
    return {"faults": faults, **about(reports, begin), "parts": parts}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", type=lambda text: pathlib.Path(text).resolve(), help="the tuner plugin")
    parser.add_argument("--output", type=lambda text: pathlib.Path(text).resolve(), required=True, help="folder")
    parser.add_argument("--record", action="store_true", help="record NCCL's cost tables")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank is not None:
        work(options.output, options.rank)
    if not options.plugin or not options.plugin.exists():
        parser.error("--plugin names no file")
    options.output.mkdir(parents=True, exist_ok=True)
    summary = (record if options.record else check)(options.output, options.plugin)
    summary = {"passed": not summary["faults"], **summary}
    (options.output / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    print(json.dumps({key: value for key, value in summary.items() if key != "parts"}, indent=1))
    sys.exit(0 if summary["passed"] else 1)


if __name__ == "__main__":
    main()
