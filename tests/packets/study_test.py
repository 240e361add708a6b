"""The parts of the study that can be checked without packets."""
import collections
import random
import unittest

import page
import traffic
from choices import Mersenne, RoceEcmp


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
