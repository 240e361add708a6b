"""Further figures of practitioners' guides, which state them without a cluster. docs/field-claims.md has the reasons."""

import re

from facts import switches
from rows import *

SCATTERED = ("oversubscribed", "8GiB", "cluster.placement=random", "fabric.oversubscription=4")
ALL_REDUCE, GATHER = "workload.collective=all_reduce", "workload.collective=gather"
NO_P2P = env(P2P_DISABLE=1)
SOCKETS_10G = ("node.nics.link=socket", "node.nics.rate=10Gbps")
RING_64 = ("eight_nodes", "1GiB", "node.nics.link=roce", *RING)
SERVER = ("one_nic", "1GiB", "cluster.nodes=64")


def sms_of(channels):
    """Of the 132 SMs of an H100, in per cent: a channel occupies one."""
    return lambda run: percent(channels / 132)


def framing(kind):
    """What headers and acknowledgements take of a link, in per cent."""
    return lambda run: percent(1 - float(re.search(rf"^  {kind} .*payload fraction ([\d.]+)", run.told("list", "links"),
                                                   re.MULTILINE)[1]))


# NCCL's defaults [NCCL-variables]: a queue pair waits 4.096 us x 2^20 for an acknowledgement, and tries eight times.
RETRY_S = 4.096e-6 * 2**20
TRIES = 8
# Bytes around a frame on the wire: Ethernet header 14, checksum 4, preamble 8, gap 12. Inside: IPv4 and TCP 20 each,
# MPA's length and checksum 2 + 4, DDP and RDMAP's tagged header 14 [RFC5041, RFC5044]; RoCE's is in the link's data.
ETHERNET, TCP_IP, IWARP = 38, 40, 20
GRACE = ("node={gpu: gh200}",)
BUFFERS = ("2097152", "4194304")


def iwarp(frame):
    """Payload of a frame with `frame` bytes behind the Ethernet header, in per cent of what RoCE has of its link."""
    return lambda run: percent((frame - TCP_IP - IWARP) / (frame + ETHERNET) / (1 - framing("roce-400")(run) / 100))


def lossy(loss, how, worst=False):
    """How many times as long a ring takes on cables that lose packets."""
    words = (*RING_64, f"fabric.congestion.loss={loss}", f"fabric.congestion.retransmission={how}")
    return lambda run: (run(*words).worst if worst else run(*words).time) / run(*RING_64).time


def offloaded(*words):
    """How many times as fast a first token is with its prefix loaded."""
    return lambda run: (lambda p: p["computed_s"] / p["first_token_s"])(run.step("kv_offload", *words).prefix)


def first_token(*words):
    return lambda run: run.step("kv_offload", *words).prefix["first_token_s"]


def halving(*words):
    """MiB of a GPU's memory that half of NCCL_BUFFSIZE saves."""
    half, usual = (lambda run, bytes=bytes: run.buffers("one_node", *words, *env(BUFFSIZE=bytes)) for bytes in BUFFERS)
    return lambda run: usual(run) - half(run)


