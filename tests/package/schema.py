"""The JSON Schema takes every shipped scenario and refuses wrong ones, as the reader does.

  schema.py BINARY SOURCES
"""

import json
import pathlib
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(missing)
    sys.exit(77)

GOOD = "fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 4}\nworkload: {collective: all_reduce}\n"

# What is added to or put in place of a good scenario, and whether the reader takes it.
CHANGES = [
    ("", True),
    ("fabric: {kind: fat_tree, switch: {rate: 800Gbps, latency: 250 ns}, oversubscription: 2}", True),
    ("fabric: {switch: {ports: 128}}", True),
    ("routing: {kind: ecmp, seeds: 16, hash: crc32}", True),
    ("faults: [{link: node0.nic0, rate: 10%, until: 2ms}, {link: leaf0, rate: 0}]", True),
    ("nccl: {version: 2.28, env: {NCCL_ALGO: Ring, NCCL_NEW_THING: 1}}", True),
    ("cluster: {nodes: 2, placement: [1, 0]}", True),
    ("cluster: {nodes: 2, placement: random}", True),
    ("node: {gpu: h100-sxm, gdr: false}", True),
    ("node: {gpu: h100-sxm, gdr: auto}", True),
    ("workload: {kind: training_step, model: {preset: llama3-8b}, batch: {global: 64}, recompute: full}", True),
    ("workload: {kind: inference, model: {preset: llama3-8b}, phase: prefill}", True),
    ("sweep: {fabric.kind: [fat_tree, rail_only], cluster.nodes: {from: 2, to: 8, factor: 2}}", True),
    ("objective: {minimize: time_us, keep: cost <= 2}", True),
    ("objective: {minimise: time_us}", False),
    ("sweep: {fabric.kind: fat_tree}", False),
    ("fabrik: {kind: fat_tree}", False),
    ("fabric: {kind: fat_tree, nodes_per_leaf: 2}", False),  # of leaf_spine
    ("fabric: {kind: klein_bottle}", False),
    ("fabric: {kind: fat_tree, switch: {rate: 800}}", False),
    ("fabric: {kind: fat_tree, switch: {rate: 800gbps}}", False),
    ("fabric: {kind: fat_tree, oversubscription: 0.5}", False),
    ("fabric: [fat_tree]", False),
    ("routing: {kind: adaptive, seeds: 16}", False),  # of ecmp
    ("routing: {kind: ecmp, seeds: 0}", False),
    ("faults: [{link: node0.nic0}]", False),
    ("faults: [{rate: 10%}]", False),
    ("faults: {link: node0.nic0, rate: 10%}", False),
    ("nccl: {env: {CUDA_VISIBLE_DEVICES: 0}}", False),
    ("cluster: {nodes: 0}", False),
    ("cluster: {nodes: 2.5}", False),
    ("cluster: {nodes: many}", False),
    ("node: {gpu: h1000}", False),
    ("node: {profile: hgx-h1000}", False),
    ("node: {gpu: h100-sxm, gdr: perhaps}", False),
    ("workload: {kind: collective, model: {preset: llama3-8b}}", False),  # of a step
    ("workload: {kind: training_step, phase: decode, model: {preset: llama3-8b}}", False),  # of inference
    ("workload: {kind: training_step, model: {preset: llama9}}", False),
    ("workload: {sizes: [1MiB, 2]}", False),
    ("workload: {collective: allreduce}", False),
    ("fabricast: 2", False),
    ("-fabricast", False),  # without that section
    ("-node", False),
    ("-cluster", False),
    ("-workload", False),
]


def changed(change):
    lines = {line.split(":")[0]: line for line in GOOD.splitlines()}
    if change.startswith("-"):
        del lines[change[1:]]
    elif change:
        lines[change.split(":")[0]] = change
    return "\n".join(lines.values()) + "\n"


def run(binary, *arguments, text=None):
    return subprocess.run([binary, *arguments], input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def keys_without_description(schema, path=""):
    """Every key that can be written says what it is."""
    missing = []
    for key, part in schema.get("properties", {}).items():
        if isinstance(part, dict):
            if not part.get("description") and "const" not in part:
                missing.append(f"{path}.{key}")
            missing += keys_without_description(part, f"{path}.{key}")
    for branch in schema.get("allOf", []):
        missing += keys_without_description(branch["then"], path)
    return missing


def main(binary, sources):
    schema = json.loads(run(binary, "schema").stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    faults = [f"{path} has no description" for path in keys_without_description(schema)]
    count = 0
    for file in sorted((pathlib.Path(sources) / "scenarios").rglob("*.yaml")):
        content = yaml.safe_load(file.read_text())
        if not isinstance(content, dict) or "fabricast" not in content:
            continue  # what a scenario names: a fabric, prices
        count += 1
        faults += [f"{file}: {list(e.path)}: {e.message}" for e in validator.iter_errors(content)]
        effective = run(binary, "run", str(file), "--dump-effective").stdout
        faults += [f"{file}, effective: {list(e.path)}: {e.message}" for e in validator.iter_errors(yaml.safe_load(effective))]
    if count < 25:
        faults.append(f"only {count} scenarios found")
    for change, good in CHANGES:
        text = changed(change)
        errors = list(validator.iter_errors(yaml.safe_load(text)))
        if bool(errors) == good:
            faults.append(f"'{change}' should be {'taken' if good else 'refused'}: {[e.message for e in errors]}")
        if change.startswith(("sweep", "objective")):
            continue  # which `run` leaves to `plan`
        reader = run(binary, "run", "/dev/stdin", "--dump-effective", text=text).returncode
        if (reader == 0) != good:
            faults.append(f"the reader says {reader} to '{change}'")
    print("\n".join(faults) if faults else f"ok: {count} scenarios, {len(CHANGES)} changes")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
