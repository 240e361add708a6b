#!/usr/bin/env python3
"""Runs RoCE whose packets take any of several paths, and messages over loaded fabrics, in htsim; writes tables.

    reorder.py --htsim DIR --uet DIR --out tests/data/packets/reorder

The folders hold htsim_roce with the changes that README.md describes, and htsim_uec.
"""
import random
import re
import sys
from collections import namedtuple
from math import exp

import traffic
from lossy import HOSTS, LEAVES, PER_LEAF
from simulator import ends_by_id, summary, topology, write_tables
from study import COMMITS, FINISHED, HEADER, MEBI, PAYLOAD, RATE, SEEDS

TIMEOUT = 1000  # us
PFC = (60, 75)  # packets. With 20 and 25 a pause and its end may meet at a sender: eight uplinks empty an ingress at once
COUNTS = re.compile(r"^Lossy: sent (\d+) lost \d+ dropped \d+ asked (\d+) timeouts (\d+)")
ORDER = re.compile(r"^Order: arrived (\d+) late (\d+) turned (\d+) delay (\S+)")

# What a NIC does with a packet that comes too early.
NICS = {
    "any_order": {"selective": 2},
    "selective_repeat": {"selective": 1},
    "go_back_n": {"rto_us": TIMEOUT},
}
# Who chooses a path for each packet: the sender, at random; switches, in turn; switches, the shortest queue in steps of ten packets.
SPREAD = {
    "random": ("ecmp_host -paths 64", 5000, {"spray": 100000}),
    "round_robin": ("ecmp_rr", 5000, {}),
    "adaptive": ("ecmp_ar", 200, {"by_packet": 1}),
}
Case = namedtuple("Case", "spread senders spines latency size")  # 0 senders of a leaf: a ring of all hosts


def cases():
    for senders in (2, 4, 8):
        yield Case("random", senders, 8, 500, MEBI)
    yield Case("adaptive", 8, 8, 500, MEBI)
    yield Case("random", 0, 8, 500, MEBI)
    yield Case("random", 4, 8, 2000, MEBI)
    yield Case("round_robin", 8, 8, 500, MEBI)


