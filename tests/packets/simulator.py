"""Runs a program of htsim once, and writes tables of such runs, for queues.py and reorder.py."""
import argparse
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from study import HERE, RATE

# EQDS and Ultra Ethernet name the flow, RoCE does not.
ENDED = re.compile(r"^Flow \w+ flowId (\d+) .*?finished at ([0-9.e+]+)")


def topology(leaves, per_leaf, spines, latency):
    return "\n".join([
        f"Nodes {leaves * per_leaf}", "Tiers 2", f"Podsize {leaves * per_leaf}", "",
        "Tier 0", f"Downlink_speed_Gbps {RATE}", f"Radix_Down {per_leaf}", f"Radix_Up {spines}",
        f"Downlink_Latency_ns {latency}", "Switch_Latency_ns 0", f"Oversubscribed {per_leaf // spines}", "",
        "Tier 1", f"Downlink_speed_Gbps {RATE}", f"Radix_Down {leaves}", f"Downlink_Latency_ns {latency}",
        "Switch_Latency_ns 0", ""])


class Simulator:
    def __init__(self, htsim, uet):
        self.folder = {"htsim_roce": htsim, "htsim_eqds": htsim, "htsim_uec": uet}
        self.kept = tempfile.TemporaryDirectory()
        self.work = pathlib.Path(self.kept.name)
        self.clock = self.work / "fixed_time.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.clock, HERE / "fixed_time.c"], check=True)

    def run(self, command, hosts, seed, flows, fabric, triggers=(), end=100000, **options):
        """What the program prints. Options of the changed program by their names without PACKETS_."""
        program, *given = command.split()
        (self.work / "run.cm").write_text("\n".join(
            [f"Nodes {hosts}", f"Connections {len(flows)}", f"Triggers {len(triggers)}", *flows, *triggers, ""]))
        (self.work / "run.topo").write_text(fabric)
        given += (f"-nodes {hosts} -linkspeed {RATE * 1000} -end {end} -seed {seed} -topo run.topo -tm run.cm "
                  "-o run.log").split()
        environment = {"LD_PRELOAD": str(self.clock), "PACKETS_TIME": str(seed), "PACKETS_SEED": str(seed)}
        environment |= {f"PACKETS_{name.upper()}": str(value) for name, value in options.items()}
        done = subprocess.run([self.folder[program] / program, *given], cwd=self.work, env=environment, text=True,
                              capture_output=True)
        if done.returncode != 0:
            sys.exit(f"{command} {given} {options}: status {done.returncode}")
        return done.stdout.splitlines()


def ends_by_id(told):
    return {int(m[1]): float(m[2]) for m in map(ENDED.match, told) if m}


def summary(waits, digits=2):
    """Mean, median and the value that one in twenty exceeds, as cells."""
    high = sorted(waits)[min(len(waits) - 1, int(0.95 * len(waits)))]
    return ",".join(f"{us:.{digits}f}" for us in (statistics.mean(waits), statistics.median(waits), high))


def write_tables(doc, tables):
    """The scripts' main: writes each of (name, function of the simulator that gives its lines)."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--htsim", type=pathlib.Path, required=True, help="folder of htsim_roce and htsim_eqds")
    parser.add_argument("--uet", type=pathlib.Path, required=True, help="folder of htsim_uec")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the tables")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    simulator = Simulator(given.htsim.resolve(), given.uet.resolve())
    for name, table in tables:
        (given.out / f"{name}.csv").write_text("\n".join(table(simulator)) + "\n")
        print(name, flush=True)
