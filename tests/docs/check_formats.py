"""Compares docs/formats.md with what the binary knows: every key, every field of its outputs.

  check_formats.py ROOT BINARY
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

SCENARIO = """fabricast: 1
node: {profile: hgx-h100}
cluster: {nodes: 2}
faults: [{link: node0.nic0, rate: 50%}]
workload: {sizes: [256KiB, 64MiB]}
"""


def output(binary, *arguments):
    return subprocess.run([binary, *arguments], check=True, text=True, stdout=subprocess.PIPE).stdout


def first_words(text):
    return re.findall(r"^  (\S+) ", text, flags=re.MULTILINE)


def keys_of(binary):
    """All keys that a scenario may have, as paths."""
    keys = set(first_words(output(binary, "list", "scenario")))
    for section, catalogue in (("fabric", "topologies"), ("routing", "routing"), ("workload", "workloads")):
        for kind in first_words(output(binary, "list", catalogue)):
            keys |= {f"{section}.{key}" for key in first_words(output(binary, "describe", kind))}
    return keys | set(first_words(output(binary, "list", "prices")))


STEP = """fabricast: 1
node: {profile: hgx-h100}
cluster: {nodes: 2}
workload:
  kind: training_step
  model: {preset: llama2-7b}
  batch: {global: 32}
  parallel: {tensor: 2, pipeline: 2}
  overlap: {data: false}
"""

JOBS = """fabricast: 1
node: {profile: hgx-h100}
cluster: {nodes: 2, placement: [0, 3]}
fabric: {kind: leaf_spine, nodes_per_leaf: 3}
workload: {collective: all_reduce, sizes: [64MiB]}
jobs: [{nodes: 2, placement: [1, 4]}]
background: [{targets: [5], rate: 1GBps}]
"""

SERVING = """fabricast: 1
node: {profile: hgx-h100, gdr: false}
cluster: {nodes: 2}
workload:
  kind: inference
  model: {preset: llama2-7b}
  phase: both
  parallel: {tensor: 2}
  disaggregated: {prefill: {gpus: 8, parallel: {tensor: 2}}}
"""


# Maps whose keys are the user's or a tool's: the scenario, NCCL's variables, words of a log.
MAPS = {"scenario", "env", "details", "names", "parts_gib"}


def fields_of(value):
    """Names of all fields of a JSON value, but those of maps with any keys."""
    if isinstance(value, list):
        return set().union(*(fields_of(v) for v in value)) if value else set()
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(fields_of(v) for k, v in value.items() if k not in MAPS)) if value else set()


def gate_fields(binary, scenario):
    """Fields of floors, of a verdict with wrong results, and of the refusal of another cluster's log."""
    fields = fields_of(json.loads(output(binary, "gate", str(scenario), "--json", "-")))
    log = scenario.with_suffix(".log")
    row = "1048576 262144 float sum -1 90000.0 0.01 0.02 {wrong}\n"
    header = "#  Rank  0 Group  0 Pid 1 on host device  0 [0x1b] {gpu}\n# size count type redop root time algbw busbw #wrong\n"
    for gpu, wrong in (("", 3), ("NVIDIA A100-SXM4-80GB", 0)):
        log.write_text((header.format(gpu=gpu) if gpu else "") + row.format(wrong=wrong))
        ran = subprocess.run([binary, "gate", str(scenario), "--log", str(log), "--json", "-"], text=True, stdout=subprocess.PIPE)
        report = json.loads(ran.stdout)
        assert ran.returncode == 1 and ("contradictions" in report) == bool(gpu), report
        fields |= fields_of(report)
    return fields


def doctor_fields(binary, root):
    """Fields of a report on a host of one GPU and one NIC, which is bad enough to end with 1."""
    devices = root / "sys" / "devices" / "pci0000:00"
    for address, vendor, kind in (("0000:00:01.0", "0x10de", "0x030200"), ("0000:00:02.0", "0x15b3", "0x020700")):
        device = devices / address
        device.mkdir(parents=True)
        (device / "vendor").write_text(vendor)
        (device / "class").write_text(kind)
        link = root / "sys" / "bus" / "pci" / "devices" / address
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(device)
    nic = root / "sys" / "class" / "infiniband" / "mlx5_0"
    nic.mkdir(parents=True)
    (nic / "device").symlink_to(devices / "0000:00:02.0")
    ran = subprocess.run([binary, "doctor", "--root", str(root), "--json", "-"], text=True, stdout=subprocess.PIPE)
    report = json.loads(ran.stdout)
    assert ran.returncode == 1 and report["pairs"], report
    return fields_of(report) | fleet_fields(binary, report, root.parent / "fleet")


