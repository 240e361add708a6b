"""What guides claim, and what to run for each claim. docs/field-claims.md has the claims in words and the reasons."""

from facts import FACTS
from more import MORE
from rows import *  # the words of the tables
from steps import BINDING_STEPS, SHARP_STEPS, STEPS

CLAIMS = [
    Claim("A1", "tree and GPUDirect RDMA over nodes", [
        Row("16 MB, ring, no GPUDirect RDMA", "23.4 GB/s", about(23.4), "GB/s",
            lambda run: run("one_nic", "16MB", *RING, *NO_GDR).algbw),
        Row("16 MB, tree, GPUDirect RDMA", "44.1 GB/s", about(44.1), "GB/s",
            lambda run: run("one_nic", "16MB", *TREE).algbw),
        Row("both changes", "1.9 times", about(1.89), "times",
            times_faster(("one_nic", "16MB", *RING, *NO_GDR), ("one_nic", "16MB", *TREE))),
        Row("GPUDirect RDMA alone", None, None, "times",
            times_faster(("one_nic", "16MB", *RING, *NO_GDR), ("one_nic", "16MB", *RING))),
        Row("two nodes of two GPUs: ring, no GPUDirect RDMA", "23.4 GB/s", about(23.4), "GB/s",
            lambda run: run("one_nic", "16MB", *TWO_BY_TWO, *RING, *NO_GDR).algbw),
        Row("two nodes of two GPUs: tree, GPUDirect RDMA", "44.1 GB/s", about(44.1), "GB/s",
            lambda run: run("one_nic", "16MB", *TWO_BY_TWO, *TREE).algbw),
    ]),
    Claim("A2", "all-reduce by fabric", [
        Row("NVSwitch, 16 MB", "0.02 ms", about(0.02), "ms", milliseconds("one_node", "16MB")),
        Row("NVSwitch, 256 MB", "0.3 ms", about(0.3), "ms", milliseconds("one_node", "256MB")),
        Row("one NDR NIC, same switch, 16 MB", "0.35 ms", about(0.35), "ms",
            milliseconds("one_nic", "16MB", "cluster.nodes=2")),
        Row("one NDR NIC, same switch, 256 MB", "5.2 ms", about(5.2), "ms",
            milliseconds("one_nic", "256MB", "cluster.nodes=2")),
        Row("the same over a spine, 16 MB", "0.38 ms", about(0.38), "ms", milliseconds("one_nic", "16MB", *TWO_LEAVES)),
        Row("the same over a spine, 256 MB", "5.5 ms", about(5.5), "ms", milliseconds("one_nic", "256MB", *TWO_LEAVES)),
        Row("RoCE 100 Gb/s, 16 MB", "1.3 ms", about(1.3), "ms",
            milliseconds("one_nic", "16MB", "cluster.nodes=2", *ROCE_100)),
        Row("RoCE 100 Gb/s, 256 MB", "20.5 ms", about(20.5), "ms",
            milliseconds("one_nic", "256MB", "cluster.nodes=2", *ROCE_100)),
        Row("eight NDR NICs, 16 MB", "0.05 ms", about(0.05), "ms",
            milliseconds("eight_nodes", "16MB", "cluster.nodes=2")),
        Row("eight NDR NICs, 256 MB", "0.7 ms", about(0.7), "ms",
            milliseconds("eight_nodes", "256MB", "cluster.nodes=2")),
        Row("one NDR NIC, four nodes, 256 MB", None, None, "ms", milliseconds("one_nic", "256MB")),
    ]),
    Claim("A3", "ring against tree", [
        Row(f"{size}: ring faster by", text, claimed, "%",
            gain(("eight_nodes", size, *env(ALGO="Tree")), ("eight_nodes", size, *env(ALGO="Ring"))))
        for size, text, claimed in (("8MiB", "15 to 30 %", between(15, 30)), ("64MiB", "15 to 30 %", between(15, 30)),
                                    ("512MiB", "below 0 %", (-INFINITY, 0)), ("8GiB", "below 0 %", (-INFINITY, 0)))
    ]),
    Claim("A4", "LL below 8 KB", [
        Row(f"{where}, {size}, {algorithm}: LL compared with {other}", text, claimed, "%",
            saved((scenario, size, *env(ALGO=algorithm, PROTO=other)),
                  (scenario, size, *env(ALGO=algorithm, PROTO="LL"))))
        for where, scenario, algorithm in (("one node", "one_node", "Ring"), ("eight nodes", "eight_nodes", "Tree"))
        for size in ("1KiB", "8KiB")
        for other, text, claimed in (("Simple", "20 to 40 %", between(20, 40)), ("LL128", None, None))
    ]),
    Claim("A5", "NCCL_CROSS_NIC=1", [
        Row(what, "5 to 15 %", between(5, 15), "%",
            gain((scenario, "8GiB", *env(CROSS_NIC=0)), (scenario, "8GiB", *env(CROSS_NIC=1))))
        for what, scenario in (("a leaf per rail", "eight_nodes"), ("fat tree, ECMP", "ecmp_fat_tree"))
    ]),
    Claim("A6", "GPUDirect RDMA", [
        Row(f"{size}, {what}", text, claimed, "%", saved((scenario, size, *NO_GDR), (scenario, size)))
        for size, text, claimed in (("1KiB", "30 to 50 %", between(30, 50)), ("1GiB", "15 to 25 %", between(15, 25)))
        for what, scenario in (("four nodes of one GPU", "one_nic"), ("eight nodes of eight", "eight_nodes"))
    ]),
    Claim("A7", "adaptive routing", [
        Row("ring, 8 GiB, gain over the median sample", "10 to 30 %", between(10, 30), "%",
            gain(("ecmp_fat_tree", "8GiB"), ("ecmp_fat_tree", "8GiB", ADAPTIVE))),
        Row("ring, 8 GiB, gain over the worst of 16", "10 to 30 %", between(10, 30), "%",
            lambda run: percent(run("ecmp_fat_tree", "8GiB").worst / run("ecmp_fat_tree", "8GiB", ADAPTIVE).time - 1)),
    ] + [
        Row(f"NCCL's choice, {size}, gain over the median sample", "10 to 30 %", between(10, 30), "%",
            gain(("ecmp_fat_tree", size, "nccl.env={}"), ("ecmp_fat_tree", size, "nccl.env={}", ADAPTIVE)))
        for size in ("1MiB", "1GiB", "8GiB")
    ] + [
        Row("ring, 8 GiB, by flowlet", None, None, "%",
            gain(("ecmp_fat_tree", "8GiB"), ("ecmp_fat_tree", "8GiB", FLOWLET))),
        Row("ring, 8 GiB, by packet, senders react", None, None, "%",
            gain(("ecmp_fat_tree", "8GiB", REACTIVE), ("ecmp_fat_tree", "8GiB", ADAPTIVE, REACTIVE))),
        Row("ring, 8 GiB, by packet, lossy", None, None, "%",
            gain(("ecmp_fat_tree", "8GiB", *LOSSY), ("ecmp_fat_tree", "8GiB", ADAPTIVE, *LOSSY))),
    ]),
    Claim("A8", "bus bandwidth of eight H100 behind NDR", [
        Row(f"{operation}, {size}", f"{least} to {usual} GB/s", between(least, usual), "GB/s",
            busbw("one_nic", size, "cluster.nodes=8", f"workload.collective={operation}"))
        for operation, size, least, usual in (("all_reduce", "16MB", 30, 40), ("all_reduce", "1MB", 10, 20),
                                              ("all_reduce", "0.1MB", 2, 5), ("all_gather", "16MB", 32, 42),
                                              ("reduce_scatter", "16MB", 32, 42))
    ] + [Row("all_reduce, 16MB, eight GPUs in each of two nodes", None, None, "GB/s",
             busbw("eight_nodes", "16MB", "cluster.nodes=2"))]),
    Claim("A9", "all-reduces of a decode step", [
        Row("decode step, one node", "33 ms", about(33), "ms", lambda run: 1e3 * run.step("decode").time),
        *[row for where, words, text, most, share, of in (
            ("NVSwitch", (), "0.3 ms", 0.3, "below 1 %", (-INFINITY, 1)),
            ("one GPU in each of four nodes, same rack", FOUR_NODES, "5.2 ms", 5.2, "15 to 17 %", between(15, 17)),
            ("the same over a spine", FOUR_RACKS, "5.5 ms", 5.5, "15 to 17 %", between(15, 17)))
          for row in (Row(f"all-reduces, {where}", text, about(most), "ms", reduces_ms("decode", *words)),
                      Row("the same, share of the step", share, of, "%", reduces_share("decode", *words)))],
        *[Row(f"one sequence: all-reduces, {where}", None, None, "ms",
              reduces_ms("decode", "workload.batch=1", *words))
          for where, words in (("NVSwitch", ()), ("four nodes, same rack", FOUR_NODES))],
    ]),
    Claim("B2", "steps of a long ring", [
        Row("10 us more per step", "5.1 ms more", about(5.1), "ms",
            lambda run: (run("long_ring", "1KiB", "fabric.switch.latency=10.2us").time -
                         run("long_ring", "1KiB").time) / 1000),
        Row("time without it", None, None, "ms", lambda run: run.explained("long_ring", "1KiB").time / 1000),
    ]),
    Claim("B3", "oversubscription", [
        Row(f"{ratio}:1, {placement}: remaining bandwidth", f"1/{ratio}", about(1 / ratio), "",
            left_over(("oversubscribed", "8GiB", f"cluster.placement={placement}", f"fabric.oversubscription={ratio}"),
                      ("oversubscribed", "8GiB", f"cluster.placement={placement}")))
        for ratio in (2, 4) for placement in ("random", "in_order")
    ] + [
        Row(f"{ratio}:1, random, {how}: remaining bandwidth", None, None, "",
            left_over(("oversubscribed", "8GiB", f"fabric.oversubscription={ratio}", *words),
                      ("oversubscribed", "8GiB", *words)))
        for how, words in (("senders react", (REACTIVE,)), ("lossy", LOSSY)) for ratio in (2, 4)
    ]),
    Claim("B5", "eight rails", [
        Row("eight NICs compared with one, 8 GiB", "8 times", about(8), "times",
            times_faster(("rails", "8GiB", "node.nics.count=1"), ("rails", "8GiB"))),
        Row("the same, 1 MiB, NCCL's choice", None, None, "times",
            times_faster(("rails", "1MiB", "node.nics.count=1", "nccl.env={}"), ("rails", "1MiB", "nccl.env={}"))),
    ]),
    Claim("B6", "SHARP", [
        Row(f"{nodes} nodes, 1 GiB, compared with {what}", text, claimed, "times",
            times_faster(("sharp", "1GiB", f"cluster.nodes={nodes}", words),
                         ("sharp", "1GiB", f"cluster.nodes={nodes}")))
        for nodes, text, claimed in ((8, "2 times", about(2)), (64, "2 to 4 times", between(2, 4)),
                                     (128, "2 to 4 times", between(2, 4)))
        for what, words in (("a ring", f"nccl.env={FORCED_RING}"), ("NCCL's choice", "nccl.env={}"))
    ] + [
        Row("64 nodes, 1 KiB, compared with NCCL's choice", None, None, "times",
            times_faster(("sharp", "1KiB", "nccl.env={}"), ("sharp", "1KiB"))),
        Row("concurrent jobs of eight trees, NDR", "8 to 16", between(8, 16), "", sharp_groups),
    ] + SHARP_STEPS),
    Claim("B7", "GPUDirect RDMA off", [
        Row("64 nodes of eight GPUs, 8 GiB", "40 to 60 %", between(40, 60), "%",
            lost(("binding", "8GiB"), ("binding", "8GiB", *NO_GDR))),
        Row("four nodes of one GPU, 8 GiB", "40 to 60 %", between(40, 60), "%",
            lost(("one_nic", "8GiB"), ("one_nic", "8GiB", *NO_GDR))),
        Row("64 nodes of eight GPUs, 8 GiB, lossy RoCE", None, None, "%",
            lost(("binding", "8GiB", *LOSSY), ("binding", "8GiB", *LOSSY, *NO_GDR))),
    ]),
    Claim("B8", "a NIC of the other socket", [
        Row("8 GiB, as NCCL would run it", "20 to 40 % less", between(20, 40), "%",
            lost(("binding", "8GiB"), ("binding", "8GiB", "node.nics.numa=remote"))),
        Row("8 GiB, GPUDirect RDMA forced on", "20 to 40 % less", between(20, 40), "%",
            lost(("binding", "8GiB"), ("binding", "8GiB", "node.nics.numa=remote", "node.gdr=true"))),
        Row("a hop of a ring of 64 nodes, GPUDirect RDMA forced on", "0.05 to 0.1 us more", between(0.05, 0.1), "us",
            lambda run: (run("binding", "8B", "node.nics.numa=remote", "node.gdr=true", *env(PROTO="LL")).time -
                         run("binding", "8B", *env(PROTO="LL")).time) / (2 * 64 - 1)),
    ]),
    Claim("B9", "share of the link that NCCL reaches", [
        Row(f"NVLink, {size}", "85 to 90 %", between(85, 90), "%", nvlink_share(size))
        for size in ("2MiB", "16MiB", "1GiB")
    ] + [
        Row(f"{name}, {size}", text, claimed, "%", nic_share(size, gbps))
        for name, gbps, text, claimed in (("HDR", 200, "70 to 80 %", between(70, 80)),
                                          ("NDR", 400, "75 to 85 %", between(75, 85)))
        for size in ("16MiB", "1GiB")
    ] + [
        Row(f"NDR, {size}", "10 to 30 %", between(10, 30), "%", nic_share(size, 400)) for size in ("64KiB", "512KiB")
    ]),
    Claim("B11", "splitting large flows", [
        Row("four queue pairs, median of 64 samples", "more", (5, INFINITY), "%",
            gain(("elephants", "8GiB"), ("elephants", "8GiB", *env(IB_QPS_PER_CONNECTION=4, IB_SPLIT_DATA_ON_QPS=1)))),
        Row("sixteen queue pairs", "more", (5, INFINITY), "%",
            gain(("elephants", "8GiB"), ("elephants", "8GiB", *env(IB_QPS_PER_CONNECTION=16, IB_SPLIT_DATA_ON_QPS=1)))),
        Row("packet spray", "more", (5, INFINITY), "%",
            gain(("elephants", "8GiB"), ("elephants", "8GiB", "routing={kind: spray}"))),
        Row("twice the channels", "more", (5, INFINITY), "%",
            gain(("elephants", "8GiB"), ("elephants", "8GiB", *env(MIN_CTAS=32)))),
    ]),
    Claim("C1", "one slow cable", [
        Row("64 nodes of eight GPUs: remaining bandwidth", "1/10", about(0.1), "",
            left_over(("slow_cable", "8GB"), ("slow_cable", "8GB", "faults=[]"))),
        Row("64 nodes of eight GPUs: time", "40 s", about(40), "s", lambda run: run("slow_cable", "8GB").time / 1e6),
        Row("512 nodes of one GPU: time", "40 s", about(40), "s",
            lambda run: run("hierarchy", "8GB", "faults=[{link: node3.nic0, rate: 10%}]").time / 1e6),
    ]),
    Claim("C2", "512 ranks, short messages", [
        Row("512 nodes of one GPU, ring, 1 KiB", "10 ms", about(10), "ms",
            lambda run: run.explained("long_ring", "1KiB", "cluster.nodes=512").time / 1000),
        Row("the same, tree", "0.09 ms", about(0.09), "ms",
            lambda run: run.explained("long_ring", "1KiB", "cluster.nodes=512", *env(ALGO="Tree")).time / 1000),
        Row("tree compared with ring", "50 to 100 times", between(50, 100), "times",
            times_faster(("long_ring", "1KiB", "cluster.nodes=512"),
                         ("long_ring", "1KiB", "cluster.nodes=512", *env(ALGO="Tree")))),
        Row("64 nodes of eight GPUs: tree compared with ring", "50 to 100 times", between(50, 100), "times",
            times_faster(("eight_nodes", "1KiB", "cluster.nodes=64", *env(ALGO="Ring", PROTO="LL")),
                         ("eight_nodes", "1KiB", "cluster.nodes=64", *env(ALGO="Tree", PROTO="LL")))),
    ]),
    Claim("C3", "what NCCL chooses by size", [
        Row("one node, 2 KiB", "tree", "tree", "", lambda run: run("one_node", "2KiB").algorithm),
        Row("one node, no NVLS: smallest size with rings", "0.25 MiB", about(0.25), "MiB",
            first_ring("one_node", *env(NVLS_ENABLE=0))),
        Row("four DGX A100, HDR: 2 KiB", "tree", "tree", "",
            lambda run: run("eight_nodes", "2KiB", "node={profile: dgx-a100}", "cluster.nodes=4").algorithm),
        Row("four DGX A100, HDR: smallest size with rings", "1 to 4 MiB", between(1, 4), "MiB",
            first_ring("eight_nodes", "node={profile: dgx-a100}", "cluster.nodes=4")),
    ]),
    Claim("C4", "hierarchy", [
        Row("traffic over the network, eight GPUs per node", "1/8", about(1 / 8), "",
            # Each NIC is bound by its bytes: time x NICs is proportional to the traffic.
            lambda run: 64 * run("hierarchy", "8GiB", "cluster.nodes=64", "node.gpus=8").time /
            (512 * run("hierarchy", "8GiB").time)),
    ]),
    Claim("C5", "NCCL_BUFFSIZE", [
        Row(f"{size}, ring, 4 to 32 MiB", "15 to 25 %", between(15, 25), "%",
            gain(("eight_nodes", size, *RING, *env(BUFFSIZE=4 * MIB)),
                 ("eight_nodes", size, *RING, *env(BUFFSIZE=32 * MIB))))
        for size in ("256MiB", "8GiB")
    ] + [Row("8GiB, ring, 1 to 4 MiB", None, None, "%",
             gain(("eight_nodes", "8GiB", *RING, *env(BUFFSIZE=MIB)),
                  ("eight_nodes", "8GiB", *RING, *env(BUFFSIZE=4 * MIB))))]),
    Claim("D2", "sockets against RDMA, 400 MB", [
        Row("100 Gb/s sockets, four nodes", "200 ms", about(200), "ms",
            milliseconds("one_nic", "400MB", "node.nics.link=socket", "node.nics.rate=100Gbps")),
        Row("one 800 Gb/s NIC, two nodes of B300", "4 ms", about(4), "ms",
            milliseconds("one_nic", "400MB", B300, "cluster.nodes=2")),
        Row("the same, four nodes", "4 ms", about(4), "ms",
            milliseconds("one_nic", "400MB", B300)),
        Row("one 800 Gb/s NIC, two nodes of H100", None, None, "ms",
            milliseconds("one_nic", "400MB", "node.nics.rate=800Gbps", "cluster.nodes=2")),
    ]),
    Claim("D3", "a slow path between PCIe switches", [
        Row("all-reduce with NICs of the GPU's own socket: time saved", "30 %", about(30), "%",
            saved(("binding", "8GiB", "node.nics.numa=remote"), ("binding", "8GiB"))),
    ] + BINDING_STEPS),
    Claim("D4", "reduction in switches", [
        Row("SHARP, 64 nodes, 1 GiB, compared with a ring", "2 to 5 times", between(2, 5), "times",
            times_faster(("sharp", "1GiB", f"nccl.env={FORCED_RING}"), ("sharp", "1GiB"))),
        Row("NVLS compared with a ring, one node, 1 GiB", "2 times", about(2), "times",
            times_faster(("one_node", "1GiB", *RING), ("one_node", "1GiB", *env(ALGO="NVLS")))),
    ] + [
        Row(f"NVLS {operation} compared with a ring, 1 GiB", "2 times", about(2), "times",
            times_faster(("one_node", "1GiB", f"workload.collective={operation}", *RING),
                         ("one_node", "1GiB", f"workload.collective={operation}", *env(ALGO="NVLS"))))
        for operation in ("reduce_scatter", "all_gather")
    ]),
    Claim("D5", "symmetric memory", [
        Row(f"{gpus}, {operation}, 1 KiB to 16 MiB: largest gain", "7.6 times", about(7.6), "times",
            lambda run, scenario=scenario, operation=operation: max(
                symmetric_gain(scenario, operation, size)(run) for size in SMALL_TO_MEDIUM))
        for scenario, gpus in (("one_node", "eight H100"), ("nvl72", "72 GB200"))
        for operation in ("all_reduce", "all_gather", "reduce_scatter")
    ] + [
        Row(f"{gpus}, all_reduce, {size}", None, None, "times", symmetric_gain(scenario, "all_reduce", size))
        for scenario, gpus in (("one_node", "eight H100"), ("nvl72", "72 GB200")) for size in ("1KiB", "1MiB", "16MiB")
    ]),
    Claim("D6", "NIC and socket limits", [
        Row("two 800 Gb/s NICs, two nodes of one B300, 8 GiB", "200 GB/s", about(200), "GB/s",
            busbw("one_nic", "8GiB", "node={gpu: b300, gpus: 1, nics: {count: 2, rate: 800Gbps}}", "cluster.nodes=2")),
        Row("16 threads with 8 sockets each", "refused", TOO_MANY_SOCKETS, "",
            lambda run: run.said("one_nic", "node.nics.link=socket", *env(SOCKET_NTHREADS=16, NSOCKS_PERTHREAD=8))),
        Row("256 MB, 64 sockets compared with one", None, None, "times",
            times_faster(("one_nic", "256MB", "node.nics.link=socket", *env(SOCKET_NTHREADS=1, NSOCKS_PERTHREAD=1)),
                         ("one_nic", "256MB", "node.nics.link=socket", *env(SOCKET_NTHREADS=8, NSOCKS_PERTHREAD=8)))),
    ]),
    Claim("D7", "PAT", [
        Row("128 ranks, 1 GiB: bandwidth relative to a ring", "near 100 %", (90, 110), "%",
            lambda run: percent(run("pat", "1GiB").busbw / run("pat", "1GiB", *env(ALGO="Ring")).busbw)),
        Row("8 KiB: time on 128 ranks relative to 8", "log2: 7/3", about(7 / 3), "times",
            times_faster(("pat", "8KiB"), ("pat", "8KiB", "cluster.nodes=8"))),
        Row("8 KiB: the same for a ring", "127/7", about(127 / 7), "times",
            times_faster(("pat", "8KiB", *env(ALGO="Ring", PROTO="LL")),
                         ("pat", "8KiB", "cluster.nodes=8", *env(ALGO="Ring", PROTO="LL")))),
        Row("8 KiB, 128 ranks: PAT compared with a ring with LL", None, None, "times",
            times_faster(("pat", "8KiB", *env(ALGO="Ring", PROTO="LL")), ("pat", "8KiB"))),
    ]),
    Claim("D8", "KV-cache transfer", [
        Row("path inside one NVLink domain", "nvlink", "nvlink", "", kv_transfer("path", *RACK)),
        Row("path between two nodes, GPUDirect RDMA", "rdma", "rdma", "", kv_transfer("path")),
        Row("path between two nodes, no GPUDirect RDMA", "storage", "storage", "", kv_transfer("path", "node.gdr=false")),
        *[Row(f"100,000 tokens, {where}", None, None, "ms",
              lambda run, words=words: 1e3 * kv_transfer("time_s", *words)(run))
          for where, words in (("NVLink", (*RACK, *ONE_RUN)), ("RDMA", ONE_RUN),
                               ("host memory", ("node.gdr=false", *ONE_RUN)), ("RDMA, scattered blocks", ()),
                               ("RDMA with NCCL", ("workload.kv_cache.library=nccl",)))],
        Row("RDMA: share of the line rate", None, None, "%",
            lambda run: percent(kv_transfer("bytes", *ONE_RUN)(run) / 8 / 50e9 / kv_transfer("time_s", *ONE_RUN)(run))),
        Row("from storage, eight drives of 5 GB/s", None, None, "ms",
            lambda run: 1e3 * run.step("kv_cache", *PREFIX, "workload.kv_cache.tier=ssd",
                                       "workload.kv_cache.drives=40GBps").prefix["load_s"]),
        Row("size of the cache", "tens of GB", between(10, 100), "GB", lambda run: 1e-9 * kv_transfer("bytes")(run)),
    ]),
]

ALL = [*sorted([*CLAIMS, *STEPS, *MORE], key=lambda claim: (claim.name[0], int(claim.name[1:]))), *FACTS]
