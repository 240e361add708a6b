"""What guides claim about training steps. `run.step(scenario, *set words)` is the step of scenarios/claims/SCENARIO.yaml."""

from rows import INFINITY, LOSSY, REACTIVE, Claim, Row, about, between, percent

RAILS = ("node={profile: hgx-h100}", "cluster.nodes=32", "fabric={kind: rail_optimized, switch: {ports: 64}}")
OVERLAP = ("workload.overlap.data=true",)
SCATTERED = ("cluster.placement=random",)
# 1 s of computation.
SHORT = ("workload.batch.global=1024",)
# 10 ms of computation, and gradients that take 12 ms, on eight nodes.
SMALL = ("cluster.nodes=8", "workload.batch={global: 24, micro: 3}", "workload.fixed=0s",
         "workload.model={layers: 8, hidden: 1024, heads: 16, ffn: 4096, vocab: 32000, sequence: 1024}")
# Layers of 25 MB, so that a bucket may hold one or many.
MEDIUM = ("workload.model={layers: 24, hidden: 1024, heads: 16, ffn: 4096, vocab: 32000, sequence: 1024}",
          "workload.fixed=0s", *OVERLAP)
BUCKETS = ("25MB", "64MB", "256MB", "1GB")


def data_parallel(run, *words):
    return run.step("step_data_parallel", *words)


def utilization(*words):
    """Part of the step that GPUs do not wait for communication."""
    return lambda run: percent(1 - data_parallel(run, *words).exposed / data_parallel(run, *words).time)


def shorter(before, after, scenario="step_data_parallel"):
    """In per cent of the step."""
    return lambda run: percent(1 - run.step(scenario, *after).time / run.step(scenario, *before).time)


def reduced_at(*words):
    """Bytes per second that a NIC sends while gradients are reduced."""
    return lambda run: data_parallel(run, *words).collective("all_reduce")["bytes"] * 2 * 255 / 256 / (
        data_parallel(run, *words).collective("all_reduce")["time_us"] * 1000)


def medium(nodes, gpus, bucket):
    return (f"node={{profile: hgx-h100, gpus: {gpus}, nics: {{count: {gpus}}}}}", f"cluster.nodes={nodes}", *MEDIUM,
            f"workload.batch={{global: {8 * nodes * gpus}, micro: 8}}", f"workload.overlap.bucket={bucket}")


def best_bucket(nodes, gpus):
    return lambda run: min(BUCKETS, key=lambda bucket: data_parallel(run, *medium(nodes, gpus, bucket)).time)


def sharp(nodes, on, *words):
    return (*RAILS, f"cluster.nodes={nodes}", f"workload.batch.global={8 * nodes}", "sharp={generation: v3}",
            f"nccl.env.NCCL_COLLNET_ENABLE={on}", *words)


def sent(*words):
    """Bytes of all-reduces for each token."""
    return lambda run: sum(e["bytes"] * e["calls"] for e in data_parallel(run, *words).collectives) / data_parallel(
        run, *words).tokens


