"""Colour on a terminal: it repeats what the words say, NO_COLOR turns it off, and files and pipes never get it."""
import os
import pty
import re
import subprocess
import sys
import unittest

BINARY = sys.argv.pop(1)
CODE = re.compile(r"\x1b\[[0-9;]*m")
REPORT = ["run", "scenarios/two_nodes.yaml"]
MISTAKE = ["run", "scenarios/two_nodes.yaml", "--set", "fabric.kid=x"]


def on_terminal(words, **variables):
    """What a terminal shows. Its line ends are those of a file."""
    ours, theirs = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"} | variables
    process = subprocess.Popen([BINARY, *words], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # Linux, when the other end is closed
        pass
    os.close(ours)
    process.wait()
    return shown.decode().replace("\r\n", "\n")


def piped(words):
    done = subprocess.run([BINARY, *words], capture_output=True, text=True, env=os.environ | {"TERM": "xterm"})
    return done.stdout + done.stderr


class Colour(unittest.TestCase):
    def test_context_of_a_report_is_dim(self):
        shown = on_terminal(REPORT)
        self.assertIn("\x1b[2m# fabricast", shown)
        self.assertEqual(CODE.sub("", shown), piped(REPORT))

    def test_kind_and_hint_of_a_diagnostic_stand_out(self):
        shown = on_terminal(MISTAKE)
        self.assertIn("\x1b[1;31merror:\x1b[0m", shown)
        self.assertIn("\x1b[36mhint:\x1b[0m", shown)
        self.assertEqual(CODE.sub("", shown), piped(MISTAKE))

    def test_a_user_a_dumb_terminal_and_a_launcher_turn_it_off(self):
        for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"OMPI_COMM_WORLD_RANK": "0"}):
            for words in (REPORT, MISTAKE):
                self.assertNotRegex(on_terminal(words, **variables), CODE)
        self.assertRegex(on_terminal(REPORT, NO_COLOR=""), CODE)

    def test_pipes_and_files_have_none(self):
        for words in (REPORT, MISTAKE):
            self.assertNotRegex(piped(words), CODE)


if __name__ == "__main__":
    unittest.main()
