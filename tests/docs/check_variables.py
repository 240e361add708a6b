"""Compares the table of docs/nccl-variables.md with what the binary says of NCCL's variables.

  check_variables.py ROOT BINARY [--write]

--write writes the table anew, below the line that starts it.
"""

import pathlib
import re
import subprocess
import sys

START = "<!-- from `fabricast describe variables`: check_variables.py --write -->"


def output(binary, *arguments):
    return subprocess.run([binary, *arguments], check=True, text=True, stdout=subprocess.PIPE).stdout


def variables(binary):
    """Name -> summary, what holds without it, values, effect."""
    found = {}
    for name, summary, rest in re.findall(r"^(NCCL_\w+): (.*)\n((?:  .*\n)+)", output(binary, "describe", "variables"),
                                          flags=re.MULTILINE):
        lines = dict(re.findall(r"^  (\w+) +(.*)$", rest, flags=re.MULTILINE))
        found[name] = (summary, lines["unset"], lines["accepts"], lines["effect"])
    return found


def table(binary):
    rows = variables(binary)
    inert = {name for name, row in rows.items() if row[3].startswith("none on forecast times")}
    text = "## With effect\n\n| variable | default | values | for | effect |\n|---|---|---|---|---|\n"
    for name, (summary, unset, accepts, effect) in rows.items():
        if name not in inert:
            text += f"| `{name}` | {unset} | {accepts} | {summary} | {effect} |\n"
    text += "\n## Without effect on time\n\n| variable | default | values | for |\n|---|---|---|---|\n"
    for name, (summary, unset, accepts, _) in rows.items():
        if name in inert:
            text += f"| `{name}` | {unset} | {accepts} | {summary} |\n"
    return text


def check(page, binary):
    """Faults of the page, and what it should be."""
    head, start, rest = page.partition(START)
    if not start:
        return ["docs/nccl-variables.md has no table"], page
    wanted = table(binary)
    if rest.strip() == wanted.strip():
        return [], page
    there, should = set(rest.splitlines()), set(wanted.splitlines())
    faults = [f"docs/nccl-variables.md lacks: {line}" for line in wanted.splitlines() if line not in there]
    faults += [f"docs/nccl-variables.md has: {line}" for line in rest.splitlines() if line and line not in should]
    return faults or ["docs/nccl-variables.md: rows are in another order"], f"{head}{START}\n\n{wanted}"


if __name__ == "__main__":
    path = pathlib.Path(sys.argv[1]).resolve() / "docs" / "nccl-variables.md"
    found, better = check(path.read_text(), sys.argv[2])
    if "--write" in sys.argv:
        path.write_text(better)
        found = []
    print("\n".join(found) if found else "ok")
    sys.exit(1 if found else 0)
