"""What the tables of claims are made of.

A row: what it is about; the claim as text; the range that agrees with it, a word, or None if the row is there for
comparison; the unit; the forecast. A single figure is met within a quarter, a range within a tenth of its ends, data
within a twentieth. `run(scenario, size, *set words)` is a row of the forecast of scenarios/claims/SCENARIO.yaml.
"""

from dataclasses import dataclass
from typing import Any, Callable

INFINITY = float("inf")


@dataclass(frozen=True)
class Row:
    what: str
    text: str
    claimed: Any
    unit: str
    forecast: Callable


@dataclass(frozen=True)
class Claim:
    name: str
    on: str
    rows: list


def about(figure):
    return (0.75 * figure, 1.25 * figure)


def between(low, high):
    return (0.9 * low, 1.1 * high)


def near(figure):
    return (0.95 * figure, 1.05 * figure)


def env(**variables):
    return tuple(f"nccl.env.NCCL_{name}={value}" for name, value in variables.items())


FORCED_RING = "{NCCL_ALGO: Ring, NCCL_PROTO: Simple}"
RING = env(ALGO="Ring", PROTO="Simple")
TREE = env(ALGO="Tree", PROTO="Simple")
NO_GDR = ("node.gdr=false",)
TWO_BY_TWO = ("cluster.nodes=2", "node.gpus=2", "node.nics.count=2")
MIB = 2**20
B300 = "node={gpu: b300, gpus: 1, nics: {count: 1, rate: 800Gbps}}"
ROCE_100 = ("node.nics.link=roce", "node.nics.rate=100Gbps")
ADAPTIVE = "routing={kind: adaptive}"
FLOWLET = "routing={kind: adaptive, by: flowlet}"
REACTIVE = "fabric.congestion.control=reactive"
# Switches that drop and cables that lose a packet in a million.
LOSSY = ("node.nics.link=roce", "fabric.congestion={control: reactive, lossless: false, loss: 1e-6}")
TWO_LEAVES = ("cluster.nodes=2", "fabric={kind: leaf_spine, leaves: 2, spines: 2, nodes_per_leaf: 1}")


TOO_MANY_SOCKETS = ("nccl.env.NCCL_NSOCKS_PERTHREAD: 16 threads with 8 sockets each exceed 64 sockets; "
                    "NCCL uses 4 per thread")


def percent(part):
    return 100 * part


def milliseconds(*what):
    return lambda run: run(*what).time / 1000


def busbw(*what):
    return lambda run: run(*what).busbw


def gain(before, after):
    """In per cent of the bandwidth."""
    return lambda run: percent(run(*before).time / run(*after).time - 1)


def saved(before, after):
    """In per cent of the time."""
    return lambda run: percent(1 - run(*after).time / run(*before).time)


def times_faster(before, after):
    return lambda run: run(*before).time / run(*after).time


def left_over(after, before):
    """Part of the bandwidth."""
    return lambda run: run(*before).time / run(*after).time


def lost(before, after):
    """In per cent of the bandwidth."""
    return lambda run: percent(1 - run(*before).time / run(*after).time)


def nvlink_share(size):
    """Of the 450 GB/s of an H100."""
    return lambda run: percent(run("one_node", size).busbw / 450)


def nic_share(size, gbps, *words):
    return lambda run: percent(run("one_nic", size, f"node.nics.rate={gbps}Gbps", *words).busbw / (gbps / 8))


def first_ring(scenario, *words):
    """The smallest power of two, MiB, from which on NCCL takes rings in place of trees."""

    def forecast(run):
        sizes = [2**k for k in range(10, 31)]
        rings = [run(scenario, f"{size}B", *words).algorithm == "ring" for size in sizes]
        trees = [k for k, ring in enumerate(rings) if not ring]
        return "rings at all sizes" if not trees else sizes[trees[-1] + 1] / 2**20

    return forecast


def sharp_groups(run):
    """Jobs of eight trees that can stream at once: those for which NCCL still takes the switches."""
    taken = (8, 16, 32, 63, 64, 65)
    works = [n for n in taken if run("sharp", "1GiB", f"sharp.other_trees={8 * (n - 1)}").algorithm == "nvls"]
    return max(works)


FOUR_NODES = ("node.gpus=1", "node.nics.count=1", "cluster.nodes=4")
FOUR_RACKS = (*FOUR_NODES, "fabric={kind: leaf_spine, leaves: 4, spines: 2, nodes_per_leaf: 1}")
# Blocks of a cache that lie next to each other.
ONE_RUN = ("workload.kv_cache.contiguous=0",)
PREFIX = ("workload.load.cached=0.99",)
SMALL_TO_MEDIUM = ("1KiB", "16KiB", "64KiB", "256KiB", "1MiB", "4MiB", "16MiB")
RACK = ("node={profile: gb200-tray}", "nvlink_domain.nodes=18", "cluster.nodes=4")


def reduces_ms(scenario, *words):
    """Of a decode step's all-reduces, by NCCL or by the engine's own kernels."""

    def forecast(run):
        step = run.step(scenario, *words)
        calls = [e for e in step.collectives if e["collective"] == "all_reduce"]
        if not calls:
            others = sum(e["calls"] * e["time_us"] for e in step.collectives) / 1000
            return 1e3 * step.exposed - others
        return sum(e["calls"] * e["time_us"] for e in calls) / 1000

    return forecast


def reduces_share(scenario, *words):
    return lambda run: percent(reduces_ms(scenario, *words)(run) / (1e3 * run.step(scenario, *words).time))


def symmetric_gain(scenario, operation, size):
    """NCCL's choice on plain buffers against its kernels on symmetric memory."""
    words = (f"workload.collective={operation}",)
    return times_faster((scenario, size, *words), (scenario, size, *words, "workload.buffers=symmetric"))


def kv_transfer(what, *words):
    """Of a request's cache."""
    return lambda run: run.step("kv_cache", *words).disaggregated["transfer"][what]
