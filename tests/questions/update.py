"""Runs the plans of docs/questions and writes their tables and plots, or holds the pages to them.

  update.py BINARY SOURCE           writes what is printed and drawn now; read the difference before you commit it
  update.py --check BINARY SOURCE   are pages and plots up to date?

A page is written by hand but for what stands between `<!-- plan -->` and `<!-- end -->`: a ```console block of one command,
`$ fabricast plan scenarios/questions/NAME.yaml ... --svg docs/questions/NAME.svg`, and what it prints. Commands run in the
source's root, the plots of a check go to a folder of their own.

Words must be equal; numbers may differ by 1 %, as another compiler may round another way, and of a plot by 3 pixels.
"""

import argparse
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

NUMBER = re.compile(r"\d+(?:\.\d+)?")
BLOCK = re.compile(r"(<!-- plan -->\n```console\n\$ ([^\n]*)\n)(.*?)(```\n<!-- end -->)", re.DOTALL)
COMMAND = re.compile(r"fabricast plan (scenarios/questions/(\w+)\.yaml)( .*)? --svg (docs/questions/(\w+)\.svg)( .*)?")
MOST_BYTES = 40_000  # of a plot


def differs(a, b, near=0.0):
    """Whether two texts differ by more than the rounding of numbers. Widths of columns do not count."""
    a, b = " ".join(a.split()), " ".join(b.split())
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return True
    return any(abs(float(x) - float(y)) > max(near, 0.01 * max(float(x), float(y))) + 1e-12
               for x, y in zip(NUMBER.findall(a), NUMBER.findall(b)))


def block_of(page):
    """The match of a page's block, or why there is none."""
    found = BLOCK.findall(page)
    if len(found) != 1:
        return None, f"has {len(found)} blocks <!-- plan -->, not one"
    block = BLOCK.search(page)
    command = COMMAND.fullmatch(block[2])
    if not command or command[2] != command[5]:
        return None, "its command is not `fabricast plan scenarios/questions/NAME.yaml ... --svg docs/questions/NAME.svg`"
    return block, None


def run(binary, source, command, svg):
    """What a page's command prints, its plot written to `svg`."""
    words = shlex.split(command)
    words[0], words[words.index("--svg") + 1] = str(binary), str(svg)
    done = subprocess.run([*words, "--threads", "1"], cwd=source, text=True, capture_output=True)
    if done.returncode != 0:
        raise SystemExit(f"{command}\nended with exit code {done.returncode}:\n{done.stderr}")
    return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())


def in_order(text):
    """Lines by their words, as rows that are equal but for rounding may change places."""
    return sorted(text.splitlines(), key=lambda line: line.lstrip(" >*-"))


def table_faults(shown, printed):
    old, new = in_order(shown), in_order(printed)
    faults = [] if len(old) == len(new) else [f"shows {len(old)} lines, {len(new)} are printed"]
    return faults + [f"shows:    {a}\n  is now: {b}" for a, b in zip(old, new) if differs(a, b)]


def plot_faults(old, new):
    """Of a plot on disk, or None where there is none."""
    if old is None:
        return ["its plot is missing"]
    faults = [f"its plot has {len(old)} bytes, more than {MOST_BYTES}"] if len(old) > MOST_BYTES else []
    return faults + (["its plot is not the one that is drawn now"] if differs(old, new, near=3) else [])


def check(binary, source, page, text, block):
    plot = source / "docs" / "questions" / f"{COMMAND.fullmatch(block[2])[5]}.svg"
    if f"]({plot.name})" not in text:
        return [f"does not show {plot.name}"]
    with tempfile.TemporaryDirectory() as folder:
        drawn = pathlib.Path(folder) / plot.name
        printed = run(binary, source, block[2], drawn)
        return table_faults(block[3], printed) + plot_faults(plot.read_text() if plot.exists() else None, drawn.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; are the pages up to date?")
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("source", type=pathlib.Path)
    options = parser.parse_args()
    binary, source = options.binary.resolve(), options.source.resolve()
    folder = source / "docs" / "questions"
    index = (folder / "index.md").read_text()
    faults, answered = [], set()
    for page in sorted(set(folder.glob("*.md")) - {folder / "index.md"}):
        text = page.read_text()
        block, fault = block_of(text)
        found = [fault] if fault else []
        if f"({page.name})" not in index:
            found.append("is not in docs/questions/index.md")
        if block:
            answered.add(COMMAND.fullmatch(block[2])[2])
            if not options.check:
                printed = run(binary, source, block[2], folder / f"{COMMAND.fullmatch(block[2])[5]}.svg")
                text = text[:block.start()] + block[1] + printed + block[4] + text[block.end():]
                page.write_text(text)
                block, _ = block_of(text)
            found += check(binary, source, page, text, block) if options.check else []
        faults += [f"docs/questions/{page.name}: {f}" for f in found]
    there = {file.stem for file in (source / "scenarios" / "questions").glob("*.yaml")}
    faults += [f"scenarios/questions/{name}.yaml has no page" for name in sorted(there - answered)]
    print("\n".join(faults) + "\nrun `ninja -C build update_questions` and read the difference" if faults else "ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
