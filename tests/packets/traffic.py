"""Flows of collectives, and of their bystanders. Every function is pure: equal arguments give equal flows."""
import random
from dataclasses import dataclass


@dataclass
class Flow:
    source: int
    target: int
    bytes: int
    role: str = "c"  # c: of the collective; n, u, d, a: see `bystanders`
    number: int = 0  # the simulator's number of the flow, which its hash sees
    spine: object = None


def permutation(hosts, size, draw):
    """Every host sends to one other host, at random."""
    order = list(range(hosts))
    while True:
        draw.shuffle(order)
        if all(order[i] != i for i in range(hosts)):
            return [Flow(i, order[i], size) for i in range(hosts)]


def ring(hosts, size, draw):
    """The hosts in random order, each sends to the next: a ring over a scattered job."""
    order = list(range(hosts))
    draw.shuffle(order)
    return [Flow(order[i], order[(i + 1) % hosts], size) for i in range(hosts)]


def tree(hosts, size, draw):
    """A binary tree over the hosts in random order, reduced up and broadcast down at once.

    An inner node receives from two children and from its parent.
    """
    order = list(range(hosts))
    draw.shuffle(order)
    flows = []
    for child in range(1, hosts):
        parent = (child - 1) // 2
        flows.append(Flow(order[child], order[parent], size))
        flows.append(Flow(order[parent], order[child], size))
    return flows


def alltoall(hosts, size, draw):
    """Every host sends to every other one, all at once; a host's first flow goes half way round."""
    shifts = sorted(range(1, hosts), key=lambda shift: (shift - hosts // 2) % hosts)
    return [Flow(i, (i + shift) % hosts, size) for shift in shifts for i in range(hosts)]


def incast(hosts, degree, size, draw, hosts_per_leaf):
    """`degree` hosts, of as many leaves as there are, send to one."""
    target = draw.randrange(hosts)
    leaves = [i for i in range(hosts // hosts_per_leaf) if i != target // hosts_per_leaf]
    draw.shuffle(leaves)
    senders = []
    for k in range(degree):
        leaf = leaves[k % len(leaves)]
        free = [i for i in range(leaf * hosts_per_leaf, (leaf + 1) * hosts_per_leaf) if i not in senders]
        senders.append(draw.choice(free))
    return [Flow(i, target, size) for i in senders]


def bystanders(incast_flows, hosts, hosts_per_leaf, spines, size, spine_of, draw):
    """One flow of each kind beside an incast, on hosts that have no other part in it.

    n shares only the NIC of a sender, u only a sender's uplink from leaf to spine, d only a link from a spine down to
    the receiver's leaf, a nothing. `spine_of(source, target, number)` is the simulator's choice. The number of a flow
    is free, so it is picked such that the flow takes the spine that it should.
    """
    leaf = lambda host: host // hosts_per_leaf
    receiver = incast_flows[0].target
    used = {flow.source for flow in incast_flows} | {receiver}
    number = max(flow.number for flow in incast_flows)
    up = {(leaf(flow.source), flow.spine) for flow in incast_flows}
    added = []

    def idle(where):
        host = draw.choice([h for h in range(hosts) if h not in used and where(leaf(h))])
        used.add(host)
        return host

    def add(role, source, target, wanted):
        nonlocal number
        number += 1
        while not wanted(spine_of(source, target, number)):
            number += 1
        spine = spine_of(source, target, number)
        up.add((leaf(source), spine))
        added.append(Flow(source, target, size, role, number, spine))

    first, second, third = incast_flows[0], incast_flows[1], incast_flows[-1]
    target_leaves = [k for k in range(hosts // hosts_per_leaf) if k != leaf(receiver)]

    def target_for(source):
        taken = {leaf(flow.target) for flow in added}
        free = [k for k in target_leaves if k != leaf(source) and k not in taken]
        return idle(lambda k: k in free)

    add("n", first.source, target_for(first.source), lambda s: (leaf(first.source), s) not in up)
    neighbour = idle(lambda k: k == leaf(second.source))
    add("u", neighbour, target_for(neighbour), lambda s: s == second.spine)
    source = idle(lambda k: k != leaf(receiver) and (k, third.spine) not in up)
    add("d", source, idle(lambda k: k == leaf(receiver)), lambda s: s == third.spine)
    source = idle(lambda k: k != leaf(receiver) and len({s for l, s in up if l == k}) < spines)
    add("a", source, target_for(source), lambda s: (leaf(source), s) not in up)
    return added
