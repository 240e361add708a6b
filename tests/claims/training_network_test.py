"""That the check of docs/models/training-network.md finds what it is there to find."""

import unittest

from training_network import BLOCK, apart, differs, numbers

LINE = "| 2:1, in order | 0.351 s (-3 %); exposed 19 % | 12.4 s (+5 %), 11.1 to 13.2; exposed 8 % |"


class TrainingNetwork(unittest.TestCase):
    def test_rounding_is_no_difference(self):
        self.assertFalse(differs(LINE, LINE.replace("0.351", "0.353").replace("19 %", "20 %")))

    def test_another_time(self):
        self.assertTrue(differs(LINE, LINE.replace("0.351", "0.361")))

    def test_another_share(self):
        self.assertTrue(differs(LINE, LINE.replace("19 %", "22 %")))

    def test_other_samples(self):
        self.assertTrue(differs(LINE, LINE.replace(", 11.1 to 13.2", "")))

    def test_numbers(self):
        self.assertEqual(numbers("12.4 s (+5 %)"), [12.4, 5.0])

    def test_neighbours_are_apart(self):
        order = apart(400, 32)[2]
        self.assertIn("order: [0, 8, 16, 24, 1, 9, ", order)

    def test_the_table_is_found(self):
        self.assertEqual(BLOCK.sub(lambda m: m[1] + "x\n" + m[3], "a\n<!-- steps -->\nold\n<!-- end -->\n"),
                         "a\n<!-- steps -->\nx\n<!-- end -->\n")


if __name__ == "__main__":
    unittest.main()
