"""The comparison of lessons: what it must let pass, and what it must not."""

import pathlib
import tempfile
import unittest

import run_lesson

BINARY = pathlib.Path("/bin/echo")


def faults_of(text):
    with tempfile.TemporaryDirectory() as folder:
        lesson = pathlib.Path(folder) / "lesson.md"
        lesson.write_text("```console\n" + text + "\n```\n")
        return run_lesson.run_lesson(lesson, BINARY, update=False)


class Mask(unittest.TestCase):
    def same(self, a, b):
        self.assertEqual(run_lesson.mask(a), run_lesson.mask(b))

    def differ(self, a, b):
        self.assertNotEqual(run_lesson.mask(a), run_lesson.mask(b))

    def test_numbers_may_change(self):
        self.same("   64  ring  ll 16  53.2  latency", "  64 ring ll   8  1.2e-3  latency")
        self.same("lab  43.3- (   2)  1.0+ (1)", "lab 3.3+ ( 2)  1.1- (3)")

    def test_columns_and_words_may_not(self):
        self.differ("  64  ring  53.2  0.1  latency", "  64  ring  53.2  latency")
        self.differ("  64  ring  53.2", "  64  tree  53.2")
        self.differ("warning: old", "error: old")

    def test_what_binds_may_change_in_a_row_only(self):
        self.same("  64  53.2  latency  (NCCL: nvls)", "  64  53.2  spine2-leaf3#1  (NCCL: nvls)")
        self.same("  64  53.2  node0.gpu1-nvswitch", "  64  53.2  leaf0-spines")
        self.differ("bound by latency", "bound by gpu copy")

    def test_exit_codes_are_compared_as_they_are(self):
        self.differ("exit code 2", "exit code 3")


class Lesson(unittest.TestCase):
    def test_a_right_lesson_passes(self):
        self.assertEqual(faults_of("$ echo a 1\na 2\n$ cat > f <<EOF\nx\nEOF\n$ cat f\nx"), [])

    def test_dots_stand_for_any_lines(self):
        self.assertEqual(faults_of("$ seq 3; echo end\n...\nend"), [])
        self.assertEqual(len(faults_of("$ seq 3; echo end\n...\nEND")), 1)

    def test_a_line_too_few_or_too_many_fails(self):
        self.assertEqual(len(faults_of("$ printf 'a\\nb\\n'\na")), 1)
        self.assertEqual(len(faults_of("$ echo a\na\nb")), 1)

    def test_a_failing_command_fails(self):
        self.assertEqual(len(faults_of("$ false")), 1)


if __name__ == "__main__":
    unittest.main()
