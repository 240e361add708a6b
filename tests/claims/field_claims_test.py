"""That the check of docs/field-claims.md finds what it is there to find."""

import unittest

from claims import ALL
from field_claims import differs, faults_of, is_met, shown
from rows import Claim, Row, about, between

PAGE = """# Claims
<!-- summary -->
<!-- end -->
<!-- claim A1 -->
| 16 MB | 40 GB/s | 44.1 GB/s | agrees |
<!-- end -->
"""
TABLE = "| 16 MB | 40 GB/s | 44.1 GB/s | agrees |\n"


def row(claimed):
    return Row("", "", claimed, "", None)


class FieldClaims(unittest.TestCase):
    def test_in_step(self):
        self.assertEqual(faults_of(PAGE, {"summary": "", "claim A1": TABLE}), [])

    def test_rounding_is_no_difference(self):
        self.assertEqual(faults_of(PAGE, {"summary": "", "claim A1": TABLE.replace("44.1", "44.2")}), [])

    def test_another_number(self):
        self.assertEqual(len(faults_of(PAGE, {"summary": "", "claim A1": TABLE.replace("44.1", "45.1")})), 1)

    def test_another_word(self):
        self.assertEqual(len(faults_of(PAGE, {"summary": "", "claim A1": TABLE.replace("agrees", "**disagrees**")})), 1)

    def test_a_claim_without_place(self):
        self.assertIn("no block <!-- claim B1 -->", faults_of(PAGE, {"summary": "", "claim A1": TABLE, "claim B1": ""})[0])

    def test_a_place_without_claim(self):
        self.assertIn("nothing of <!-- claim A1 -->", faults_of(PAGE, {"summary": ""})[0])

    def test_a_row_more(self):
        self.assertIn("another length", faults_of(PAGE, {"summary": "", "claim A1": 2 * TABLE})[0])

    def test_zero_and_not_zero(self):
        self.assertTrue(differs("0 us", "0.1 us"))

    def test_ranges(self):
        self.assertTrue(is_met(row(about(40)), 50))
        self.assertFalse(is_met(row(about(40)), 51))
        self.assertTrue(is_met(row(between(20, 40)), 18))
        self.assertFalse(is_met(row(between(20, 40)), 17.9))
        self.assertFalse(is_met(row("tree"), "ring"))
        self.assertFalse(is_met(row(about(40)), "rings at all sizes"))
        self.assertIsNone(is_met(row(None), 1))

    def test_numbers(self):
        self.assertEqual(shown(0.0817, "ms"), "0.0817 ms")
        self.assertEqual(shown(1440, "us"), "1440 us")
        self.assertEqual(shown(-1e-5, "%"), "0.0 %")
        self.assertEqual(shown(0.5, ""), "0.5")

    def test_claims_are_told_apart(self):
        names = [claim.name for claim in ALL]
        self.assertEqual(len(names), len(set(names)))
        self.assertTrue(all(isinstance(claim, Claim) and claim.rows for claim in ALL))


if __name__ == "__main__":
    unittest.main()
