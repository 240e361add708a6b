"""The parts of the study that can be checked without packets."""
import collections
import math
import random
import unittest

import page
import queues
import reorder
import traffic
from choices import DcqcnEcmp, Mersenne, RoceEcmp


class Choices(unittest.TestCase):
    def test_mersenne_is_that_of_the_standard(self):
        # ISO C++ [rand.predef]: the 10,000th value of a mt19937 with the default seed is 4123659995.
        draws = Mersenne(5489)
        for _ in range(9999):
            draws.draw()
        self.assertEqual(draws.draw(), 4123659995 & 0x7FFFFFFF)

    def test_spines_are_used_evenly(self):
        flows = [traffic.Flow(i % 8, 8 + i % 56, 1, number=i + 1) for i in range(8000)]
        choices = RoceEcmp(8, 8, 8, 1, 1, flows)
        used = collections.Counter(choices.spine(f.source, f.target, f.number) for f in flows)
        # Seven degrees of freedom: mean 7, deviation 3.7; five deviations.
        self.assertLess(sum((used[s] - 1000) ** 2 / 1000 for s in range(8)), 26)

    def test_spines_of_dcqcn_are_used_evenly_and_follow_from_number_and_seed(self):
        flows = [traffic.Flow(i % 8, 8 + i % 56, 1, number=i + 1) for i in range(8000)]
        choices = DcqcnEcmp(8, 8, 8, 1, flows, len(flows))
        spines = [choices.spine(f.source, f.target, f.number) for f in flows]
        used = collections.Counter(spines)
        self.assertLess(sum((used[s] - 1000) ** 2 / 1000 for s in range(8)), 26)
        again = DcqcnEcmp(8, 8, 8, 1, flows, len(flows))
        self.assertEqual(spines, [again.spine(f.source, f.target, f.number) for f in flows])
        other = DcqcnEcmp(8, 8, 8, 2, flows, len(flows))
        self.assertNotEqual(spines, [other.spine(f.source, f.target, f.number) for f in flows])

    def test_flows_below_a_leaf_have_no_spine(self):
        flows = [traffic.Flow(0, 1, 1, number=1)]
        self.assertIsNone(RoceEcmp(8, 8, 8, 1, 1, flows).spine(0, 1, 1))


class Traffic(unittest.TestCase):
    def test_every_host_sends_and_receives_once(self):
        for kind in (traffic.permutation, traffic.ring):
            flows = kind(64, 1, random.Random(1))
            self.assertEqual(sorted(f.source for f in flows), list(range(64)))
            self.assertEqual(sorted(f.target for f in flows), list(range(64)))
            self.assertTrue(all(f.source != f.target for f in flows))

    def test_a_ring_is_one_ring(self):
        following = {f.source: f.target for f in traffic.ring(64, 1, random.Random(1))}
        seen, host = set(), 0
        while host not in seen:
            seen.add(host)
            host = following[host]
        self.assertEqual(len(seen), 64)

    def test_inner_nodes_of_a_tree_receive_from_two_children_and_a_parent(self):
        flows = traffic.tree(127, 1, random.Random(1))
        received = collections.Counter(collections.Counter(f.target for f in flows).values())
        self.assertEqual(received, {1: 64, 2: 1, 3: 62})

    def test_alltoall_has_every_pair_once_and_begins_elsewhere(self):
        flows = traffic.alltoall(64, 1, None)
        self.assertEqual(len({(f.source, f.target) for f in flows}), 64 * 63)
        self.assertTrue(all(f.source // 8 != f.target // 8 for f in flows[:64]))


class Queues(unittest.TestCase):
    def test_hosts_of_a_probe_have_no_other_part(self):
        for place in ("port", "uplink", "both"):
            for senders in (1, 2, 4, 8):
                flows, (source, target) = queues.long_flows(place, senders)
                used = {host for flow in flows for host in flow}
                self.assertFalse(used & {source, *queues.CLOCK})
                self.assertEqual(target in used, place == "port")
                self.assertEqual(len({a for a, _ in flows}), len(flows))

    def test_rules_of_waits(self):
        # A round trip of 4.34 us; 25 and 75 packets of 4 KiB at 400 Gb/s take 2.05 and 6.14 us.
        self.assertAlmostEqual(page.round_trip(500), 4.338, 3)
        self.assertAlmostEqual(page.wait_law("uec", "port", 500, 8), 3.25, 2)
        self.assertAlmostEqual(page.wait_law("roce", "uplink", 500, 2), 4.10, 2)
        self.assertAlmostEqual(page.wait_law("roce_deep", "both", 500, 2), 24.58, 2)
        self.assertEqual(page.wait_law("uec", "port", 500, 1), 0)


class Reorder(unittest.TestCase):
    def test_senders_send_to_other_leaves(self):
        for senders in (1, 4, 8):
            flows = reorder.apart(senders, 1)
            self.assertEqual(sorted(a for a, _ in flows), sorted(b for _, b in flows))
            self.assertTrue(all(a // 8 != b // 8 for a, b in flows))

    def test_turned_packets_by_a_queue_simulated_here(self):
        # Each slot so many packets arrive as a Poisson number says, and one leaves. Two packets on different paths wait in two
        # queues each, and the second starts one slot later.
        draw = random.Random(1)
        for load in (0.25, 0.5, 0.75):
            waits, queue = [], 0
            while len(waits) < 200000:
                arrivals, product = 0, draw.random()
                while product > math.exp(-load):
                    waits.append(queue + arrivals)
                    arrivals += 1
                    product *= draw.random()
                queue = max(queue + arrivals - 1, 0)
            first, second = ([draw.choice(waits) + draw.choice(waits) for _ in range(100000)] for _ in range(2))
            turned = sum(a > b + 1 for a, b in zip(first, second)) / 100000
            self.assertAlmostEqual(reorder.turned(load, 8) / (7 / 8 * turned), 1, delta=0.05)

    def test_turned_grows_to_a_coin_toss(self):
        values = [reorder.turned(load / 10, 8) for load in range(1, 12)]
        self.assertEqual(values, sorted(values))
        self.assertEqual(values[-1], 7 / 16)
        self.assertEqual(reorder.turned(0.9, 1), 0)


class Page(unittest.TestCase):
    def test_rows_are_told_from_other_lines(self):
        rows = page.read_rows("===\nroce_ecmp_incast8_64_1to1_deep,3,c,2,1,1,1,1,1,1,1\nAll tests passed\n")
        self.assertEqual(len(rows), 1)
        self.assertEqual((rows[0].kind, rows[0].degree, rows[0].hosts, rows[0].note), ("incast", 8, 64, "deep"))

    def test_a_block_is_replaced_and_a_missing_one_is_an_error(self):
        text = "a\n<!-- packets: cases -->\nold\n<!-- end -->\nb\n"
        self.assertEqual(page.put(text, "cases", "new"), "a\n<!-- packets: cases -->\nnew\n<!-- end -->\nb\n")
        with self.assertRaises(SystemExit):
            page.put(text, "summary", "new")


if __name__ == "__main__":
    unittest.main()
