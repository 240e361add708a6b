"""That the check of docs/questions finds what it is there to find."""

import unittest

from update import block_of, differs, plot_faults, table_faults

PAGE = """# Which
<!-- plan -->
```console
$ fabricast plan scenarios/questions/a.yaml --svg docs/questions/a.svg --chart step_s
 *   rail_only  9.36  20.92M
```
<!-- end -->
"""
TABLE = " *   rail_only  9.36  20.92M\n"


class Questions(unittest.TestCase):
    def test_in_step(self):
        block, fault = block_of(PAGE)
        self.assertIsNone(fault)
        self.assertEqual(table_faults(block[3], TABLE), [])

    def test_rounding_is_no_difference(self):
        self.assertEqual(table_faults(TABLE, TABLE.replace("9.36", "9.37")), [])

    def test_another_number(self):
        self.assertEqual(len(table_faults(TABLE, TABLE.replace("9.36", "9.56"))), 1)

    def test_another_word(self):
        self.assertEqual(len(table_faults(TABLE, TABLE.replace("rail_only", "fat_tree"))), 1)

    def test_a_row_more(self):
        self.assertEqual(len(table_faults(TABLE, TABLE + TABLE)), 1)

    def test_no_block(self):
        self.assertIn("0 blocks", block_of("# Which\n")[1])

    def test_a_plot_of_another_scenario(self):
        self.assertIn("its command", block_of(PAGE.replace("a.svg", "b.svg"))[1])

    def test_plots(self):
        self.assertEqual(plot_faults('<circle cx="100"/>', '<circle cx="102"/>'), [])
        self.assertEqual(len(plot_faults('<circle cx="100"/>', '<circle cx="109"/>')), 1)
        self.assertEqual(len(plot_faults(None, "<svg/>")), 1)
        self.assertTrue(plot_faults("<svg/>" * 10_000, "<svg/>" * 10_000))

    def test_widths_do_not_count(self):
        self.assertFalse(differs("a   1", "a 1"))


if __name__ == "__main__":
    unittest.main()
