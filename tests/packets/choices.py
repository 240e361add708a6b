"""The uplink that a packet simulator chooses for a flow on a leaf-spine network.

A comparison of completion times is only fair if both sides send every flow over the same spine. The hash functions are
those of their authors [Jenkins1997]; what the simulator feeds them was read from its sources and checked against the
ports that its packets took.
"""
import random
from collections import defaultdict

WORD = 0xFFFFFFFF


class Mersenne:
    """std::mt19937, whose seeding differs from Python's."""

    def __init__(self, seed):
        words = [seed & WORD]
        for i in range(1, 624):
            words.append((1812433253 * (words[-1] ^ (words[-1] >> 30)) + i) & WORD)
        self._random = random.Random()
        self._random.setstate((3, tuple(words) + (624,), None))

    def draw(self):
        return self._random.getrandbits(32) & 0x7FFFFFFF


def jenkins(first, second, third):
    """Bob Jenkins's mix of three words, from 1997."""
    a, b, c = (0x9E3779B9 + first) & WORD, (0x9E3779B9 + third) & WORD, second & WORD
    for right, left, last in ((13, 8, 13), (12, 16, 5), (3, 10, 15)):
        a = ((a - b - c) & WORD) ^ (c >> right)
        b = ((b - c - a) & WORD) ^ ((a << left) & WORD)
        c = ((c - a - b) & WORD) ^ (b >> last)
    return c


class Leaves:
    """The order of every leaf's uplinks, shuffled when its first packet for another leaf arrives.

    All flows begin at 0 and every leaf is equally far, so leaves come in the order of the flows in the file, counting
    only the first flow of every host: its other flows wait behind it.
    """

    def __init__(self, spines, draws):
        self._spines, self._draws, self._order = spines, draws, {}

    def arrive(self, flows, hosts_per_leaf):
        seen = set()
        for flow in flows:
            leaf = flow.source // hosts_per_leaf
            if flow.source not in seen and leaf != flow.target // hosts_per_leaf:
                self[leaf]
            seen.add(flow.source)

    def __getitem__(self, leaf):
        if leaf not in self._order:
            order = list(range(self._spines))
            for i in range(self._spines):
                pick, last = self._draws.draw() % (self._spines - i), self._spines - 1 - i
                order[pick], order[last] = order[last], order[pick]
            self._order[leaf] = order
        return self._order[leaf]


class Ecmp:
    """A hash of a flow's number, a path number and the salt of its switch."""

    def spine(self, source, target, number):
        """The spine of flow `number`, or None if it stays below its leaf."""
        leaf = source // self._hosts
        if leaf == target // self._hosts:
            return None
        return self._order[leaf][jenkins(number, self._path[number], self._salt[leaf]) % self._spines]


class RoceEcmp(Ecmp):
    """htsim_roce: a hash of the flow's number, one path number for all and the switch's salt.

    Salts come from the seed. The path number and the shuffles come from the time of day.
    """

    def __init__(self, leaves, hosts_per_leaf, spines, seed, second, flows):
        self._hosts, self._spines = hosts_per_leaf, spines
        salts, draws = Mersenne(seed), Mersenne(second)
        self._salt = [salts.draw() for _ in range(leaves)]
        path = draws.draw() % 256
        self._path = defaultdict(lambda: path)
        self._order = Leaves(spines, draws)
        self._order.arrive(flows, hosts_per_leaf)


class UecEcmp(Ecmp):
    """htsim_uec with one path per flow: the same hash, with a path number of each flow.

    Everything comes from the seed: salts of all switches, a port of each NIC, two numbers of each flow, one of each
    packet sent before the first arrives at a leaf, and the shuffles. \pre every sending host has that many packets
    """

    SENT_BEFORE = 8  # packets that a host sends in the time that the first needs to its leaf

    def __init__(self, leaves, hosts_per_leaf, spines, seed, flows):
        self._hosts, self._spines = hosts_per_leaf, spines
        draws = Mersenne(seed)
        self._salt = [draws.draw() for _ in range(leaves + spines)]
        for _ in range(leaves * hosts_per_leaf):
            draws.draw()
        self._path = {}
        for flow in flows:
            self._path[flow.number] = draws.draw() % 0xFFFF
            draws.draw()
        for _ in range(self.SENT_BEFORE * len({flow.source for flow in flows})):
            draws.draw()
        self._order = Leaves(spines, draws)
        self._order.arrive(flows, hosts_per_leaf)


class DcqcnEcmp(Ecmp):
    """The changed htsim_roce of uet-htsim (README.md): a hash of the flow's number and the switch's salt.

    All draws come from the seed: salts of all switches, one number for each of `count` flows, which is not used, and
    the shuffles.
    """

    def __init__(self, leaves, hosts_per_leaf, spines, seed, flows, count):
        self._hosts, self._spines = hosts_per_leaf, spines
        draws = Mersenne(seed)
        self._salt = [draws.draw() for _ in range(leaves + spines)]
        for _ in range(count):
            draws.draw()
        self._path = defaultdict(int)
        self._order = Leaves(spines, draws)
        self._order.arrive(flows, hosts_per_leaf)
