"""`init`: what it writes by options runs, and what it writes by asking is the same.

  init.py BINARY
"""

import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

NODES = ["dgx-a100", "dgx-v100", "gb200-tray", "hgx-b200", "hgx-b300", "hgx-h100", "hgx-h100-roce", "hgx-h200", "p5"]
FABRICS = ["single_switch", "leaf_spine", "fat_tree", "rail_optimized", "rail_only"]
ROUTINGS = ["ecmp", "adaptive", "spray", "static"]

# By options; each is written, and its forecast made.
COMBINATIONS = (
    [["--node", n, "--nodes", "18" if n == "gb200-tray" else "4"] for n in NODES]
    + [["--nodes", "8", "--fabric", f, "--routing", r, "--collective", "all_gather"] for f in FABRICS for r in ROUTINGS]
    + [
        ["--defaults"],
        ["--nodes", "1"],
        ["--fabric", "fat_tree", "--oversubscription", "2.5", "--nodes", "32"],
        ["--node", "gb200-tray", "--nodes", "36", "--nvlink-domain", "18"],
        ["--node", "gb200-nvl72", "--nodes", "17"],
        ["--node", "gb200-nvl72", "--nodes", "20", "--workload", "training_step", "--model", "llama3-8b"],
        ["--workload", "training_step", "--nodes", "8"],
        ["--workload", "training_step", "--nodes", "3", "--model", "llama3-8b", "--batch", "96"],
        ["--workload", "training_step", "--nodes", "16", "--model", "mixtral-8x7b", "--fabric", "fat_tree"],
        ["--workload", "inference", "--nodes", "1", "--model", "llama3-8b"],
        ["--workload", "inference", "--nodes", "2", "--phase", "both", "--batch", "16"],
        ["--workload", "inference", "--nodes", "2", "--phase", "prefill", "--batch", "4"],
        ["--workload", "inference", "--nodes", "4", "--node", "dgx-v100", "--model", "llama2-7b"],  # no bf16
        ["--workload", "inference", "--nodes", "1", "--node", "hgx-h200-roce", "--model", "deepseek-v3"],  # in 8 bits
        ["--workload", "inference", "--nodes", "1", "--model", "gpt-oss-120b"],
        ["--workload", "training_step", "--nodes", "4", "--set", "workload.parallel={tensor: 8}"],
        ["--nodes", "4", "--set", "fabric.cable=30m", "--set", "nccl.env.NCCL_ALGO=Ring", "--set", "name=mine"],
    ]
)

# What is refused, and a part of what is said.
WRONG = [
    (["--node", "hgx-h1000"], "--node: unknown value 'hgx-h1000'"),
    (["--nodes", "0"], "--nodes '0'"),
    (["--nodes", "many"], "is not a whole number"),
    (["--fabric", "fat_tre"], "did you mean 'fat_tree'?"),
    (["--model", "llama3-8b"], "--model does not apply"),
    (["--fabric", "single_switch", "--oversubscription", "2"], "--oversubscription does not apply"),
    (["--workload", "training_step", "--model", "llama3-405b", "--nodes", "1"], "does not fit in the memory of 8 GPUs"),
    (["--workload", "inference", "--model", "deepseek-v3", "--nodes", "1", "--node", "dgx-v100"], "does not fit"),
    (["--node", "gb200-nvl72", "--nodes", "72", "--nvlink-domain", "72"], "a node is a tray of 4 GPUs, 18 trays make an NVL72"),
    (["--set", "fabric.cabel=30m"], "unknown key"),
    (["--set", "fabric"], "has no value"),
]


