"""Further figures of practitioners' guides, which state them without a cluster. docs/field-claims.md has the reasons."""

import re

from facts import switches
from rows import *

SCATTERED = ("oversubscribed", "8GiB", "cluster.placement=random", "fabric.oversubscription=4")
ALL_REDUCE, GATHER = "workload.collective=all_reduce", "workload.collective=gather"
NO_P2P = env(P2P_DISABLE=1)
SOCKETS_10G = ("node.nics.link=socket", "node.nics.rate=10Gbps")
SERVER = ("one_nic", "1GiB", "cluster.nodes=64")


def sms_of(channels):
    """Of the 132 SMs of an H100, in per cent: a channel occupies one."""
    return lambda run: percent(channels / 132)


def framing(kind):
    """What headers and acknowledgements take of a link, in per cent."""
    return lambda run: percent(1 - float(re.search(rf"^  {kind} .*payload fraction ([\d.]+)", run.told("list", "links"),
                                                   re.MULTILINE)[1]))


MORE = [
    Claim("E1", "SMs of the channels", [
        Row("2 channels of 132 SMs", "2 to 5 %", between(2, 5), "%", sms_of(2)),
        Row("4 channels of 132 SMs", "2 to 5 %", between(2, 5), "%", sms_of(4)),
    ]),
    Claim("E2", "4 of 16 channels", [
        Row("one node, 1 GiB, rings: bandwidth lost", "75 %", about(75), "%",
            lost(("one_node", "1GiB", *RING, *env(MAX_NCHANNELS=16)), ("one_node", "1GiB", *RING, *env(MAX_NCHANNELS=4)))),
        Row("the same against NCCL's own number", None, None, "%",
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
        Row("4:1, 8 GiB, scattered: a tree against a ring", "above 1", (1, INFINITY), "times",
            times_faster((*SCATTERED, *RING), (*SCATTERED, *TREE))),
        Row("4:1: bandwidth left of a ring's", None, None, "",
            left_over((*SCATTERED, *RING), ("oversubscribed", "8GiB", "cluster.placement=random", *RING))),
        Row("4:1: bandwidth left of a tree's", None, None, "",
            left_over((*SCATTERED, *TREE), ("oversubscribed", "8GiB", "cluster.placement=random", *TREE))),
    ]),
    Claim("E7", "a parameter server against a ring", [
        Row("64 workers, 1 GiB each: to one server, and an all-reduce", "32 times", about(32), "times",
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
    Claim("E10", "hops of NVSwitches", [
        Row("8 B, all-gather by LL, each further GPU of a ring", "1 to 2 us", between(1, 2), "us",
            lambda run: (run("one_node", "64B", "workload.collective=all_gather", *env(ALGO="Ring", PROTO="LL")).time -
                         run("one_node", "32B", "node.gpus=4", "node.nics.count=4", "workload.collective=all_gather",
                             *env(ALGO="Ring", PROTO="LL")).time) / 4),
    ]),
]
