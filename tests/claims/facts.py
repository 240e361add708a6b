"""What guides say of links, nodes and fabrics."""

import re

from rows import Claim, Row, near


def link_rate(kind):
    """GB/s, one direction."""
    return lambda run: float(re.search(rf"^  {kind} +([\d.]+) GB/s", run.told("list", "links"), re.MULTILINE)[1])


def both_ways(kind, links=1):
    return lambda run: 2 * links * link_rate(kind)(run)


def nvlinks(gpu):
    """GB/s both ways of a GPU."""

    def forecast(run):
        count, kind = re.search(r"(\d+) x (nvlink\d)", run.told("describe", gpu)).groups()
        return both_ways(kind, int(count))(run)

    return forecast


def switches(scenario, tier, *words):
    return lambda run: float(re.search(rf"^  {tier} +(\d+) switches", run.fabric(scenario, *words), re.MULTILINE)[1])


def gpus_of_socket_0(run):
    fabric = run.fabric("superpod")
    switches_there = re.findall(r"cpu0-(pcie\d+)", fabric)
    return " ".join(name for s in switches_there for name in re.findall(rf"\b{s}-((?:gpu|nic)\d+)", fabric))


FACTS = [
    Claim("H1", "links", [
        Row(f"InfiniBand {name}, Gb/s", f"{gbps}", near(gbps), "Gb/s",
            lambda run, name=name: 8 * link_rate(f"infiniband-{name.lower()}")(run))
        for name, gbps in (("SDR", 10), ("DDR", 20), ("QDR", 40), ("FDR", 56), ("EDR", 100), ("HDR", 200), ("NDR", 400),
                           ("XDR", 800))
    ] + [
        Row("PCIe Gen4 x16, both directions", "64 GB/s", near(64), "GB/s", both_ways("pcie4")),
        Row("PCIe Gen5 x16, both directions", "128 GB/s", near(128), "GB/s", both_ways("pcie5")),
        Row("C2C, both directions", "900 GB/s", near(900), "GB/s", both_ways("c2c")),
        Row("RoCE 100 Gb/s", "12.5 GB/s", near(12.5), "GB/s", link_rate("roce-100")),
        Row("NVLinks of an H100, both directions", "900 GB/s", near(900), "GB/s", nvlinks("h100-sxm")),
        Row("NVLinks of a GB200, both directions", "1800 GB/s", near(1800), "GB/s", nvlinks("gb200")),
    ]),
    Claim("H2", "NVL72", [
        Row("72 GPUs' NVLinks, both directions", "130 TB/s", near(130), "TB/s",
            lambda run: 72 * nvlinks("gb200")(run) / 1000),
        Row("alltoall of 1,152 MiB, all GPUs, both directions", "130 TB/s", near(130), "TB/s",
            # 16 MiB for each pair: parts that do not begin at multiples of 16 B are slow.
            lambda run: 72 * 2 * run("nvl72", "1152MiB").busbw / 1000),
    ]),
    Claim("H3", "nodes and fabrics", [
        Row("DGX H100: devices of socket 0", "gpu and nic 0 to 3",
            "gpu0 nic0 gpu1 nic1 gpu2 nic2 gpu3 nic3", "", gpus_of_socket_0),
        Row("512 nodes of 8 ports, switches of 64, two tiers", "64 leaves", "nothing wrong", "",
            lambda run: run.said("sizing", "fabric.tiers=2")),
        Row("the same in three tiers: leaves", "64", near(64), "", switches("sizing", "leaf")),
        Row("256 nodes in two tiers: leaves", None, None, "",
            switches("sizing", "leaf", "cluster.nodes=256", "fabric.tiers=2")),
        Row("32 nodes on rails: leaves", "8", (8, 8), "", switches("superpod", "leaf")),
    ]),
]
