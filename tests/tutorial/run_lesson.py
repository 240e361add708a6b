"""Runs the ```console blocks of a lesson and compares what they print with what the lesson shows.

  run_lesson.py --binary build/fabricast docs/tutorial/1-first-forecast.md   check
  run_lesson.py --binary build/fabricast --update docs/tutorial/*.md         write what is printed now into them

A block is a dialogue with the shell: `$ ` starts a command, which goes on over here-documents and trailing backslashes;
the lines below it are what it prints, errors included. Every command must end with exit code 0; one that is to fail
says so itself (`fabricast ... ; echo "exit code $?"`). All commands of a lesson run in one new directory.

Lines are compared with numbers masked and blanks squeezed, so that a new calibration does not break a lesson, but a
column or message that vanishes does. In a row of a table it may also change what binds, as the rows at an edge do; in
`explain` it may not. A line `...` stands for any number of lines. A line that starts with `exit code` is compared as
it is. The tree's scenarios lie in `scenarios/`. README.md is a lesson too.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LINK = re.compile(r"\b(node|leaf|spine|core|group)s?\d*[\w.]*(#\d+)?-(node|leaf|spine|core|group)?[\w.]+(#\d+)?")
BINDS = re.compile(r"(?<= )(LINK|latency|gpu copy|proxy thread)(?= *(\(|$))")
NUMBER = re.compile(r"\b[0-9a-f]{16}\b|\d+(\.\d+)?([eE][-+]?\d+)?")
SCENARIOS = pathlib.Path(__file__).resolve().parents[2] / "scenarios"
HERE_DOCUMENT = re.compile(r"<<\s*'?(\w+)'?")


def mask(line):
    if line.startswith("exit code"):
        return line.strip()
    line = LINK.sub("LINK", line)
    if re.match(r" *\d+ ", line):  # a row
        line = BINDS.sub("BINDS", line)
    # Signs go with numbers: a bias may change sides.
    return " ".join(re.sub(r"[-+]?#[-+]?(?= |$)", "#", NUMBER.sub("#", line)).split())


class Command:
    def __init__(self, line_number):
        self.line_number = line_number
        self.text = []
        self.shown = []  # (index in the file, line)

    def script(self):
        return "\n".join(self.text) + "\n"


def commands_of(lines):
    """The commands of all console blocks, in order."""
    commands, inside, end_of_document, more = [], False, None, False
    for i, line in enumerate(lines):
        if line.startswith("```"):
            if inside and (end_of_document or more):
                raise SystemExit(f"line {i + 1}: the block ends inside a command")
            inside = not inside and line.strip() == "```console" if not inside else False
            continue
        if not inside:
            continue
        if end_of_document:
            commands[-1].text.append(line)
            if line.strip() == end_of_document:
                end_of_document = None
            continue
        if more or line.startswith("$ "):
            if not more:
                commands.append(Command(i + 1))
            text = line if more else line[2:]
            commands[-1].text.append(text)
            more = text.endswith("\\")
            found = HERE_DOCUMENT.search(text)
            end_of_document = found.group(1) if found else None
            continue
        if not commands:
            raise SystemExit(f"line {i + 1}: output without a command")
        commands[-1].shown.append((i, line))
    return commands


def align(shown, printed):
    """Pairs of (shown index, printed index), or the first shown line that was not printed in its place."""
    pairs, at, skip = [], 0, False
    for k, (_, line) in enumerate(shown):
        if line.strip() == "...":
            skip = True
            continue
        here = at
        while skip and here < len(printed) and mask(printed[here]) != mask(line):
            here += 1
        if here >= len(printed) or mask(printed[here]) != mask(line):
            return pairs, (k, printed[at] if at < len(printed) else "(nothing more)")
        pairs.append((k, here))
        at, skip = here + 1, False
    if not skip and at < len(printed):
        return pairs, (len(shown), printed[at])
    return pairs, None


def run_lesson(path, binary, update):
    lines = path.read_text().splitlines()
    faults, replace = [], {}
    environment = dict(os.environ, PATH=f"{binary.parent}{os.pathsep}{os.environ['PATH']}", LC_ALL="C.UTF-8")
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(SCENARIOS, pathlib.Path(folder) / "scenarios")
        for command in commands_of(lines):
            done = subprocess.run(["bash", "-c", command.script()], cwd=folder, env=environment, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            printed = done.stdout.splitlines()
            where = f"{path}:{command.line_number}: `{command.text[0]}`"
            if done.returncode != 0:
                faults.append(f"{where} ended with exit code {done.returncode}:\n{done.stdout[-2000:]}")
                continue
            if not command.shown and printed and update:
                faults.append(f"{where} shows nothing, and prints {len(printed)} lines; write `...` or the lines")
            pairs, fault = align(command.shown, printed)
            for k, p in pairs:
                replace[command.shown[k][0]] = printed[p]
            if fault:
                k, got = fault
                want = command.shown[k][1] if k < len(command.shown) else "(the end)"
                faults.append(f"{where}\n  the lesson shows: {want}\n  was printed:      {got}")
                whole = not any(line.strip() == "..." for _, line in command.shown)
                if update and whole and command.shown:
                    for i, _ in command.shown:
                        replace[i] = None
                    replace[command.shown[0][0]] = "\n".join(printed)
    if update and replace:
        kept = [replace.get(i, line) for i, line in enumerate(lines)]
        path.write_text("\n".join(line.rstrip() for line in kept if line is not None) + "\n")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--update", action="store_true", help="write what is printed into the lessons")
    parser.add_argument("lessons", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    faults = []
    for lesson in options.lessons:
        faults += run_lesson(lesson, options.binary.resolve(), options.update)
    print("\n".join(faults) if faults else "ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
