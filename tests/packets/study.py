#!/usr/bin/env python3
"""Runs collectives packet by packet in htsim and writes their times as tables.

    study.py --htsim DIR --uet DIR --dcqcn DIR --out tests/data/packets [--work DIR] [--only WORD] [--list]

The folders hold the programs htsim_roce and htsim_eqds, htsim_uec, and htsim_dcqcn. Finished runs are kept in the work
directory, so that a study which was stopped goes on where it was. The tables are equal bytes on every machine. See README.md.
"""
import argparse
import hashlib
import json
import pathlib
import random
import re
import subprocess
import sys
from dataclasses import dataclass

import traffic
from choices import DcqcnEcmp, RoceEcmp, UecEcmp

HERE = pathlib.Path(__file__).parent
COMMITS = {
    "htsim_roce": "Broadcom/csg-htsim 841d9e7be46bb968eece766aa4b6c044c7799f67",
    "htsim_eqds": "Broadcom/csg-htsim 841d9e7be46bb968eece766aa4b6c044c7799f67",
    "htsim_uec": "ultraethernet/uet-htsim 40ccb0526bb6297eeb22ab33f9934fb35278dbaf",
    "htsim_dcqcn": "ultraethernet/uet-htsim 40ccb0526bb6297eeb22ab33f9934fb35278dbaf, changed",
}

PAYLOAD, HEADER = 4096, 64  # bytes of a packet: an RDMA message's share, and htsim's own headers
RATE = 400  # Gbit/s of every link
LATENCY = 500  # ns of every link, with the switch at its end
QUEUE = {"ecmp": 5000, "flowlet": 200}  # packets of a lossless port's queue; adaptive routing compares its filling
PFC = (20, 25)  # packets below which a port's ingress resumes, and beyond which it pauses
# With DCQCN marks come first: a pause at 1 MB, what each of 64 ports has of the 64 MB of a switch for 400 Gb/s.
PFC_DCQCN = (200, 240)
# Marks as [NVIDIA-roce] sets them, whatever the rate: none up to 150 KB, all above 1.5 MB. NICs as [NVIDIA-dcqcn] ships
# them: a notification and a cut at most every 4 us, by at most a half; alpha with g = 5/1024 every 1 us; the rate rises
# every 300 us and every 2 MB (32767 x 64 bytes), once half way to the target, then with targets 5 and 50 Mb/s higher.
DCQCN = ("kmin=150e3,kmax=1500e3,pmax=1,cnp=4,gap=4,keep=0.5,clamp=0,alpha=1,g=0.0048828125,timer=300,bytes=2097088,"
         "f=1,ai=5,hai=50,least=1")
# Bytes that go back for each packet: an acknowledgement (roce), one for four packets (uec), and a credit (eqds).
BACK = {"roce": 64, "dcqcn": 64, "uec": 16, "eqds": 64 + 16}
SEEDS = range(1, 6)
MEBI = 1 << 20


@dataclass
class Case:
    name: str
    # roce: RoCE over PFC, senders at line rate. dcqcn: the same, and senders react to marks. uec: Ultra Ethernet, whose
    # senders react to delay and ECN (NSCC). eqds: credits of the receiver. The last two trim packets where a queue is full.
    transport: str
    routing: str  # ecmp, flowlet; spray, adaptive: by packet
    leaves: int
    hosts_per_leaf: int
    spines: int
    kind: str
    bytes: int
    degree: int = 0  # of an incast
    pfc: tuple = PFC

    @property
    def hosts(self):
        return self.leaves * self.hosts_per_leaf