MORE = [
    Claim("E1", "SMs of the channels", [
        Row("2 channels of 132 SMs", "2 to 5 %", between(2, 5), "%", sms_of(2)),
        Row("4 channels of 132 SMs", "2 to 5 %", between(2, 5), "%", sms_of(4)),
    ]),
    Claim("E2", "4 of 16 channels", [
        Row("one node, 1 GiB, rings: bandwidth lost", "75 %", about(75), "%",
            lost(("one_node", "1GiB", *RING, *env(MAX_NCHANNELS=16)), ("one_node", "1GiB", *RING, *env(MAX_NCHANNELS=4)))),
        Row("the same compared with NCCL's own number of channels", None, None, "%",
            lost(("one_node", "1GiB"), ("one_node", "1GiB", *env(MAX_NCHANNELS=4)))),
    ]),
    Claim("E3", "P2P off", [
        Row("1 KiB, one node, with P2P", "a few us", (1, 20), "us", lambda run: run("one_node", "1KiB").time),
        Row("1 KiB, one node, without", "tens of us", between(10, 100), "us",
            lambda run: run("one_node", "1KiB", *NO_P2P).time),
        Row("1 GiB, one node, with P2P", "hundreds of GB/s", between(100, 1000), "GB/s", busbw("one_node", "1GiB")),
        Row("1 GiB, one node, without", "tens of GB/s", between(10, 100), "GB/s", busbw("one_node", "1GiB", *NO_P2P)),
    ]),
    Claim("E4", "RDMA against TCP, latency", [
        Row(f"{size}, four nodes of one GPU", "5 to 10 times", between(5, 10), "times",
            times_faster(("one_nic", size, "node.nics.link=socket"), ("one_nic", size)))
        for size in ("8B", "1KiB")
    ]),
    Claim("E5", "fall-back to a 10 Gb/s management network", [
        Row("1 GiB, four nodes of one GPU", "1.25 GB/s", about(1.25), "GB/s", busbw("one_nic", "1GiB", *SOCKETS_10G)),
        Row("times slower than 400 Gb/s with RDMA", "40 times", about(40), "times",
            times_faster(("one_nic", "1GiB", *SOCKETS_10G), ("one_nic", "1GiB"))),
    ]),
    Claim("E6", "trees on oversubscribed fabrics", [
        Row("4:1, 8 GiB, scattered: tree compared with ring", "above 1", (1, INFINITY), "times",
            times_faster((*SCATTERED, *RING), (*SCATTERED, *TREE))),
        Row("4:1: remaining bandwidth of a ring", None, None, "",
            left_over((*SCATTERED, *RING), ("oversubscribed", "8GiB", "cluster.placement=random", *RING))),
        Row("4:1: remaining bandwidth of a tree", None, None, "",
            left_over((*SCATTERED, *TREE), ("oversubscribed", "8GiB", "cluster.placement=random", *TREE))),
    ]),
    Claim("E7", "a parameter server against a ring", [
        Row("64 workers, 1 GiB each: one server compared with an all-reduce", "32 times", about(32), "times",
            # Half of a server's work: it receives the gradients of all, and sends as much back.
            lambda run: run("one_nic", "64GiB", "cluster.nodes=64", GATHER).time / run(*SERVER, ALL_REDUCE).time),
    ]),
    Claim("E8", "switches of 512 nodes", [
        Row("512 nodes of one port, 64-port switches, two tiers: all switches", None, None, "",
            lambda run: sum(switches("sizing", tier, "fabric.tiers=2", "node={profile: hgx-h100, gpus: 1, "
                                     "nics: {count: 1}}")(run) for tier in ("leaf", "spine"))),
        Row("512 nodes of eight ports, three tiers: leaves", "128", near(128), "", switches("sizing", "leaf")),
    ]),
    Claim("E9", "headers and acknowledgements", [
        Row(f"{name}", "3 to 5 %", between(3, 5), "%", framing(kind))
        for name, kind in (("RoCE 400 Gb/s", "roce-400"), ("InfiniBand NDR", "infiniband-ndr"))
    ]),
    Claim("E11", "a prefix in host memory", [
        Row("one H100, PCIe: first token, 98 % of 16,384 tokens loaded", "14 times", about(14), "times", offloaded()),
        Row("the same with 65,536 tokens", "14 times", about(14), "times", offloaded("workload.input=65536")),
        Row("GH200 compared with H100, first token of 16,384 tokens", "2 times", about(2), "times",
            lambda run: first_token()(run) / first_token(*GRACE)(run)),
        Row("the same with 65,536 tokens", "2 times", about(2), "times",
            lambda run: first_token("workload.input=65536")(run) / first_token(*GRACE, "workload.input=65536")(run)),
        Row("GH200: first token, 98 % of 16,384 tokens loaded", None, None, "times", offloaded(*GRACE)),
        Row("one H100, loaded from the node's drives", None, None, "times", offloaded("workload.kv_cache.tier=ssd")),
    ]),
    Claim("E12", "half of NCCL_BUFFSIZE", [
        Row("eight H100 on NVLink, NCCL's channels", "16 MB", about(16), "MiB", halving()),
        Row("the same with four channels", "16 MB", about(16), "MiB", halving(*env(MAX_NCHANNELS=4))),
    ]),
    Claim("E13", "a dropped packet", [
        Row("time until a lost last packet of a message is sent again", "seconds", (1, 60), "s", lambda run: RETRY_S),
        Row("time until NCCL gives up on a dead path", None, None, "s", lambda run: TRIES * RETRY_S),
    ]),
    Claim("E14", "iWARP against RoCE", [
        Row("effect of headers alone, frames of 1,500 B", "50 to 70 %", between(50, 70), "%", iwarp(1500)),
        Row("the same, frames of 9,000 B", None, None, "%", iwarp(9000)),
    ]),
    Claim("E15", "drops on RoCE", [
        row for loss in ("1e-6", "1e-5", "1e-4", "1e-3") for how in ("go_back_n", "selective_repeat")
        for what in (f"each cable loses {loss}, {how.replace('_', '-')}",)
        for row in (Row(f"{what}: median of 20", "10 to 100 times", between(10, 100), "times", lossy(loss, how)),
                    Row(f"{what}: worst of 20", None, None, "times", lossy(loss, how, True)))
    ] + [
        Row("one timeout of 4.3 s, as NCCL sets it, relative to the call", None, None, "times",
            lambda run: RETRY_S / (run(*RING_64).time * 1e-6)),
        Row("one timeout of 67 ms (NCCL_IB_TIMEOUT=14)", None, None, "times",
            lambda run: RETRY_S / 64 / (run(*RING_64).time * 1e-6)),
    ]),
    Claim("E10", "hops of NVSwitches", [
        Row("8 B, all-gather with LL, per additional GPU of a ring", "1 to 2 us", between(1, 2), "us",
            lambda run: (run("one_node", "64B", "workload.collective=all_gather", *env(ALGO="Ring", PROTO="LL")).time -
                         run("one_node", "32B", "node.gpus=4", "node.nics.count=4", "workload.collective=all_gather",
                             *env(ALGO="Ring", PROTO="LL")).time) / 4),
    ]),
]