def fleet_fields(binary, report, folder):
    """Fields of a comparison of three hosts of which one is odd, and of a damaged report."""
    folder.mkdir()
    for name, driver in (("a", "1"), ("b", "1"), ("c", "2")):
        own = report | {"host": name, "facts": report["facts"] | {"driver": driver}}
        (folder / f"{name}.json").write_text(json.dumps(own))
    (folder / "d.json").write_text("{")
    ran = subprocess.run([binary, "doctor", "--fleet", str(folder), "--json", "-"], text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    fleet = json.loads(ran.stdout)
    assert ran.returncode == 1 and fleet["differing"] and fleet["odd_hosts"] and fleet["left_out"], fleet
    return fields_of(fleet)


def doctor_names(root):
    """Checks of the doctor, and the variables that it looks at."""
    source = root / "calibrate" / "doctor"
    checks = re.findall(r'Check\{"(\w+)"', (source / "doctor.cpp").read_text())
    variables = re.findall(r'"((?:NCCL|CUDA)_[A-Z0-9_]+)"', (source / "variables.cpp").read_text())
    assert len(checks) > 15 and len(variables) > 15, (checks, variables)
    return checks + variables


def missing(page, wanted):
    """What the page does not name in `code`, with or without a suffix [] for lists."""
    page = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    named = {word.removesuffix("[]") for span in re.findall(r"`([^`]+)`", page) for word in re.split(r"[,\s]+", span)}
    return sorted(name for name in wanted if name.removesuffix("[]") not in named)


def check(root, binary):
    page = (root / "docs" / "formats.md").read_text()
    faults = [f"docs/formats.md does not name the key {key}" for key in missing(page, keys_of(binary))]
    with tempfile.TemporaryDirectory() as folder:
        scenario = pathlib.Path(folder) / "s.yaml"
        scenario.write_text(SCENARIO)
        fields = fields_of(json.loads(output(binary, "run", str(scenario), "--json", "-")))
        fields |= fields_of(json.loads(output(binary, "explain", str(scenario), "--advise", "--json", "-")))
        best = output(binary, "run", str(scenario), "--set", "nccl.selection=best", "--json", "-")
        fields |= fields_of(json.loads(best))
        fields |= fields_of(json.loads(output(binary, "explain", str(scenario), "--json", "-")))
        fields |= fields_of(json.loads(output(binary, "run", str(scenario), "--set", "nccl.version=unknown", "--json", "-")))
        fields |= set(output(binary, "run", str(scenario), "--csv", "-").splitlines()[0].split(","))
        fields |= gate_fields(binary, scenario)
        scenario.write_text(STEP)
        fields |= fields_of(json.loads(output(binary, "explain", str(scenario), "--json", "-")))
        fields |= set(output(binary, "run", str(scenario), "--csv", "-").splitlines()[0].split(","))
        risk = [binary, "risk", str(scenario), "--samples", "50"]
        fields |= fields_of(json.loads(output(*risk, "--json", "-")))
        fields |= set(output(*risk, "--csv", "-").splitlines()[0].split(","))
        serving = pathlib.Path(folder) / "serving.yaml"
        serving.write_text(SERVING)
        fields |= fields_of(json.loads(output(binary, "explain", str(serving), "--json", "-")))
        prices = root / "scenarios" / "prices.yaml"
        bill = [binary, "bill", str(scenario), "--set", f"prices={prices}"]
        fields |= fields_of(json.loads(output(*bill, "--json", "-")))
        fields |= set(output(*bill, "--csv", "-").splitlines()[0].split(","))
        plan = [binary, "plan", str(scenario), "--search", "parallel", "--limit", "4"]
        fields |= fields_of(json.loads(output(*plan, "--json", "-")))
        fields |= set(output(*plan, "--csv", "-").splitlines()[0].split(","))
        scenario.write_text(JOBS)
        fields |= fields_of(json.loads(output(binary, "jobs", str(scenario), "--json", "-")))
        header = output(binary, "jobs", str(scenario), "--csv", "-").splitlines()[0].split(",")
        fields |= {name for name in header if not name.startswith("beside_")}
        fields |= doctor_fields(binary, pathlib.Path(folder) / "host")
    logs = sorted(str(log) for log in (root / "tests" / "fuzz" / "import").iterdir())
    fields |= fields_of(json.loads(output(binary, "calibrate", "import", *logs, "--json", "-")))
    doctor = (root / "docs" / "calibrate" / "doctor.md").read_text()
    faults += [f"docs/calibrate/doctor.md does not name {name}" for name in missing(doctor, doctor_names(root))]
    return faults + [f"docs/formats.md does not name the field {field}" for field in missing(page, fields)]


if __name__ == "__main__":
    found = check(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2])
    print("\n".join(found) if found else "ok")
    sys.exit(1 if found else 0)
