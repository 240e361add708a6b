#!/usr/bin/env python3
"""Sends small messages over links that others keep full, in htsim, and writes how long they waited.

    queues.py --htsim DIR --uet DIR --out tests/data/packets/queues

The folders hold the programs htsim_roce and htsim_eqds, and htsim_uec. See README.md.
"""
import random
import re
import sys

from simulator import ends_by_id, summary, topology, write_tables
from study import COMMITS, HEADER, PAYLOAD, RATE, SEEDS

LEAVES, PER_LEAF, SPINES = 4, 16, 1
HOSTS = LEAVES * PER_LEAF
PACKET = (PAYLOAD + HEADER) * 8 / RATE / 1e3  # us
PROBES, FIRST, APART = 40, 100, 20  # of each run; us until the first one, and from one to the next
BUSY = FIRST + PROBES * APART  # us that the long flows take, at least
CLOCK = (10, 11)  # hosts whose flows tell htsim_roce, which starts every flow at once, when the next probe starts
PFC = {"roce": (20, 25), "roce_deep": (60, 75)}
STARTED = re.compile(r"^startflow Roce_(\d+)_(\d+) at ([0-9.e+]+)")
ENDED = re.compile(r"^Flow Roce_(\d+)_(\d+) \d+ finished at ([0-9.e+]+)")


