#!/usr/bin/env python3
"""Runs RoCE that loses packets in htsim and writes what it cost as tables.

    lossy.py --htsim DIR --out tests/data/packets/lossy

The folder holds htsim_roce with the changes that README.md describes. Takes six minutes on one core.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

from study import COMMITS, FINISHED, HEADER, HERE, MEBI, PAYLOAD, RATE, SEEDS

HOSTS, LEAVES, PER_LEAF = 64, 8, 8
TIMEOUT = 1000  # us
JITTER = 0.2  # of the time between two packets: without it the same packets meet a full queue each time
LOSSY = re.compile(r"^Lossy: sent (\d+) lost (\d+) dropped (\d+) asked (\d+) timeouts (\d+)")
RECOVERY = {0: "go_back_n", 1: "selective_repeat"}


def topology(latency):
    return "\n".join([
        f"Nodes {HOSTS}", "Tiers 2", f"Podsize {HOSTS}", "",
        "Tier 0", f"Downlink_speed_Gbps {RATE}", f"Radix_Down {PER_LEAF}", f"Radix_Up {PER_LEAF}",
        f"Downlink_Latency_ns {latency}", "Switch_Latency_ns 0", "Oversubscribed 1", "",
        "Tier 1", f"Downlink_speed_Gbps {RATE}", f"Radix_Down {LEAVES}", f"Downlink_Latency_ns {latency}",
        "Switch_Latency_ns 0", ""])


def pairs(size):
    """Every second host sends to its neighbour: no queue, and nothing on the way back but acknowledgements."""
    return [(2 * i, 2 * i + 1, size) for i in range(HOSTS // 2)]


def incasts(degree, receivers, size):
    """To each of the first hosts of leaf 0, from hosts of as many other leaves; nobody sends twice."""
    return [(PER_LEAF * (1 + i % (LEAVES - 1)) + r * (1 + (degree - 1) // (LEAVES - 1)) + i // (LEAVES - 1), r, size)
            for r in range(receivers) for i in range(degree)]


class Runner:
    def __init__(self, program, work):
        self.program, self.work = program, work
        self.clock = work / "fixed_time.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.clock, HERE / "fixed_time.c"], check=True)

    def run(self, flows, seed, latency=500, queue=5000, **options):
        """(sent, lost, dropped, asked, timeouts), mean and last end of flows in us."""
        lines = [f"{a}->{b} id {i + 1} start 0 size {size}" for i, (a, b, size) in enumerate(flows)]
        (self.work / "run.cm").write_text("\n".join([f"Nodes {HOSTS}", f"Connections {len(flows)}", *lines, ""]))
        (self.work / "run.topo").write_text(topology(latency))
        environment = {"LD_PRELOAD": str(self.clock), "PACKETS_TIME": str(seed), "PACKETS_SEED": str(seed),
                       "PACKETS_DROP": "1", "PACKETS_RTO_US": str(TIMEOUT)}
        environment |= {f"PACKETS_{name.upper()}": str(value) for name, value in options.items()}
        command = (f"-nodes {HOSTS} -linkspeed {RATE * 1000} -end 900000 -seed {seed} -mtu {PAYLOAD} -strat ecmp_host "
                   f"-paths 64 -queue_type composite -q {queue} -topo run.topo -tm run.cm -o run.log")
        done = subprocess.run([self.program, *command.split()], cwd=self.work, env=environment, text=True,
                              capture_output=True)
        ends = [float(m[3]) for m in map(FINISHED.match, done.stdout.splitlines()) if m]
        counts = [m for m in map(LOSSY.match, done.stdout.splitlines()) if m]
        if done.returncode != 0 or len(ends) != len(flows) or len(counts) != 1:
            sys.exit(f"{options}: {len(ends)} of {len(flows)} flows ended, status {done.returncode}")
        return [int(n) for n in counts[0].groups()], sum(ends) / len(ends), max(ends)


def head(what, columns):
    return [f"# {COMMITS['htsim_roce']}, changed as tests/packets/README.md says; by tests/packets/lossy.py",
            f"# {what}; {RATE} Gb/s, payload {PAYLOAD}, header {HEADER}, timeout {TIMEOUT} us", ",".join(columns)]


def random_loss(runner):
    flows = pairs(16 * MEBI)
    packets = sum(size for *_, size in flows) // PAYLOAD
    lines = head("32 pairs of hosts below their leaf, 16 MiB each; pipes lose packets, two on each way",
                 ["recovery", "latency_ns", "loss", "seed", "packets", "sent", "asked", "timeouts", "mean_us",
                  "last_us"])
    for selective in (0, 1):
        for latency in (500, 2000, 5000):
            for loss in (1e-4, 1e-3, 1e-2):
                for seed in SEEDS:
                    (sent, _, _, asked, timeouts), mean, last = runner.run(flows, seed, latency, loss=loss,
                                                                           selective=selective)
                    lines.append(f"{RECOVERY[selective]},{latency},{loss:g},{seed},{packets},{sent},{asked},{timeouts},"
                                 f"{mean:.6g},{last:.6g}")
    return lines


def overload(runner):
    lines = head("4 MiB from each sender to one host at line rate; a queue of its own for each port, in packets",
                 ["recovery", "degree", "queue", "seed", "packets", "sent", "dropped", "timeouts", "last_us"])
    for selective in (0, 1):
        for degree in (2, 4, 8, 16):
            for queue in (25, 100, 400):
                for seed in SEEDS:
                    flows = incasts(degree, 1, 4 * MEBI)
                    (sent, _, dropped, _, timeouts), _, last = runner.run(flows, seed, queue=queue, jitter=JITTER,
                                                                          selective=selective)
                    lines.append(f"{RECOVERY[selective]},{degree},{queue},{seed},{degree * 4 * MEBI // PAYLOAD},{sent},"
                                 f"{dropped},{timeouts},{last:.6g}")
    return lines


def buffer(runner):
    lines = head("4 MiB from each of two hosts to each receiver of a leaf, whose ports share memory with alpha 1",
                 ["receivers", "shared_bytes", "seed", "packets", "dropped"])
    for receivers in (1, 2):
        for shared in (1 << 20, 2 << 20, 4 << 20, 16 << 20):
            for seed in SEEDS:
                flows = incasts(2, receivers, 4 * MEBI)
                (_, _, dropped, _, _), _, _ = runner.run(flows, seed, shared=shared, alpha=1)
                lines.append(f"{receivers},{shared},{seed},{receivers * 2 * 4 * MEBI // PAYLOAD},{dropped}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--htsim", type=pathlib.Path, required=True, help="folder of htsim_roce")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the tables")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        runner = Runner(given.htsim.resolve() / "htsim_roce", pathlib.Path(work))
        for name, table in (("random_loss", random_loss), ("overload", overload), ("buffer", buffer)):
            (given.out / f"{name}.csv").write_text("\n".join(table(runner)) + "\n")
            print(name, flush=True)


if __name__ == "__main__":
    main()
