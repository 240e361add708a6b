"""Forecasts in the forms that other simulators read: docs/backends.md.

Each function takes a Network and gives what one of them asks for. None needs the other program.
"""

import csv
import json
import os
import pathlib
import tempfile
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy

from .network import _TIME, Network

# What PyTorch, Chakra and PARAM call the collectives, in lower case without separators.
_NAMES = {
    "allreduce": "all_reduce", "allreducecoalesced": "all_reduce",
    "allgather": "all_gather", "allgatherbase": "all_gather", "allgatherintotensor": "all_gather",
    "reducescatter": "reduce_scatter", "reducescatterbase": "reduce_scatter", "reducescattertensor": "reduce_scatter",
    "alltoall": "alltoall", "alltoallv": "alltoall", "alltoallsingle": "alltoall", "alltoallbase": "alltoall",
    "broadcast": "broadcast", "reduce": "reduce", "gather": "gather", "scatter": "scatter",
    "send": "send", "sendrecv": "sendrecv",
}

# Bytes of an element, by PyTorch's names of types in lower case.
_TYPES = {"float": 4, "float32": 4, "bfloat16": 2, "half": 2, "float16": 2, "double": 8, "float64": 8, "int": 4, "long": 8,
          "short": 2, "char": 1, "byte": 1, "bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "int8": 1, "uint8": 1,
          "int32": 4, "int64": 8}


class Call(NamedTuple):
    """A call of a trace."""

    collective: str
    bytes: int
    ranks: Tuple[int, ...]


def collective_named(name: str) -> str:
    """Fabricast's name of a collective, from that of PyTorch, Chakra or PARAM.

    :raises ValueError: if it has none
    """
    plain = name.lower().replace("_", "").replace("nccl:", "")
    if plain not in _NAMES:
        raise ValueError(f"'{name}' is not a known collective: {', '.join(sorted(set(_NAMES.values())))}")
    return _NAMES[plain]


def replay(network: Network, calls: Iterable[Union[Call, Sequence[Any], Mapping[str, Any]]]) -> \
        "numpy.ndarray[Any, Any]":
    """The times of the calls of a trace, each call alone: an element per call, with the members of a CallTime.

    :param calls: (collective, bytes, ranks), or dicts with these members. Names may be those of PyTorch and Chakra
    """
    places: Dict[Tuple[str, Tuple[int, ...]], List[int]] = {}
    sizes: List[int] = []
    for number, call in enumerate(calls):
        name, size, ranks = (call["collective"], call["bytes"], call["ranks"]) if isinstance(call, Mapping) else call
        places.setdefault((collective_named(name), tuple(ranks)), []).append(number)
        sizes.append(int(size))
    times = numpy.empty(len(sizes), dtype=_TIME)
    # The sizes of a group cost less together.
    for (name, ranks), numbers in places.items():
        times[numbers] = network.time(name, [sizes[number] for number in numbers], ranks)
    return times


def kineto_calls(trace: Union[str, "os.PathLike[str]", Mapping[str, Any]]) -> List[Call]:
    """The collectives of a trace of torch.profiler (Kineto), in the order of their kernels.

    Kernels that name no collective, state no ranks, or whose ranks are abbreviated are left out.

    :param trace: a path, or the parsed JSON
    """
    if isinstance(trace, Mapping):
        events = trace.get("traceEvents", [])
    else:
        with open(trace, encoding="utf-8") as file:
            events = json.load(file).get("traceEvents", [])
    found: List[Tuple[float, Call]] = []
    for event in events:
        args = event.get("args", {})
        if event.get("cat") != "kernel" or "Collective name" not in args or "dtype" not in args:
            continue
        try:
            name = collective_named(args["Collective name"])
            ranks = tuple(int(rank) for rank in json.loads(args["Process Group Ranks"]))
            # The larger buffer is what nccl-tests counts: the output of an all-gather, the input of a reduce-scatter.
            elements = max(int(args["In msg nelems"]), int(args["Out msg nelems"]))
            size = elements * _TYPES[str(args["dtype"]).lower()]
        except (KeyError, TypeError, ValueError):
            continue
        if size > 0 and len(ranks) > 1:
            found.append((float(event.get("ts", 0)), Call(name, size, ranks)))
    return [call for _, call in sorted(found, key=lambda each: each[0])]


# Vidur's forest of decision trees is constant between the sizes that it has seen, so they must lie close together: 16 per
# octave leave steps of 4 to 6 %.
_VIDUR_SIZES = tuple((16 + part) << octave - 4 for octave in range(10, 29) for part in range(16))
_VIDUR_STATISTICS = ("min", "max", "mean", "median", "std")
_MILLISECONDS = 1e3


def _vidur_columns(collective: str) -> List[str]:
    return [""] + [f"time_stats.{collective}.{statistic}" for statistic in _VIDUR_STATISTICS] + [
        "rank", "num_workers", "size", "collective", "devices_per_node", "max_devices_per_node"]


def _vidur_rows(network: Network, collective: str, question: str, ranks: Sequence[int], devices_per_node: int,
                sizes: Sequence[int]) -> Iterable[List[Any]]:
    times = network.time(question, list(sizes), ranks)
    for size, time in zip(sizes, times["seconds"] * _MILLISECONDS):
        text = f"{time:.9g}"
        yield [text, text, text, text, "0", 0, len(ranks), size, collective, devices_per_node, network.ranks_per_host]


def _write_csv(path: pathlib.Path, columns: Sequence[str], rows: Iterable[List[Any]]) -> None:
    """Whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            for number, row in enumerate(rows):
                writer.writerow([number] + row)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def vidur_profiles(network: Network, directory: Union[str, "os.PathLike[str]"], *,
                   sizes: Optional[Sequence[int]] = None) -> List[pathlib.Path]:
    """Writes ``all_reduce.csv`` and ``send_recv.csv``, the network profiles that Vidur trains its predictors on.

    The first has all-reduces of 2, 4, ... ranks of a host, the second a message between neighbours on a host
    (``devices_per_node`` 2) and, if there are several hosts, between two hosts (1). Vidur reads them with
    ``--random_forrest_execution_time_predictor_config_all_reduce_input_file`` and ``..._send_recv_input_file``. Times are
    those of whole calls, so ``..._nccl_cpu_launch_overhead_ms`` is 0.

    :param directory: where to write; it must exist
    :param sizes: bytes; None: 1 KiB to 496 MiB, 16 per octave
    :returns: the two paths
    """
    asked = sorted(set(_VIDUR_SIZES if sizes is None else sizes))
    host = network.ranks_per_host
    folder = pathlib.Path(directory)
    paths = [folder / "all_reduce.csv", folder / "send_recv.csv"]
    groups = [workers for workers in (2, 4, 8, 16) if workers <= host]
    if not groups:
        raise ValueError("Vidur splits tensors inside a host, but the hosts of the scenario have one GPU")
    reduces = [row for workers in groups
               for row in _vidur_rows(network, "all_reduce", "all_reduce", range(workers), workers, asked)]
    sends = list(_vidur_rows(network, "send_recv", "send", (0, 1), 2, asked))
    if network.ranks > host:
        sends += _vidur_rows(network, "send_recv", "send", (0, host), 1, asked)
    _write_csv(paths[0], _vidur_columns("all_reduce"), reduces)
    _write_csv(paths[1], _vidur_columns("send_recv"), sends)
    return paths


__all__ = ["Call", "collective_named", "kineto_calls", "replay", "vidur_profiles"]
