"""Types into real shells: what bash and zsh make of a Tab.

  completion_shells.py BINARY
"""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

SEQUENCES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x07|\x1b\][^\x07]*\x07")


class Shell:
    """A shell on a terminal of its own."""

    def __init__(self, command, folder, environment):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)

    def send(self, text):
        os.write(self.terminal, text.encode())

    def read_until(self, wanted, seconds=10):
        text, end = "", time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.1)[0]:
                try:
                    text += os.read(self.terminal, 65536).decode(errors="replace")
                except OSError:
                    break
            if wanted in SEQUENCES.sub("", text):
                return True, text
        return False, SEQUENCES.sub("", text)

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.process, 0)


def check(shell, cases):
    faults = []
    for typed, wanted in cases:
        shell.send(typed + "\t")
        found, text = shell.read_until(wanted)
        if not found:
            faults.append(f"'{typed}<Tab>' does not show '{wanted}': {text[-300:]!r}")
        shell.send("\x03")
        # What is typed while the shell puts its terminal in order is lost, however long that takes on a busy machine.
        for _ in range(30):
            shell.send("\x15echo rea''dy\n")
            if shell.read_until("ready\r\n", 1)[0]:
                break
    return faults


CASES = [
    ("fabricast insp", "fabricast inspect "),
    ("fabricast calibrate val", "fabricast calibrate validate "),
    ("fabricast run --no-int", "--no-intervals"),
    ("fabricast run clus", "fabricast run cluster.yaml"),
    ("fabricast run --set fabric.oversub", "fabric.oversubscription="),
    ("fabricast run --set fabric.kind=leaf", "fabric.kind=leaf_spine"),
    ("fabricast describe hgx-h1", "hgx-h100"),
]


def main(binary):
    faults, tried = [], []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "cluster.yaml").touch()
        for name, shell in (("fabricast.bash", "--bash"), ("_fabricast", "--zsh")):
            text = subprocess.run([binary, "help", shell], check=True, stdout=subprocess.PIPE).stdout
            (folder / name).write_bytes(text)
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "xterm", "PS1": "$ ", "LC_ALL": "C"}
        if shutil.which("bash"):
            tried.append("bash")
            shell = Shell(["bash", "--norc", "-i"], folder, environment)
            shell.send("bind 'set bell-style none'; source ./fabricast.bash; echo rea''dy\n")
            assert shell.read_until("ready")[0]
            faults += [f"bash: {f}" for f in check(shell, CASES)]
            shell.close()
        if shutil.which("zsh"):
            tried.append("zsh")
            shell = Shell(["zsh", "-f", "-i"], folder, environment)
            shell.send("unsetopt beep; PROMPT='$ '; fpath=($PWD $fpath); autoload -U compinit; compinit -u -D; echo rea''dy\n")
            assert shell.read_until("ready", 30)[0]
            faults += [f"zsh: {f}" for f in check(shell, CASES)]
            shell.close()
    print("\n".join(faults) if faults else "ok: " + ", ".join(tried))
    if not tried:
        return 77
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
