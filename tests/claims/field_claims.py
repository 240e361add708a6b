"""Forecasts what practitioners' guides claim, and holds docs/field-claims.md to it.

  field_claims.py --binary build/fabricast --root .            is the page up to date?
  field_claims.py --binary build/fabricast --root . --update   writes the tables into the page

claims.py says what to run for each claim. The page is written by hand but for what stands between
`<!-- claim ID -->`, or `<!-- summary -->`, and `<!-- end -->`.

Words must be equal; numbers may differ by 1 %, as another compiler may round another way.
"""

import json
import re
import subprocess
import sys

from claims import ALL
from pages import lines_that_differ, options_of, report

NUMBER = re.compile(r"\d+(?:\.\d+)?")
BLOCK = re.compile(r"(<!-- (claim \w+|summary) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


class Run:
    """One forecast row."""

    def __init__(self, scenario, words, row):
        self.scenario, self.words = scenario, words
        self.time = row["time_us"]
        self.worst = row["time_us_worst"]
        self.algbw = row["algbw_gbps"]
        self.busbw = row["busbw_gbps"]
        self.algorithm = row["algorithm"]
        self.protocol = row["protocol"]
        bound = row["bottleneck"]
        self.bottleneck = bound["name"] if isinstance(bound, dict) else bound
        parts = row.get("breakdown_us", {})
        self.launch = parts.get("launch")
        self.waiting = (parts["launch"] + parts["latency"]) / sum(parts.values()) if parts else None

    def text(self):
        share = "" if self.waiting is None else f", launch and latency {100 * self.waiting:.0f} %"
        what = " ".join([f"{self.scenario}.yaml", *self.words]).replace("nccl.env.NCCL", "NCCL")
        return f"`{what}`: {self.algorithm}/{self.protocol}, {self.bottleneck}{share}"


class Step:
    """One forecast step. Times in seconds."""

    def __init__(self, scenario, words, told):
        self.scenario, self.words = scenario, words
        self.time, self.worst = told["step_s"], told["step_s_worst"]
        self.tokens = told["step_s"] * told["tokens_per_s"]
        self.tokens_per_gpu = told["tokens_per_s_per_gpu"]
        self.exposed = sum(told["breakdown"]["exposed"].values())
        self.collectives = told["collectives"]
        self.disaggregated = told.get("disaggregated")
        self.prefix = told.get("prefix")

    def collective(self, collective):
        """The one with most bytes."""
        return max((e for e in self.collectives if e["collective"] == collective), key=lambda e: e["bytes"])

    def text(self):
        what = " ".join([f"{self.scenario}.yaml", *self.words]).replace("nccl.env.NCCL", "NCCL").replace("workload.", "")
        return f"`{what}`: exposed {100 * self.exposed / self.time:.0f} %"


def json_of(verb):
    """Options. No claim is about intervals, which take longer than the forecast."""
    return ("--json", "-", "--no-intervals") if verb == "run" else ("--json", "-")


class Simulator:
    """Runs scenarios of scenarios/claims, each only once, and notes what was run."""

    def __init__(self, binary, root):
        self.binary, self.root = binary, root
        self.known, self.noted, self.used = {}, [], set()

    def output(self, verb, scenario, words, *more):
        self.used.add(scenario)
        command = [str(self.binary), *verb.split(), f"scenarios/claims/{scenario}.yaml", *more]
        for word in words:
            command += ["--set", word]
        done = subprocess.run(command, cwd=self.root, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return done.returncode, done.stdout, done.stderr

    def row(self, verb, scenario, size, *words):
        key = (verb, scenario, size, words)
        if key not in self.known:
            # A size last of all, as a whole section may be set before.
            code, out, err = self.output(verb, scenario, (*words, f"workload.sizes=[{size}]"), *json_of(verb))
            if code != 0:
                raise SystemExit(f"{key}: exit code {code}\n{err}")
            told = json.loads(out)
            self.known[key] = Run(scenario, words, told["row"] if verb == "explain" else told["rows"][0])
        self.noted.append(self.known[key])
        return self.known[key]

    def __call__(self, scenario, size, *words):
        return self.row("run", scenario, size, *words)

    def step(self, scenario, *words):
        key = ("step", scenario, words)
        if key not in self.known:
            code, out, err = self.output("run", scenario, words, *json_of("run"))
            if code != 0:
                raise SystemExit(f"{key}: exit code {code}\n{err}")
            self.known[key] = Step(scenario, words, json.loads(out))
        self.noted.append(self.known[key])
        return self.known[key]

    def explained(self, scenario, size, *words):
        """As a call, with the parts of the time; takes longer."""
        return self.row("explain", scenario, size, *words)

    def said(self, scenario, *words):
        """The first warning or error."""
        _, _, err = self.output("run", scenario, words)
        return re.sub(r"^.*?(error|warning): ", "", err.splitlines()[0]) if err else "nothing wrong"

    def fabric(self, scenario, *words):
        return self.output("inspect fabric", scenario, words)[1]

    def buffers(self, scenario, *words):
        """MiB of NCCL's buffers on a GPU."""
        text = self.output("inspect plan", scenario, words)[1]
        size, unit = re.search(r"buffers of rings and trees on rank 0: ([\d.]+)(KiB|MiB|GiB) of the GPU", text).groups()
        return float(size) * {"KiB": 1 / 1024, "MiB": 1, "GiB": 1024}[unit]

    def told(self, *words):
        return subprocess.run([str(self.binary), *words], check=True, text=True, stdout=subprocess.PIPE).stdout


def shown(value, unit):
    if isinstance(value, str):
        return value
    if unit == "%":
        return f"{round(value, 1) + 0.0:.1f} %"
    number = f"{value:.0f}" if abs(value) >= 999.5 else f"{value:.3g}"
    return f"{number} {unit}".rstrip()


def is_met(row, value):
    """Whether the forecast is what is claimed; None if the row makes no claim."""
    if row.claimed is None:
        return None
    if isinstance(row.claimed, str) or isinstance(value, str):
        return value == row.claimed
    low, high = row.claimed
    return low <= value <= high


def runs_of(simulator):
    seen = list(dict.fromkeys(run.text() for run in simulator.noted))
    return "<br>".join(seen[:2])


def table(claim, simulator):
    """The table of a claim, and its verdict."""
    lines, verdicts = ["| case | claim | forecast | verdict | scenario: algorithm, bottleneck |", "|---|---|---|---|---|"], []
    for row in claim.rows:
        simulator.noted = []
        value = row.forecast(simulator)
        met = is_met(row, value)
        if met is not None:
            verdicts.append(met)
        mark = "" if met is None else "agrees" if met else "**disagrees**"
        lines.append(f"| {row.what} | {row.text or '-'} | {shown(value, row.unit)} | {mark} | {runs_of(simulator)} |")
    verdict = "agrees" if all(verdicts) else "agrees in part" if any(verdicts) else "disagrees"
    return "\n".join(lines) + "\n", verdict


def blocks(simulator):
    """Generated text by marker."""
    texts, summary = {}, ["| claim | subject | forecast |", "|---|---|---|"]
    for claim in ALL:
        texts[f"claim {claim.name}"], verdict = table(claim, simulator)
        summary.append(f"| {claim.name} | {claim.on} | {verdict} |")
    texts["summary"] = "\n".join(summary) + "\n"
    return texts


def filled(page, texts):
    return BLOCK.sub(lambda m: m[1] + texts.get(m[2], "") + m[4], page)


def differs(a, b):
    """Whether two lines differ by more than the rounding of numbers."""
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return True
    return any(abs(float(x) - float(y)) > 0.01 * max(float(x), float(y)) + 1e-12
               for x, y in zip(NUMBER.findall(a), NUMBER.findall(b)))


def faults_of(page, texts):
    markers = [m[2] for m in BLOCK.finditer(page)]
    faults = [f"docs/field-claims.md has no block <!-- {name} -->" for name in texts if name not in markers]
    faults += [f"claims.py says nothing of <!-- {name} -->" for name in markers if name not in texts]
    return faults + lines_that_differ("docs/field-claims.md", page, filled(page, texts), differs)


def main():
    options = options_of(__doc__.splitlines()[0])
    simulator = Simulator(options.binary.resolve(), options.root)
    texts = blocks(simulator)
    path = options.root / "docs" / "field-claims.md"
    page = path.read_text()
    if options.update:
        page = filled(page, texts)
        path.write_text(page)
    faults = faults_of(page, texts)
    there = {file.stem for file in (options.root / "scenarios" / "claims").glob("*.yaml")}
    faults += [f"scenarios/claims/{name}.yaml answers no claim" for name in sorted(there - simulator.used)]
    return report(faults)


if __name__ == "__main__":
    sys.exit(main())
