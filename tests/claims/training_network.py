"""The table of docs/models/training-network.md: what the network does to steps.

  training_network.py --binary build/fabricast --root .            is the page up to date?
  training_network.py --binary build/fabricast --root . --update   writes the table into the page

Numbers may differ by 1 % of the step, as another compiler may round another way.
"""

import json
import re
import subprocess
import sys

from pages import lines_that_differ, options_of, report

PAGE = "docs/models/training-network.md"
BLOCK = re.compile(r"(<!-- steps -->\n)(.*?)(<!-- end -->)", re.DOTALL)
# Scenario, its NICs' Gb/s, its nodes.
JOBS = (("step_zero3", 400, 32), ("step_strong_scaling", 200, 64), ("step_experts", 400, 32))
ADAPTIVE = ("routing={kind: adaptive}",)
SCATTERED = ("cluster.placement=random",)
SLOW = ("faults=[{link: node3.nic0, rate: 10%}]",)


def rate(factor):
    return lambda gbps, nodes: (*ADAPTIVE, f"node.nics.rate={factor * gbps:g}Gbps")


def always(*words):
    return lambda gbps, nodes: words


def apart(gbps, nodes):
    """No two neighbours of the job share a leaf."""
    order = ", ".join(str(i % 4 * (nodes // 4) + i // 4) for i in range(nodes))
    return (*ADAPTIVE, "fabric.oversubscription=4", f"cluster={{nodes: {nodes}, placement: list, order: [{order}]}}")


ROWS = (
    ("adaptive routing, 1:1, in order", always(*ADAPTIVE)),
    ("NICs of half the rate", rate(0.5)),
    ("NICs of twice the rate", rate(2)),
    ("2:1, in order", always(*ADAPTIVE, "fabric.oversubscription=2")),
    ("4:1, in order", always(*ADAPTIVE, "fabric.oversubscription=4")),
    ("2:1, scattered", always(*ADAPTIVE, *SCATTERED, "fabric.oversubscription=2")),
    ("4:1, scattered", always(*ADAPTIVE, *SCATTERED, "fabric.oversubscription=4")),
    ("4:1, no neighbours at a leaf", apart),
    ("ECMP, in order: 16 samples", always()),
    ("ECMP, scattered: 16 samples", always(*SCATTERED)),
    ("ECMP, one switch: 16 samples", always("fabric={kind: single_switch}")),
    ("one cable at 10 %", always(*ADAPTIVE, *SLOW)),
    ("no GPUDirect RDMA", always(*ADAPTIVE, "node.gdr=false")),
    ("rings only", always(*ADAPTIVE, "nccl.env.NCCL_ALGO=Ring")),
)


def step(binary, root, scenario, words):
    command = [str(binary), "run", f"scenarios/{scenario}.yaml", "--json", "-", "--no-intervals"]
    for word in words:
        command += ["--set", word]
    return json.loads(subprocess.run(command, cwd=root, check=True, text=True, stdout=subprocess.PIPE).stdout)


def cell(told, usual):
    more = 100 * (told["step_s"] / usual["step_s"] - 1)
    exposed = 100 * sum(told["breakdown"]["exposed"].values()) / told["step_s"]
    text = f"{told['step_s']:.3g} s"
    if told is not usual:
        text += f" ({more:+.0f} %)"
    if told["samples"] > 1:
        text += f", {told['step_s_p5']:.3g} to {told['step_s_worst']:.3g}"
    return f"{text}; exposed {exposed:.0f} %"


def table(binary, root):
    lines = ["| | ZeRO-3 | strong scaling | experts over nodes |", "|---|---|---|---|"]
    usual = {}
    for what, words in ROWS:
        cells = []
        for scenario, gbps, nodes in JOBS:
            told = step(binary, root, scenario, words(gbps, nodes))
            cells.append(cell(told, usual.setdefault(scenario, told)))
        lines.append(f"| {what} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def numbers(text):
    return [float(n) for n in re.findall(r"\d+(?:\.\d+)?", text)]


def differs(a, b):
    """Per cents are rounded to whole ones, so they may be one off."""
    x, y = numbers(a), numbers(b)
    return len(x) != len(y) or any(abs(p - q) > max(1.0 if p == int(p) else 0, 0.01 * q) for p, q in zip(x, y))


def main():
    options = options_of(__doc__.splitlines()[0])
    path = options.root / PAGE
    page = path.read_text()
    new = BLOCK.sub(lambda m: m[1] + table(options.binary.resolve(), options.root) + m[3], page)
    if options.update:
        path.write_text(new)
        page = new
    faults = [] if BLOCK.search(page) else [f"{PAGE} has no table"]
    return report(faults + lines_that_differ(PAGE, page, new, differs))


if __name__ == "__main__":
    sys.exit(main())
