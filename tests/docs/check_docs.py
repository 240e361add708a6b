"""Checks the documentation against itself and against the code.

  check_docs.py ROOT

- every relative link of a Markdown file leads to a file, and to a heading of it if it names one;
- every citation key in code, data and docs is defined in docs/references.md, and every key there is used;
- every page of docs/models ends with a Validation paragraph, and is listed in docs/index.md;
- every decision record has its four sections and fewer than 40 lines.
"""

import pathlib
import re
import sys

CODE = ("include", "sim", "models", "calibrate", "tests")
SUFFIXES = {".hpp", ".cpp", ".json", ".inc"}

# [Name1999], [Name-part-1.6], [name-study-4], [CamelCase] in comments and texts; not [i], [engine] or [a-z].
KEY = re.compile(
    r"\[("
    r"[A-Z][A-Za-z]+\d{4}[a-z]?"
    r"|[A-Z][A-Za-z]{2,}(?:-[A-Za-z0-9.]+)+"
    r"|[a-z]{3,}(?:-[A-Za-z0-9.]+)+"
    r"|[A-Z][a-z]+[A-Z][A-Za-z]*"
    r")\](?!\()")
DEFINITION = re.compile(r"^- \*\*\[([^\]]+)\]\*\*", re.MULTILINE)
# Words in the data that are not hyphenated enough to be told from an index.
PLAIN_KEYS = re.compile(r'"source": "[^"]*\[(published|claims)\]')


def without_code(text):
    """Markdown without fenced blocks and code spans."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def without_tags(text):
    """C++ without the tags of tests, and without attributes and the like."""
    return re.sub(r'TEST_CASE\((".*?"), *"[^"]*"\)', r"\1", text)


def keys_of(text):
    return set(KEY.findall(text)) | set(PLAIN_KEYS.findall(text))


def is_defined(key, defined):
    """A key is defined if it is, or if it is a section (`-1.6`) of one that is."""
    return key in defined or re.sub(r"-[A-Z]?\d+(\.\d+)*$", "", key) in defined


def anchors_of(text):
    """GitHub's anchors of the headings."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    anchors = set()
    for title in re.findall(r"^#+ +(.*)$", text, flags=re.MULTILINE):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "")
        anchors.add(re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-"))
    return anchors


def link_faults(path, text, exists=pathlib.Path.exists):
    faults = []
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = path if not file else path.parent / file
        if not exists(there):
            faults.append(f"{path}: the link {target} leads nowhere")
        elif anchor and there.suffix == ".md" and anchor not in anchors_of(text if not file else there.read_text()):
            faults.append(f"{path}: {file or 'the page'} has no heading #{anchor}")
    return faults


def key_faults(used, defined):
    """`used`: place -> keys."""
    faults = [f"{place}: [{key}] is not in docs/references.md"
              for place, keys in sorted(used.items()) for key in sorted(keys) if not is_defined(key, defined)]
    all_used = set().union(*used.values()) if used else set()
    bases = {re.sub(r"-[A-Z]?\d+(\.\d+)*$", "", key) for key in all_used}
    faults += [f"docs/references.md: [{key}] is used nowhere" for key in sorted(defined) if key not in all_used | bases]
    return faults


def validation_fault(text):
    """The last paragraph, or list after its first line, starts with **Validation.**"""
    last = re.split(r"\n#+ ", without_code(text))[-1]
    found = [p for p in re.split(r"\n\s*\n", last.strip()) if p.startswith("**Validation.**")]
    if not found:
        return "has no **Validation.** paragraph at its end"
    if len(found[-1]) < 120:
        return "says too little under **Validation.**"
    return None


def record_faults(text):
    faults = [f"has no section {s}" for s in ("Context", "Decision", "Alternatives", "Consequences")
              if not re.search(rf"^## {s}$", text, flags=re.MULTILINE)]
    if len(text.splitlines()) >= 40:
        faults.append("has 40 lines or more")
    return faults


def check(root):
    faults = []
    pages = sorted(root.glob("*.md"))
    for area in ("docs", "scenarios"):
        pages += sorted((root / area).rglob("*.md"))
    for page in pages:
        faults += link_faults(page, page.read_text())

    references = (root / "docs" / "references.md").read_text()
    defined = set(DEFINITION.findall(references))
    used = {}
    for area in CODE:
        for file in sorted((root / area).rglob("*")):
            if file.suffix in SUFFIXES:
                used[file] = keys_of(without_tags(file.read_text()))
    for page in pages:
        if page.name != "references.md":
            used[page] = keys_of(without_code(page.read_text()))
    faults += key_faults(used, defined)

    index = (root / "docs" / "index.md").read_text()
    for page in sorted((root / "docs" / "models").glob("*.md")):
        if fault := validation_fault(page.read_text()):
            faults.append(f"{page} {fault}")
        if f"models/{page.name}" not in index:
            faults.append(f"{page} is not in docs/index.md")
    for page in sorted((root / "docs" / "adr").glob("[0-9]*.md")):
        faults += [f"{page} {fault}" for fault in record_faults(page.read_text())]
    return faults


if __name__ == "__main__":
    found = check(pathlib.Path(sys.argv[1]).resolve())
    print("\n".join(found) if found else "ok")
    sys.exit(1 if found else 0)
