"""What the check of the docs must find."""

import pathlib
import unittest

import check_docs
import check_formats
import check_variables


class Keys(unittest.TestCase):
    def test_keys_are_told_from_indices_and_tags(self):
        code = "// max-plus [Baccelli1992] [NCCL-tuning-1.6] [solver-study-4] [LinuxRoCE]\nx[i] = a[p - 1]; [a-z] [WHAT]"
        self.assertEqual(check_docs.keys_of(code), {"Baccelli1992", "NCCL-tuning-1.6", "solver-study-4", "LinuxRoCE"})
        self.assertEqual(check_docs.keys_of('"source": "[published] ib_write_bw"'), {"published"})
        self.assertEqual(check_docs.keys_of("see [the-page](the-page.md)"), set())

    def test_tags_of_tests_are_no_keys(self):
        test = 'TEST_CASE("the example of [solver-study-4]", "[engine][multi-node]")'
        self.assertEqual(check_docs.keys_of(check_docs.without_tags(test)), {"solver-study-4"})

    def test_a_missing_and_an_unused_key_are_found(self):
        faults = check_docs.key_faults({"a.cpp": {"Steele2014", "NCCL-tuning-1.6"}}, {"NCCL-tuning", "Clos1953"})
        self.assertEqual(len(faults), 2)
        self.assertIn("[Steele2014] is not in", faults[0])
        self.assertIn("[Clos1953] is used nowhere", faults[1])


class Links(unittest.TestCase):
    def test_a_dead_link_is_found_and_a_live_one_passes(self):
        page = pathlib.Path("docs/x.md")
        text = "[a](gone.md) [b](there.md) [c](https://e.org/x) `[d](code.md)`\n```\n[e](block.md)\n```\n"
        faults = check_docs.link_faults(page, text, exists=lambda p: p.name == "there.md")
        self.assertEqual(faults, ["docs/x.md: the link gone.md leads nowhere"])

    def test_anchors_are_github_s(self):
        anchors = check_docs.anchors_of("# Exit codes\n## `node.gdr` and NUMA\n```\n# no heading\n```\n")
        self.assertEqual(anchors, {"exit-codes", "nodegdr-and-numa"})
        self.assertEqual(len(check_docs.link_faults(pathlib.Path("x.md"), "# A\n[b](#c)", exists=lambda p: True)), 1)


class Pages(unittest.TestCase):
    def test_validation_must_be_there_say_something_and_come_last(self):
        long = "**Validation.** " + "Checked by a test. " * 10
        self.assertIsNone(check_docs.validation_fault(f"# A\ntext\n\n{long}\n"))
        self.assertIsNotNone(check_docs.validation_fault("# A\ntext\n"))
        self.assertIsNotNone(check_docs.validation_fault("# A\n\n**Validation.** Yes.\n"))
        self.assertIsNotNone(check_docs.validation_fault(f"# A\n\n{long}\n\n## More\ntext\n"))

    def test_a_record_has_four_sections_and_is_short(self):
        text = "# 1\n## Context\n## Decision\n## Alternatives\n## Consequences\n"
        self.assertEqual(check_docs.record_faults(text), [])
        self.assertEqual(len(check_docs.record_faults(text.replace("## Decision\n", ""))), 1)
        self.assertEqual(len(check_docs.record_faults(text + "x\n" * 40)), 1)


class Formats(unittest.TestCase):
    def test_a_key_or_field_that_the_page_lacks_is_found(self):
        page = "| `fabric.leaves`, `fabric.spines` | `rows[]` | CSV: `bytes,time_us` |"
        named = {"fabric.leaves", "fabric.spines", "rows", "bytes", "time_us"}
        self.assertEqual(check_formats.missing(page, named), [])
        self.assertEqual(check_formats.missing(page, {"fabric.leaf", "rows"}), ["fabric.leaf"])

    def test_fields_are_found_at_any_depth_but_in_the_scenario(self):
        value = {"a": [{"b": 1}, {"c": {"d": 2}}], "scenario": {"e": 3}}
        self.assertEqual(check_formats.fields_of(value), {"a", "b", "c", "d", "scenario"})


class Variables(unittest.TestCase):
    def test_a_table_that_is_not_the_binary_s_is_found(self):
        real = check_variables.output
        check_variables.output = lambda *_: (
            "NCCL_A: one\n  unset    0\n  accepts  0 or 1\n  effect   the choice\n"
            "NCCL_B: two\n  unset    1\n  accepts  any\n  effect   none on forecast times: accepted with a warning\n")
        try:
            page = f"head\n{check_variables.START}\n"
            faults, better = check_variables.check(page, "binary")
            self.assertTrue(faults)
            self.assertIn("| `NCCL_A` | 0 | 0 or 1 | one | the choice |", better)
            self.assertIn("| `NCCL_B` | 1 | any | two |", better)
            self.assertEqual(check_variables.check(better, "binary"), ([], better))
            self.assertTrue(check_variables.check(better.replace("the choice", "nothing"), "binary")[0])
            self.assertTrue(check_variables.check("no table", "binary")[0])
        finally:
            check_variables.output = real


if __name__ == "__main__":
    unittest.main()