def cases():
    listed = []

    def add(transport, routing, kind, fabric, size, degree=0, pfc=PFC, note=""):
        leaves, hosts_per_leaf, spines = fabric
        ratio = hosts_per_leaf // spines
        name = f"{transport}_{routing}_{kind}{degree or ''}_{leaves * hosts_per_leaf}_{ratio}to1{note}"
        listed.append(Case(name, transport, routing, leaves, hosts_per_leaf, spines, kind, size, degree, pfc))

    def small(ratio):
        return 8, 8, 8 // ratio

    def medium(ratio):
        return 16, 8, 8 // ratio

    for transport, routing in (("roce", "ecmp"), ("uec", "ecmp"), ("uec", "spray")):
        for kind in ("permutation", "ring", "tree"):
            for ratio in (1, 2, 4, 8):
                add(transport, routing, kind, small(ratio), 4 * MEBI)
            for ratio in (1, 4):
                add(transport, routing, kind, medium(ratio), 4 * MEBI)
        for ratio in (1, 2, 4):
            add(transport, routing, "alltoall", small(ratio), 1 << 17)
    for transport, routing in (("roce", "ecmp"), ("uec", "spray")):
        add(transport, routing, "permutation", (32, 16, 16), 2 * MEBI)
    add("roce", "ecmp", "ring", (32, 16, 4), 2 * MEBI)
    add("roce", "ecmp", "permutation", (32, 32, 32), 2 * MEBI)
    for transport, routing in (("roce", "ecmp"), ("uec", "spray")):
        for degree in (4, 8, 16, 32):
            add(transport, routing, "incast", small(1), 4 * MEBI, degree)
        for degree in (2, 4, 7, 14, 28):
            add(transport, routing, "bystanders", small(1), 4 * MEBI, degree)
    for kind in ("permutation", "ring", "tree"):
        for ratio in (1, 4):
            add("uec", "adaptive", kind, small(ratio), 4 * MEBI)
    add("uec", "adaptive", "alltoall", small(1), 1 << 17)
    for degree in (4, 14):
        add("roce", "ecmp", "bystanders", small(1), 4 * MEBI, degree, (60, 75), "_deep")
    for kind in ("permutation", "ring"):
        for ratio in (1, 2):
            add("roce", "flowlet", kind, small(ratio), 4 * MEBI)
    for kind in ("permutation", "ring"):
        for ratio in (1, 4):
            add("eqds", "spray", kind, small(ratio), 4 * MEBI)
    for degree in (8, 32):
        add("eqds", "spray", "incast", small(1), 4 * MEBI, degree)
    dcqcn_cases(add, small, medium)
    return listed


def dcqcn_cases(add, small, medium):
    """Flows of 64 MiB, and shorter ones, because senders need milliseconds to find their rates."""
    def run(kind, ratio, mebibytes=64, degree=0, fabric=small):
        note = "" if mebibytes == 64 else f"_{mebibytes}mib"
        add("dcqcn", "ecmp", kind, fabric(ratio), mebibytes * MEBI, degree, PFC_DCQCN, note)

    for kind in ("permutation", "ring", "tree"):
        for ratio in (1, 2, 4, 8):
            run(kind, ratio)
        for ratio in (1, 4) if kind != "tree" else (1,):
            run(kind, ratio, fabric=medium)
    for ratio in (1, 2, 4):
        run("alltoall", ratio, 1)
    for mebibytes in (4, 16):
        for ratio in (1, 4):
            run("permutation", ratio, mebibytes)
    for mebibytes in (4, 64):
        run("incast", 1, mebibytes, 8)
        for degree in (4, 14):
            run("bystanders", 1, mebibytes, degree)
    run("bystanders", 1, 4, 28)


def flows_of(case, seed):
    """The flows of a run, each with its spine where the simulator's choice is known."""
    draw = random.Random(f"{case.kind} {case.degree} {case.hosts} {seed}")
    hosts, below = case.hosts, case.hosts_per_leaf
    if case.kind in ("incast", "bystanders"):
        flows = traffic.incast(hosts, case.degree, case.bytes, draw, below)
    else:
        flows = getattr(traffic, case.kind)(hosts, case.bytes, draw)
    for i, flow in enumerate(flows):
        flow.number = i + 1
    if case.transport == "dcqcn":
        beside = 4 if case.kind == "bystanders" else 0
        choices = DcqcnEcmp(case.leaves, below, case.spines, seed, flows, len(flows) + beside)
    elif case.transport == "uec" and case.routing == "ecmp":
        choices = UecEcmp(case.leaves, below, case.spines, seed, flows)
    else:
        choices = RoceEcmp(case.leaves, below, case.spines, seed, seed, flows)
    for flow in flows:
        flow.spine = choices.spine(flow.source, flow.target, flow.number)
    if case.kind == "bystanders":
        flows += traffic.bystanders(flows, hosts, below, case.spines, case.bytes, choices.spine, draw)
    return flows


