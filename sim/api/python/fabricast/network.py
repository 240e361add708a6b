"""The network of a scenario, for simulators and replayers that need the times of many calls."""

import json
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union, overload

import numpy

from .errors import Diagnostic
from .scenario import Logs, Scenario, Source, _logs, _text_of, _warn

Ranks = Union[Sequence[int], range, "numpy.ndarray[Any, Any]"]

_TIME = [("seconds", "f8"), ("low", "f8"), ("high", "f8"), ("launch", "f8"), ("algorithm", "U16"), ("protocol", "U8"),
         ("channels", "i4")]
_MOST_BYTES = 1 << 62


class CallTime(NamedTuple):
    """The time of a call on the stream of a GPU, in seconds.

    ``low`` to ``high`` is the 90 % interval. ``launch`` is the part of ``seconds`` that is fixed per call: a call on an idle
    stream pays it. Fabricast's training steps treat it as hidden, because their hosts launch ahead.
    """

    seconds: float
    low: float
    high: float
    launch: float
    algorithm: str
    protocol: str
    channels: int


def _whole(values: Any, what: str, most: int) -> "numpy.ndarray[Any, Any]":
    """Whole numbers as an array. NumPy would round fractions and wrap what is out of range."""
    array = numpy.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{what} are whole numbers, not {array.dtype}")
    if array.size and (int(array.min()) < 0 or int(array.max()) > most):
        raise ValueError(f"{what}: {int(array.min()) if int(array.min()) < 0 else int(array.max())} is out of range")
    return array


class Network:
    """Times of calls of any group of ranks of a scenario's cluster::

        n = fabricast.Network("cluster.yaml")
        n.time("all_reduce", 1 << 20, range(8)).seconds
        n.time("all_reduce", [1 << 20, 1 << 30], range(0, 64, 8))["seconds"]          # NumPy, one element per size
        n.send(1 << 20, 0, 8).seconds

    A group has the network to itself, except for the scenario's other jobs. Rank r is GPU ``r % g`` of host ``r // g``,
    with g GPUs per host. For all ranks, times and intervals are those of ``run`` with ``harness: {tool: isolated}``.

    Answers are cached, at most ``kept`` of about 150 B each; a full cache is emptied. A Network may be used by
    several threads at once, and other Python threads run while it computes.

    :param source: a Scenario, or what makes one
    :param intervals: 90 % intervals, which take most of the time of an unknown answer
    :param measured: logs of this site, on which times are conditioned
    :raises BadInput: if the scenario is wrong, or has settings that groups of ranks do not support
    """

    def __init__(self, source: Union[Source, Scenario], *, intervals: bool = True, measured: Logs = None,
                 kept: Optional[int] = None, threads: Optional[int] = None) -> None:
        scenario = source if isinstance(source, Scenario) else Scenario(source)
        options = {"intervals": intervals, "measured": _logs(measured), "kept": kept}
        given = {key: value for key, value in options.items() if value is not None and value != []}
        self._handle, reply = scenario._handle.network(json.dumps(given), threads or 0)
        self.scenario: Scenario = scenario
        found: List[Diagnostic] = _text_of(reply)[1]
        _warn(w for w in found if w not in scenario.warnings)
        self._threads = threads or 0
        self._groups: Dict[Union[Tuple[int, ...], range], "numpy.ndarray[Any, Any]"] = {}

    def _group(self, ranks: Optional[Ranks]) -> "numpy.ndarray[Any, Any]":
        """A group as an array. Simulators ask for few groups again and again, and making an array takes longer than an
        answer."""
        if ranks is None:
            ranks = range(self.ranks)
        if not isinstance(ranks, (range, list, tuple)) or len(ranks) > 4096 or not (
                isinstance(ranks, range) or all(type(rank) is int for rank in ranks)):
            array: "numpy.ndarray[Any, Any]" = numpy.atleast_1d(_whole(ranks, "ranks", 0xffffffff))
            return array
        key = tuple(ranks) if isinstance(ranks, list) else ranks
        known = self._groups.get(key)
        if known is None:
            known = numpy.atleast_1d(_whole(ranks, "ranks", 0xffffffff)).astype(numpy.uint32)
            if len(self._groups) >= 1024:
                self._groups.clear()
            self._groups[key] = known
        return known

    @property
    def ranks(self) -> int:
        """The number of ranks of the cluster."""
        return self._handle.ranks()[0]

    @property
    def ranks_per_host(self) -> int:
        return self._handle.ranks()[1]

    @overload
    def time(self, collective: str, nbytes: int, ranks: Optional[Ranks] = None, *, at: float = 0.0) -> CallTime:
        ...

    @overload
    def time(self, collective: str, nbytes: Union[Sequence[int], "numpy.ndarray[Any, Any]"],
             ranks: Optional[Ranks] = None, *, at: float = 0.0) -> "numpy.ndarray[Any, Any]":
        ...

    def time(self, collective: str, nbytes: Any, ranks: Optional[Ranks] = None, *, at: float = 0.0) -> Any:
        """The time of a call: a CallTime, or for several sizes a structured array with its members.

        :param collective: all_reduce, all_gather, reduce_scatter, broadcast, reduce, alltoall, scatter, gather; sendrecv
            (each rank sends to the next of the group); send (the first of two ranks sends to the second)
        :param nbytes: counted as in nccl-tests: the whole buffer for all_gather and reduce_scatter, what a rank sends in
            total for alltoall
        :param ranks: the group, in the order of the communicator, with as many ranks on every node that it touches;
            None: all
        :param at: seconds on the clock of the scenario's faults
        :raises BadInput: for an unknown collective, rank, or size
        """
        single = type(nbytes) is int and 0 <= nbytes <= _MOST_BYTES
        sizes = numpy.array([nbytes]) if single else _whole(nbytes, "nbytes", _MOST_BYTES)
        reply, numbers, algorithms, protocols, channels = self._handle.times(
            collective, numpy.atleast_1d(sizes), self._group(ranks), at, self._threads)
        _text_of(reply)
        if single or sizes.ndim == 0:
            seconds, low, high, launch = numbers[0].tolist()
            return CallTime(seconds, low, high, launch, algorithms[0], protocols[0], channels[0])
        times = numpy.empty(len(numbers), dtype=_TIME)
        for column, (name, _) in enumerate(_TIME[:4]):
            times[name] = numbers[:, column]
        times["algorithm"], times["protocol"], times["channels"] = algorithms, protocols, channels
        return times.reshape(sizes.shape)

    def send(self, nbytes: Any, source: int, target: int, *, at: float = 0.0) -> Any:
        """The time of a message from one rank to another; otherwise as ``time``."""
        return self.time("send", nbytes, (source, target), at=at)


__all__ = ["CallTime", "Network"]