STEPS = [
    Claim("B1", "a collision in a training job", [
        Row("tokens per second per GPU, no collisions", "2100", about(2100), "",
            lambda run: run.step("step_collision", "routing={kind: adaptive}").tokens_per_gpu),
        Row("the same, median of 64 samples of the hash", "1650", about(1650), "",
            lambda run: run.step("step_collision").tokens_per_gpu),
        Row("reduction", "21 %", about(21), "%",
            lambda run: percent(1 - run.step("step_collision").tokens_per_gpu /
                                run.step("step_collision", "routing={kind: adaptive}").tokens_per_gpu)),
        Row("worst sample: reduction", None, None, "%",
            lambda run: percent(1 - run.step("step_collision", "routing={kind: adaptive}").time /
                                run.step("step_collision").worst)),
        Row("median sample, senders react: reduction", None, None, "%",
            lambda run: percent(1 - run.step("step_collision", REACTIVE).tokens_per_gpu /
                                run.step("step_collision", "routing={kind: adaptive}").tokens_per_gpu)),
        Row("median sample, lossy: reduction", None, None, "%",
            lambda run: percent(1 - run.step("step_collision", *LOSSY).tokens_per_gpu /
                                run.step("step_collision", "routing={kind: adaptive}").tokens_per_gpu)),
    ]),
    Claim("B4", "data parallelism and oversubscription", [
        Row(f"{what}, {ratio}:1: utilization", f"{claimed} %", about(claimed), "%",
            utilization(*words, *SCATTERED, "fabric={kind: fat_tree, switch: {ports: 64}, oversubscription: %d}" % ratio))
        for what, words in (("one NIC per node", ()), ("eight NICs per node", RAILS)) for ratio, claimed in ((1, 78), (2, 64))
    ]),
    Claim("B10", "gradients of 7 billion parameters in 1 s", [
        Row("NDR: rate of a NIC", "more than 28 GB/s", (28, INFINITY), "GB/s", reduced_at(*SHORT)),
        Row("HDR: the same", "about 28 GB/s", about(28), "GB/s", reduced_at(*SHORT, "node.nics.rate=200Gbps")),
        Row("NDR: step without overlap", None, None, "s", lambda run: data_parallel(run, *SHORT).time),
        Row("NDR: exposed share of a step with overlap", "up to 10 %", (0, 10), "%",
            lambda run: 100 - utilization(*SHORT, *OVERLAP)(run)),
        Row("HDR: exposed share of a step with overlap", None, None, "%",
            lambda run: 100 - utilization(*SHORT, *OVERLAP, "node.nics.rate=200Gbps")(run)),
        Row("eight NDR NICs per node: the same", "up to 10 %", (0, 10), "%",
            lambda run: 100 - utilization(*RAILS, *SHORT, *OVERLAP)(run)),
    ]),
    Claim("C6", "buckets of DDP", [
        Row("eight nodes of eight GPUs: best of " + ", ".join(BUCKETS), None, None, "", best_bucket(8, 8)),
        Row("64 nodes of one GPU: the same", None, None, "", best_bucket(64, 1)),
        Row("is one size best for both?", "no", "no", "",
            lambda run: "yes" if best_bucket(8, 8)(run) == best_bucket(64, 1)(run) else "no"),
        Row("eight nodes of eight GPUs: time saved by 256MB compared with 25MB", None, None, "%",
            shorter(medium(8, 8, "25MB"), medium(8, 8, "256MB"))),
        Row("64 nodes of one GPU: the same", None, None, "%", shorter(medium(64, 1, "25MB"), medium(64, 1, "256MB"))),
    ]),
    Claim("D1", "overlap", [
        Row("step without overlap", "22 ms", about(22), "ms", lambda run: 1000 * data_parallel(run, *SMALL).time),
        Row("all-reduce of this step", "12 ms", about(12), "ms", lambda run: 1000 * data_parallel(run, *SMALL).exposed),
        Row("step with overlap, buckets of 25 MB", "12 ms", about(12), "ms",
            lambda run: 1000 * data_parallel(run, *SMALL, *OVERLAP, "workload.overlap.bucket=25MB").time),
        Row("time saved by overlap", "30 %", about(30), "%",
            shorter(SMALL, (*SMALL, *OVERLAP, "workload.overlap.bucket=25MB"))),
    ]),
    Claim("D9", "gradient accumulation and compression", [
        Row("bytes reduced per token, one micro-batch compared with four", "4 times", about(4), "times",
            lambda run: sent("workload.batch.global=256")(run) / sent("workload.batch.global=1024")(run)),
        Row("tokens per second, four micro-batches compared with one", "more", (1, INFINITY), "times",
            lambda run: data_parallel(run, "workload.batch.global=1024").tokens_per_gpu / data_parallel(
                run, "workload.batch.global=256").tokens_per_gpu),
        Row("half the bytes: relative time of the all-reduce", "shorter", (0, 99), "%",
            lambda run: percent(data_parallel(run, *SHORT, "workload.gradients.compression=0.5").exposed /
                                data_parallel(run, *SHORT).exposed)),
        Row("half the bytes, with overlap: time of the step saved", None, None, "%",
            shorter((*SHORT, *OVERLAP), (*SHORT, *OVERLAP, "workload.gradients.compression=0.5"))),
    ]),
]

SHARP_STEPS = [
    Row(f"training step on {nodes} nodes, {what}: time saved", "20 to 30 %", between(20, 30), "%",
        shorter(sharp(nodes, 0, *words), sharp(nodes, 1, *words)))
    for nodes in (16, 64) for what, words in (("without overlap", ()), ("with overlap", OVERLAP))
]
BINDING_STEPS = [
    Row("an iteration of ZeRO-3 on four nodes: time saved", "30 %", about(30), "%",
        shorter(("node.nics.numa=remote",), (), "step_binding")),
]