def topology_text(case):
    return "\n".join([
        f"Nodes {case.hosts}", "Tiers 2", f"Podsize {case.hosts}", "",
        "Tier 0", f"Downlink_speed_Gbps {RATE}", f"Radix_Down {case.hosts_per_leaf}", f"Radix_Up {case.spines}",
        f"Downlink_Latency_ns {LATENCY}", "Switch_Latency_ns 0",
        f"Oversubscribed {case.hosts_per_leaf // case.spines}", "",
        "Tier 1", f"Downlink_speed_Gbps {RATE}", f"Radix_Down {case.leaves}", f"Downlink_Latency_ns {LATENCY}",
        "Switch_Latency_ns 0", ""])


def matrix_text(case, flows):
    lines = [f"{f.source}->{f.target} id {f.number} start 0 size {f.bytes}" for f in flows]
    return "\n".join([f"Nodes {case.hosts}", f"Connections {len(flows)}"] + lines + [""])


def command_of(case, seed):
    """The program and its options, without the names of files."""
    common = f"-nodes {case.hosts} -linkspeed {RATE * 1000} -end 200000 -seed {seed}"
    if case.transport == "dcqcn":
        return (f"htsim_dcqcn {common} -mtu {PAYLOAD} -q 50000 -pfc_thresholds {case.pfc[0]} {case.pfc[1]} "
                f"-strat ecmp_host -paths 64 -dcqcn 0 -dcqcn_parameters {DCQCN}")
    if case.transport == "roce":
        strategy = {"ecmp": "ecmp_host -paths 64", "flowlet": "ecmp_ar"}[case.routing]
        return (f"htsim_roce {common} -mtu {PAYLOAD} -q {QUEUE[case.routing]} "
                f"-pfc_thresholds {case.pfc[0]} {case.pfc[1]} -strat {strategy}")
    options = {"spray": "", "adaptive": " -strat ecmp_ar -load_balancing_algo oblivious -paths 1",
               "ecmp": " -load_balancing_algo oblivious -paths 1"}
    if case.transport == "uec":
        return f"htsim_uec {common} -sender_cc_only -mtu {PAYLOAD + HEADER}{options[case.routing]}"
    return f"htsim_eqds {common} -mtu {PAYLOAD + HEADER} -strat ecmp_host -paths 64"


FINISHED = re.compile(r"^\.*Flow (?:Roce|Eqds|Uec)_(\d+)_(\d+) .*?finished at ([0-9.e+]+)")

LOST = re.compile(r"^New: \d+ Rtx: (\d+)")