def long_flows(place, senders):
    """The flows that keep a link full, and the probe's two hosts, which have no other part in it.

    port: the port of a receiver, to which hosts below the same leaf send. uplink: that of a leaf to the only spine.
    both: an uplink, and then the link from the spine down to another leaf, full of flows from the uplinks of two others.
    """
    if place == "port":
        return [(1 + i, 0) for i in range(senders)], (14, 0)
    up = [(i, PER_LEAF + i) for i in range(senders)]
    if place == "uplink":
        return up, (12, PER_LEAF + 12)
    down = [(leaf * PER_LEAF + 6 + i, 3 * PER_LEAF + 6 * leaf - 6 + i) for leaf in (1, 2) for i in range((senders + 1) // 2)]
    return up + down, (12, 3 * PER_LEAF + 12)


def bytes_of_each(senders):
    packets = BUSY * 1e-6 * RATE * 1e9 / 8 / (PAYLOAD + HEADER)
    return int(packets / max(senders, 1)) * PAYLOAD


def roce(simulator, pfc, place, senders, latency, size, seed):
    """us of each probe that all long flows outlive. A probe starts when a flow between two other hosts ends."""
    flows, probe = long_flows(place, senders)
    draw = random.Random(f"{place} {senders} {seed}")
    lines = [f"{a}->{b} id {i + 1} start 0 size {bytes_of_each(senders)}" for i, (a, b) in enumerate(flows)]
    for k in range(PROBES):
        us = draw.uniform(0.5, 1.5) * APART + (FIRST if k == 0 else 0)
        packets = max(1, int(us * 1e-6 * RATE * 1e9 / 8 / (PAYLOAD + HEADER)))
        begin = f"trigger {k}" if k else "start 0"
        lines.append(f"{CLOCK[0]}->{CLOCK[1]} id {1001 + 2 * k} {begin} size {packets * PAYLOAD} send_done_trigger {k + 1}")
        lines.append(f"{probe[0]}->{probe[1]} id {1002 + 2 * k} trigger {k + 1} size {size}")
    told = simulator.run(f"htsim_roce -mtu {PAYLOAD} -q 5000 -pfc_thresholds {pfc[0]} {pfc[1]} -strat ecmp_host -paths 64",
                         HOSTS, seed, lines, topology(LEAVES, PER_LEAF, SPINES, latency),
                         [f"trigger id {t} oneshot" for t in range(1, PROBES + 1)])
    started = [float(m[3]) for m in map(STARTED.match, told) if m and (int(m[1]), int(m[2])) == probe]
    ended = [(int(m[1]), int(m[2]), float(m[3])) for m in map(ENDED.match, told) if m]
    after = [us for a, b, us in ended if (a, b) == probe]
    busy = min((us for a, b, us in ended if (a, b) in flows), default=float("inf"))
    if len(started) != PROBES or len(after) != PROBES:
        sys.exit(f"{place} {senders}: {len(after)} of {PROBES} probes ended")
    return [b - a for a, b in zip(started, after) if b <= busy]


def others(simulator, transport, place, senders, latency, size, seed, only=None):
    """The same for programs that start flows when they are told to; `only` one of the probes."""
    flows, probe = long_flows(place, senders)
    draw = random.Random(f"{place} {senders} {seed}")
    unit = {"uec": 1, "eqds": 1000000}[transport]
    starts = [FIRST + APART * k + draw.randrange(APART // 2) for k in range(PROBES)]
    if only is not None:
        starts = [starts[only]]
    lines = [f"{a}->{b} id {i + 1} start 0 size {bytes_of_each(senders)}" for i, (a, b) in enumerate(flows)]
    lines += [f"{probe[0]}->{probe[1]} id {1000 + k} start {us * unit} size {size}" for k, us in enumerate(starts)]
    program = {"uec": "htsim_uec -sender_cc_only -load_balancing_algo oblivious -paths 1",
               "eqds": "htsim_eqds -strat ecmp_host -paths 64"}[transport]
    told = simulator.run(f"{program} -mtu {PAYLOAD + HEADER}", HOSTS, seed, lines,
                         topology(LEAVES, PER_LEAF, SPINES, latency), end=5000)
    ends = ends_by_id(told)
    if len(ends) != len(lines):
        sys.exit(f"{transport} {place} {senders}: {len(ends)} of {len(lines)} flows ended")
    busy = min((ends[i + 1] for i in range(len(flows))), default=float("inf"))
    return [ends[1000 + k] - us for k, us in enumerate(starts) if ends[1000 + k] <= busy]


def probes(simulator, transport, *case):
    if transport in PFC:
        return roce(simulator, PFC[transport], *case)
    if transport == "eqds":  # its receivers grant to flows that have ended, so there is one probe in a run
        return [us for k in range(0, PROBES, 5) for us in others(simulator, transport, *case, only=k)]
    return others(simulator, transport, *case)


def cases():
    """Transport, place and latency in ns."""
    for latency in (500, 2000):
        for place in ("port", "uplink", "both"):
            yield "uec", place, latency
    for transport in PFC:
        for place in ("port", "uplink"):
            yield transport, place, 500
    yield "roce", "both", 500
    yield "roce_deep", "uplink", 2000
    yield "eqds", "port", 500


def full(simulator):
    lines = [f"# {COMMITS['htsim_uec']}; {COMMITS['htsim_roce']}; by tests/packets/queues.py",
             f"# probes over a link that so many long flows keep full; {LEAVES} leaves of {PER_LEAF} hosts, one spine, "
             f"{RATE} Gb/s, payload {PAYLOAD}, header {HEADER}; us longer than on an empty network",
             "# roce: PFC " + ", ".join(f"{name} {a} {b}" for name, (a, b) in PFC.items()) + " packets",
             "transport,place,latency_ns,senders,bytes,seed,probes,alone_us,mean_us,median_us,p95_us"]
    for transport, place, latency in cases():
        for size in (PAYLOAD, 8 * PAYLOAD):
            alone = min(probes(simulator, transport, place, 0, latency, size, 1))
            for senders in (1, 2, 4, 8):
                for seed in SEEDS:
                    took = probes(simulator, transport, place, senders, latency, size, seed)
                    lines.append(f"{transport},{place},{latency},{senders},{size},{seed},{len(took)},{alone:.6g},"
                                 f"{summary([us - alone for us in took])}")
        print(transport, place, latency, flush=True)
    return lines


LOADS = (0.25, 0.5, 0.75, 0.9)
WHILE = 400  # us


def below(simulator):
    """Single packets at random times from eight hosts of a leaf over its uplink: the part of its rate that they take."""
    lines = [f"# {COMMITS['htsim_eqds']}; by tests/packets/queues.py",
             f"# messages of one packet that start at random times within {WHILE} us, from 8 hosts of a leaf to another one over one "
             f"uplink; {RATE} Gb/s, payload {PAYLOAD}, header {HEADER}; us longer than alone",
             "load,seed,messages,alone_us,mean_us,median_us,p95_us"]
    for load in LOADS:
        for seed in SEEDS:
            draw = random.Random(f"below {load} {seed}")
            starts, us = [], 0.0
            while True:
                us += draw.expovariate(load / PACKET)
                if us > WHILE:
                    break
                starts.append((draw.randrange(8), int(us * 1e6)))
            told = simulator.run(f"htsim_eqds -q 1000 -strat ecmp_host -paths 64 -mtu {PAYLOAD + HEADER}", HOSTS, seed,
                                 [f"{host}->{PER_LEAF + host} id {i + 1} start {ps} size {PAYLOAD}"
                                  for i, (host, ps) in enumerate(starts)],
                                 topology(LEAVES, PER_LEAF, SPINES, 500), end=5 * WHILE)
            ends = ends_by_id(told)
            took = [ends[i + 1] - ps / 1e6 for i, (_, ps) in enumerate(starts)]
            lines.append(f"{load},{seed},{len(took)},{min(took):.6g},{summary([us - min(took) for us in took], 3)}")
    return lines


if __name__ == "__main__":
    write_tables(__doc__, (("below", below), ("probes", full)))