def run(binary, *arguments, cwd=None):
    return subprocess.run([binary, *arguments], cwd=cwd, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


def talk(binary, folder, file, answers, stop=False):
    """Answers one prompt after the other, as a person would."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execv(binary, [binary, "init", file])
    said, left, end = "", list(answers), time.monotonic() + 20
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                part = os.read(terminal, 65536).decode()
            except OSError:
                break
            if not part:
                break
            said += part
            if said.endswith("] ") and left:
                os.write(terminal, (left.pop(0) + "\n").encode())
            elif said.endswith("] ") and stop:
                os.write(terminal, b"\x03")
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


def check_options(binary, folder):
    faults = []
    for i, words in enumerate(COMBINATIONS):
        file = f"{i}.yaml"
        made = run(binary, "init", file, *words, cwd=folder)
        if made.returncode != 0 or made.stdout:
            faults.append(f"init {words}: {made.returncode} {made.stderr}")
            continue
        ran = run(binary, "run", file, "--no-intervals", "--json", "-", cwd=folder)
        if ran.returncode != 0 or ran.stderr:
            faults.append(f"run of init {words}: {ran.returncode} {ran.stderr}")
        text = (folder / file).read_text()
        for line in text.splitlines():
            if len(line) > 110:
                faults.append(f"init {words} writes a long line: {line}")
        # Every key is below a comment.
        lines = text.splitlines()
        for before, line in zip(lines, lines[1:]):
            if re.match(r" *[a-z_]+:", line) and not before.strip().startswith("#"):
                faults.append(f"init {words}: no comment above '{line}'")
    for words, message in WRONG:
        made = run(binary, "init", "wrong.yaml", *words, cwd=folder)
        if made.returncode != 2 or message not in made.stderr:
            faults.append(f"init {words}: {made.returncode}, '{message}' is not in '{made.stderr}'")
    if (folder / "wrong.yaml").exists():
        faults.append("a wrong answer left a file behind")
    return faults


def check_file(binary, folder):
    faults = []
    again = run(binary, "init", "0.yaml", "--defaults", cwd=folder)
    if again.returncode != 2 or "--force" not in again.stderr:
        faults.append(f"an existing file is written over: {again.stderr}")
    if run(binary, "init", "0.yaml", "--defaults", "--force", cwd=folder).returncode != 0:
        faults.append("--force does not write over a file")
    out = run(binary, "init", "-", cwd=folder)
    if out.returncode != 0 or not out.stdout.startswith("# 16 x 8 GPUs: collective.") or out.stderr:
        faults.append(f"init - : {out.returncode} {out.stdout[:60]} {out.stderr}")
    alias = run(binary, "init", "-", "--node", "DGX H100", cwd=folder)
    if alias.returncode != 0 or "profile: hgx-h100" not in alias.stdout:
        faults.append(f"init --node 'DGX H100': {alias.returncode} {alias.stderr}")
    piped = subprocess.run([binary, "init", "piped.yaml"], cwd=folder, text=True, input="hgx-h200\n48\n",
                           capture_output=True)
    if piped.returncode != 0 or "answers in it are not read" not in piped.stderr:
        faults.append(f"answers in a pipe are ignored without a word: {piped.returncode} {piped.stderr}")
    told = subprocess.run([binary, "init", "-", "--nodes", "48"], cwd=folder, text=True, input="", capture_output=True)
    if told.returncode != 0 or told.stderr:
        faults.append(f"init --nodes 48 with a pipe as input: {told.returncode} {told.stderr}")
    if run(binary, "init", cwd=folder).returncode != 0 or not (folder / "scenario.yaml").exists():
        faults.append("init without a file does not write scenario.yaml")
    return faults


def check_trays(binary, folder):
    """Racks are not split: their trays share NVLink, all of the job if it has fewer."""
    faults = []
    for nodes, domain in ((1, 1), (4, 4), (17, 17), (18, 18), (20, 18), (36, 18)):
        made = run(binary, "init", "-", "--node", "gb200-nvl72", "--nodes", str(nodes), cwd=folder)
        if f"treats it as one node.\n  nodes: {domain}\n" not in made.stdout:
            faults.append(f"init of {nodes} trays: not domains of {domain}: {made.stdout[:800]} {made.stderr}")
    return faults


def check_checkpoints(binary, folder):
    """Inference gets the precision of the released checkpoint, unless the user sets one."""
    faults = []
    for words, key in (
        (["hgx-h200", "1", "deepseek-v3"], "precision: fp8"),
        (["dgx-a100", "2", "deepseek-v3"], "weight_precision: fp8"),  # no GEMMs in 8 bits
        (["hgx-h100", "1", "gpt-oss-120b"], "weight_precision: fp4"),
        (["hgx-h100", "1", "llama3-70b"], None),
        (["hgx-h200", "2", "deepseek-v3", "workload.precision=bf16"], "precision: bf16"),
    ):
        node, nodes, model, *more = words
        made = run(binary, "init", "-", "--node", node, "--nodes", nodes, "--workload", "inference", "--model", model,
                   *(w for m in more for w in ("--set", m)), cwd=folder)
        found = [line.strip() for line in made.stdout.splitlines() if re.match(r" *[a-z_]*precision:", line)]
        why = f"The released checkpoint of {model}" in " ".join(made.stdout.replace("#", " ").split())
        if found != ([key] if key else []) or why != (key is not None and not more):
            faults.append(f"init of inference {words}: {found}, comment: {why}. {made.stderr}")
    return faults


def check_dialogue(binary, folder):
    faults = []
    # A list, a slip, a number that is none, and else what is offered.
    code, said = talk(binary, folder, "asked.yaml", ["?", "hgx-h100-roce", "zero", "0", "32", "fat_tre", "fat_tree", "2", "",
                                                     "", "alltoall"])
    if code != 0 or "did you mean 'fat_tree'?" not in said or "HGX H100, 8 x 400G RoCE" not in said:
        faults.append(f"the dialogue ends with {code}: {said}")
    run(binary, "init", "told.yaml", "--node", "hgx-h100-roce", "--nodes", "32", "--fabric", "fat_tree",
        "--oversubscription", "2", "--collective", "alltoall", cwd=folder)
    asked, told = ((folder / f).read_text() if (folder / f).exists() else "" for f in ("asked.yaml", "told.yaml"))
    if asked.replace("asked.yaml", "told.yaml") != told or not told:
        faults.append("asking and telling do not write the same")
    code, said = talk(binary, folder, "step.yaml", ["", "8", "", "", "", "training_step", "llama3-8b", ""])
    if code != 0 or run(binary, "run", "step.yaml", "--no-intervals", cwd=folder).returncode != 0:
        faults.append(f"the dialogue on a training step ends with {code}: {said}")
    begin = time.monotonic()
    code, said = talk(binary, folder, "stopped.yaml", ["", "4"], stop=True)
    if code != 130 or (folder / "stopped.yaml").exists() or time.monotonic() - begin > 5:
        faults.append(f"Ctrl-C ends with {code}: {said}")
    code, said = talk(binary, folder, "ended.yaml", ["", "\x04\x04"])
    if code != 2 or (folder / "ended.yaml").exists():
        faults.append(f"an end of the input ends with {code}: {said}")
    return faults


def main(binary):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        faults = check_options(binary, folder) + check_file(binary, folder) + check_trays(binary, folder)
        faults += check_checkpoints(binary, folder)
        faults += check_dialogue(binary, folder)
        faults += [f"{file} was left behind" for file in folder.glob("*.part")]
    print("\n".join(faults) if faults else "ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