class Runner:
    def __init__(self, htsim, uet, dcqcn, work):
        self.folder = {"htsim_roce": htsim, "htsim_eqds": htsim, "htsim_uec": uet, "htsim_dcqcn": dcqcn}
        self.work = work
        work.mkdir(parents=True, exist_ok=True)
        self.clock = work / "fixed_time.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.clock, HERE / "fixed_time.c"], check=True)

    def times(self, case, seed, flows):
        """us, by (source, target). Kept, by all that a run depends on."""
        command, topology, matrix = command_of(case, seed), topology_text(case), matrix_text(case, flows)
        key = hashlib.sha256("\n".join([COMMITS[command.split()[0]], command, str(seed), topology, matrix]).encode()).hexdigest()[:24]
        kept = self.work / f"{key}.json"
        if not kept.exists():
            found = self.run(command, seed, topology, matrix)
            if len(found) != len(flows):
                sys.exit(f"{case.name}, seed {seed}: {len(found)} of {len(flows)} flows ended")
            partial = kept.with_suffix(".part")
            partial.write_text(json.dumps(found))
            partial.rename(kept)
        return {(a, b): us for a, b, us in json.loads(kept.read_text())}

    def run(self, command, seed, topology, matrix):
        (self.work / "run.topo").write_text(topology)
        (self.work / "run.cm").write_text(matrix)
        program, *options = command.split()
        if not self.folder[program]:
            sys.exit(f"{program} is in no folder that was given")
        done = subprocess.Popen(
            [self.folder[program] / program, *options, "-topo", "run.topo", "-tm", "run.cm", "-o", "run.log"],
            cwd=self.work, env={"LD_PRELOAD": str(self.clock), "PACKETS_TIME": str(seed), "PACKETS_SEED": str(seed)}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        found = []
        for line in done.stdout:
            lost = LOST.match(line)
            if lost and program in ("htsim_roce", "htsim_dcqcn") and "ecmp_host" in command and lost[1] != "0":
                sys.exit(f"{command}: {lost[1]} packets were sent again, without loss and on one path each")
            ended = FINISHED.match(line)
            if ended:
                found.append((int(ended[1]), int(ended[2]), float(ended[3])))
        if done.wait() != 0:
            sys.exit(f"{command}: ended with {done.returncode}")
        return found


def letter(spine):
    return "." if spine is None else "0123456789abcdefghijklmnopqrstuvwxyz"[spine]


def table_of(case, results):
    """One line for each source and role: its targets, the spines of these flows, and when they ended."""
    known = case.routing == "ecmp"
    command = command_of(case, "SEED")
    lines = [
        f"# {COMMITS[command.split()[0]]}: {command}",
        "# by tests/packets/study.py; the clock is fixed at second SEED",
        f"# transport={case.transport} routing={case.routing} kind={case.kind} leaves={case.leaves} "
        f"hosts_per_leaf={case.hosts_per_leaf} spines={case.spines} gbps={RATE} latency_ns={LATENCY} "
        f"payload={PAYLOAD} header={HEADER} back={BACK[case.transport]} bytes={case.bytes} degree={case.degree}",
        "seed,role,source,targets,spines,last_us,mean_us",
    ]
    for seed, flows, times in results:
        of = {}
        for flow in flows:
            of.setdefault((flow.role, flow.source), []).append(flow)
        for (role, source), sent in of.items():
            sent.sort(key=lambda flow: flow.target)
            every = [target for target in range(case.hosts) if target != source]
            targets = [flow.target for flow in sent]
            named = "*" if targets == every else " ".join(map(str, targets))
            spines = "".join(letter(flow.spine) for flow in sent) if known else ""
            ended = [times[flow.source, flow.target] for flow in sent]
            mean = f"{sum(ended) / len(ended):.6g}" if len(ended) > 1 else ""
            lines.append(f"{seed},{role},{source},{named},{spines},{max(ended):.6g},{mean}")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--htsim", type=pathlib.Path, help="folder of htsim_roce and htsim_eqds")
    parser.add_argument("--uet", type=pathlib.Path, help="folder of htsim_uec")
    parser.add_argument("--dcqcn", type=pathlib.Path, help="folder of htsim_dcqcn")
    parser.add_argument("--out", type=pathlib.Path, help="folder for the tables")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("/tmp/fabricast-packets"))
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    given = parser.parse_args()
    wanted = [case for case in cases() if given.only in case.name]
    if given.list:
        print("\n".join(case.name for case in wanted))
        return
    if not given.out:
        parser.error("--out is required")
    folders = [folder and folder.resolve() for folder in (given.htsim, given.uet, given.dcqcn)]
    runner = Runner(*folders, given.work.resolve())
    given.out.mkdir(parents=True, exist_ok=True)
    for case in wanted:
        results = []
        for seed in SEEDS:
            flows = flows_of(case, seed)
            results.append((seed, flows, runner.times(case, seed, flows)))
        (given.out / f"{case.name}.csv").write_text(table_of(case, results))
        print(case.name, *(f"{max(times.values()):.0f}" for _, _, times in results), "us", flush=True)


if __name__ == "__main__":
    main()