def apart(senders, seed):
    """The first hosts of each leaf send to each other: every one to another leaf, and from every one."""
    draw = random.Random(f"apart {senders} {seed}")
    hosts = [leaf * PER_LEAF + i for leaf in range(LEAVES) for i in range(senders)]
    to = hosts[:]
    draw.shuffle(to)
    while True:
        at_home = [i for i, host in enumerate(hosts) if to[i] // PER_LEAF == host // PER_LEAF]
        if not at_home:
            return list(zip(hosts, to))
        i, j = at_home[0], draw.randrange(len(hosts))
        to[i], to[j] = to[j], to[i]


def flows_of(case, seed):
    if case.senders:
        return apart(case.senders, seed)
    return [(f.source, f.target) for f in traffic.ring(HOSTS, case.size, random.Random(f"ring {seed}"))]


def turned(load, paths):
    """Probability that two packets of a flow, one after the other, arrive the other way round.

    Each waits in a queue with random arrivals and equal packets (M/D/1) at its leaf, and in one at its spine. They
    change places if the first waits longer than the second by more than the time between them, one packet at line rate. On
    full links waits have no limit, and any order is as likely.
    """
    other = 1 - 1 / paths
    if load >= 1:
        return other / 2
    room = 60
    arrivals = [exp(-load)]
    for i in range(1, room):
        arrivals.append(arrivals[-1] * load / i)

    def both(a, b):
        return [sum(a[j] * b[i - j] for j in range(i + 1)) for i in range(room)]

    # Slots of one packet: the queue at the start of a slot, then who comes before a packet within its own.
    queue = [1.0] + [0.0] * (room - 1)
    for _ in range(400):
        after = both(queue, arrivals)
        queue = [after[0] + after[1]] + after[2:] + [0.0]
    before = [sum(arrivals[i + 1:]) / load for i in range(room)]
    waits = both(queue, before)
    waits = both(waits, waits)
    longer = sum(waits[i] * sum(waits[:i - 1]) for i in range(2, room))
    return other * longer


def results(simulator, case, nic, seed):
    """packets, sent, late, turned, asked, timeouts, delay, and mean and last end, as cells."""
    flows = flows_of(case, seed)
    strategy, queue, spread = SPREAD[case.spread]
    told = simulator.run(f"htsim_roce -mtu {PAYLOAD} -q {queue} -pfc_thresholds {PFC[0]} {PFC[1]} -strat {strategy}", HOSTS, seed,
                         [f"{a}->{b} id {i + 1} start 0 size {case.size}" for i, (a, b) in enumerate(flows)],
                         topology(LEAVES, PER_LEAF, case.spines, case.latency), **spread, **NICS[nic])
    ends = [float(m[3]) for m in map(FINISHED.match, told) if m]
    counts = [m for m in map(COUNTS.match, told) if m]
    order = [m for m in map(ORDER.match, told) if m]
    if len(ends) != len(flows) or len(counts) != 1 or len(order) != 1:
        sys.exit(f"{case}, {nic}: {len(ends)} of {len(flows)} flows ended")
    sent, asked, timeouts = map(int, counts[0].groups())
    arrived, late, back = map(int, order[0].groups()[:3])
    return [len(flows) * case.size // PAYLOAD, sent, f"{late / arrived:.3f}", f"{back / arrived:.3f}", asked, timeouts,
            f"{float(order[0][4]):.2f}", f"{sum(ends) / len(ends):.4g}", f"{max(ends):.4g}"]


def roce(simulator):
    lines = [f"# {COMMITS['htsim_roce']}, changed as tests/packets/README.md says; by tests/packets/reorder.py",
             f"# flows between leaves, one from each sender (0 senders of a leaf: a ring of all hosts); {LEAVES} leaves of "
             f"{PER_LEAF} hosts, {RATE} Gb/s, payload {PAYLOAD}, header {HEADER}, PFC {PFC[0]} {PFC[1]}, timeout {TIMEOUT} us",
             "# late: part that arrives after a later packet; turned: right after one; delay: mean way of a packet",
             "spread,senders,spines,latency_ns,bytes,nic,seed,packets,sent,late,turned,asked,timeouts,delay_us,mean_us,last_us"]
    for case in cases():
        print(*case, flush=True)
        for nic in NICS:
            for seed in SEEDS:
                cells = [*case, nic, seed, *results(simulator, case, nic, seed)]
                lines.append(",".join(map(str, cells)))
    return lines


ROUTES = {"ecmp": "-load_balancing_algo oblivious -paths 1", "spray": "",
          "adaptive": "-strat ecmp_ar -load_balancing_algo oblivious -paths 1"}
LONG = 8 * MEBI
FIRST, APART, MESSAGES = 40, 40, 3  # us, us; messages of a host


def took(simulator, options, spines, seed, long, sent, size):
    """us from the start to the end of each message."""
    lines = [f"{a}->{b} id {i + 1} start 0 size {LONG}" for i, (a, b) in enumerate(long)]
    lines += [f"{a}->{b} id {1000 + i} start {us} size {size}" for i, (a, b, us) in enumerate(sent)]
    ends = ends_by_id(simulator.run(f"htsim_uec -sender_cc_only -mtu {PAYLOAD + HEADER} {options}", HOSTS, seed, lines,
                                    topology(LEAVES, PER_LEAF, spines, 500)))
    return [ends[1000 + i] - us for i, (_, _, us) in enumerate(sent)]


def message(simulator):
    """The last host of each leaf sends messages to another leaf, while the others have long flows to other leaves."""
    lines = [f"# {COMMITS['htsim_uec']}; by tests/packets/reorder.py",
             f"# messages between {LEAVES} hosts on as many leaves, while so many others of each leaf have one flow of {LONG} bytes "
             f"each to another leaf; {RATE} Gb/s, 500 ns; us longer than on an empty network",
             "route,senders,spines,bytes,seed,messages,alone_us,mean_us,median_us,p95_us"]
    for route, options in ROUTES.items():
        for senders, spines in ((7, 8), (7, 4)):
            for size in (1 << 16, MEBI):
                for seed in SEEDS[:2]:
                    draw = random.Random(f"message {seed}")
                    shift = draw.randrange(1, LEAVES)
                    long = apart(senders, seed)
                    sent = [(leaf * PER_LEAF + PER_LEAF - 1, (leaf + shift) % LEAVES * PER_LEAF + PER_LEAF - 1,
                             FIRST + APART * k + draw.randrange(APART // 4)) for leaf in range(LEAVES) for k in range(MESSAGES)]
                    loaded = took(simulator, options, spines, seed, long, sent, size)
                    alone = took(simulator, options, spines, seed, [], sent[:1], size)[0]
                    lines.append(f"{route},{senders},{spines},{size},{seed},{len(sent)},{alone:.6g},"
                                 f"{summary([us - alone for us in loaded])}")
    return lines


if __name__ == "__main__":
    write_tables(__doc__, (("message", message), ("roce", roce)))
