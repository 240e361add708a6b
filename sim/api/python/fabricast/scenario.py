"""Scenarios, and the questions that they answer."""

import dataclasses
import json
import os
import warnings
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from . import _core
from .answers import Answer, Check, Explanation, Forecast, Gate, Plan
from .errors import Diagnostic, FabricastWarning, error_of, parsed_diagnostics

Source = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Log = Union[str, "os.PathLike[str]", Tuple[str, str]]
Logs = Union[Log, Iterable[Log], None]
Progress = Optional[Callable[[float], None]]


def _text_of(reply: Tuple[int, str, str]) -> Tuple[str, List[Diagnostic], int]:
    status, text, diagnostics = reply
    found = parsed_diagnostics(diagnostics) if diagnostics != "[]" else []
    if status not in (0, 1):
        raise error_of(status, found)
    return text, found, status


def _yaml(value: Any) -> str:
    """A value as JSON, which is YAML, too."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays, paths and dataclasses as what JSON knows."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a scenario cannot hold {type(value).__name__}")


def _words(changes: Optional[Mapping[str, Any]], keywords: Mapping[str, Any]) -> List[str]:
    words = [f"{key}={_yaml(value)}" for key, value in (changes or {}).items()]
    return words + [f"{key.replace('__', '.')}={_yaml(value)}" for key, value in keywords.items()]


def _logs(logs: Logs) -> List[Any]:
    """Paths, or pairs of a name and a text."""
    if logs is None:
        return []
    if isinstance(logs, (str, os.PathLike)) or (isinstance(logs, tuple) and len(logs) == 2
                                                and "\n" in str(logs[1])):
        logs = [logs]  # type: ignore[list-item]
    found: List[Any] = []
    for log in logs:
        if isinstance(log, tuple):
            found.append({"name": log[0], "text": log[1]})
        elif isinstance(log, str) and "\n" in log:
            found.append({"name": "log", "text": log})
        else:
            found.append(os.fspath(log))
    return found


def _warn(found: Iterable[Diagnostic]) -> None:
    for diagnostic in found:
        warnings.warn(str(diagnostic), FabricastWarning, stacklevel=3)


class Scenario:
    """A cluster and what runs on it.

    ``source`` is a path of a YAML or JSON file, a text with at least one line break or in braces, or a dict or dataclass
    with the sections of a scenario::

        s = Scenario("cluster.yaml")
        s = Scenario({"fabricast": 1, "node": {"profile": "hgx-h100"}, "cluster": {"nodes": 8},
                      "fabric": {"kind": "fat_tree"}, "workload": {"sizes": ["1MiB", "1GiB"]}})

    Opening a scenario reads it and builds its cluster; questions then only compute. A scenario is immutable:
    ``with_`` returns another one. Several threads may use one scenario at the same time.

    ``name`` is the name of a text or a dict in messages; paths in it are relative to the directory of that name.

    :raises BadInput: with all errors of the scenario at once
    """

    def __init__(self, source: Source, *, name: str = "scenario") -> None:
        if isinstance(source, os.PathLike) or (isinstance(source, str) and not _is_text(source)):
            opened = _core.open_file(os.fspath(source), [])
        else:
            opened = _core.open_text(source if isinstance(source, str) else _yaml(source), name, [])
        self._take(opened)
        _warn(self.warnings)

    def _take(self, opened: Tuple[_core.Scenario, Tuple[int, str, str]]) -> None:
        handle, reply = opened
        _, self.warnings, _ = _text_of(reply)
        self._handle = handle

    def with_(self, changes: Optional[Mapping[str, Any]] = None, **keywords: Any) -> "Scenario":
        """Returns another scenario with some keys changed, as ``--set`` does::

            s.with_({"cluster.nodes": 16, "fabric.kind": "rail_only"})
            s.with_(cluster__nodes=16, workload={"collective": "all_gather", "sizes": ["1GiB"]})

        In keywords, two underscores represent a dot. This is much cheaper than opening a scenario.
        """
        changed = Scenario.__new__(Scenario)
        changed._take(self._handle.change(_words(changes, keywords)))
        if changed.warnings != self.warnings:
            _warn(w for w in changed.warnings if w not in self.warnings)
        return changed

    def _ask(self, question: str, options: Dict[str, Any], threads: Optional[int],
             progress: Progress) -> Tuple[str, List[Diagnostic], int]:
        given = {key: value for key, value in options.items() if value is not None and value != []}
        text, found, status = _text_of(self._handle.ask(question, json.dumps(given), threads or 0, progress))
        _warn(w for w in found if w not in self.warnings)
        return text, found, status

    def run(self, *, intervals: bool = True, measured: Logs = None, threads: Optional[int] = None,
            progress: Progress = None) -> Forecast:
        """Forecasts the scenario.

        :param intervals: 90 % intervals, which take most of the time
        :param measured: logs of this site, on which the forecast is conditioned: paths, texts, or (name, text) pairs
        :param threads: None: all cores; the answer does not depend on it
        :param progress: called with the finished fraction about twenty times a second; may raise an exception to stop
        """
        text, found, _ = self._ask("run", {"intervals": intervals, "measured": _logs(measured)}, threads, progress)
        return Forecast(text, found)

    def explain(self, size: Optional[str] = None, *, advise: bool = False, measured: Logs = None,
                threads: Optional[int] = None, progress: Progress = None) -> Explanation:
        """Explains where the time of one size or of a step goes, and which changes would help.

        :param size: of a collective, such as ``"1GiB"``; None: the middle one of the scenario
        :param advise: also recommend NCCL variables for all sizes
        """
        options = {"size": size, "advise": advise or None, "measured": _logs(measured)}
        text, found, _ = self._ask("explain", options, threads, progress)
        return Explanation(text, found)

    def plan(self, sweep: Optional[Mapping[str, Any]] = None, *, search: Optional[str] = None,
             limit: Optional[int] = None, top: Optional[int] = None, risk: bool = False, intervals: bool = True,
             measured: Logs = None, threads: Optional[int] = None, progress: Progress = None) -> Plan:
        """Compares configurations, and chooses one by the scenario's objective::

            s.plan({"cluster.nodes": [32, 64], "fabric.kind": ["fat_tree", "rail_only"]})

        :param sweep: axes, in addition to the section ``sweep``: a list of values or a range
            ``{"from": 1, "to": 64, "factor": 2}`` for each key
        :param search: ``"parallel"``: ways to split a training step, instead of a sweep
        :param limit: for a search: maximum number of forecasts
        :param top: for a search: number of rows
        :param risk: also compute the effect of failures on each row
        """
        options = {"sweep": _words(sweep, {}), "search": search, "limit": limit, "top": top, "risk": risk or None,
                   "intervals": intervals, "measured": _logs(measured)}
        text, found, _ = self._ask("plan", options, threads, progress)
        return Plan(text, found)

    def check(self, log: Logs = None, *, against: Logs = None, measured: Logs = None, size: Optional[str] = None,
              busbw_gbps: Optional[float] = None, time: Optional[str] = None, threads: Optional[int] = None,
              progress: Progress = None) -> Check:
        """Checks whether measured times are those of a healthy cluster, and if not, looks for the cause.

        :param log: a log of nccl-tests or CSV of bytes,time_us: a path, a text, a (name, text) pair, or several
        :param against: logs of the same cluster when it was healthy
        :param size: without a log: the measured size, with ``busbw_gbps`` or ``time``
        """
        options = {"logs": _logs(log), "against": _logs(against), "measured": _logs(measured), "size": size,
                   "busbw_gbps": busbw_gbps, "time": time}
        text, found, status = self._ask("check", options, threads, progress)
        return Check(text, found, status == 0)

    def gate(self, *, probability: Optional[str] = None, collectives: Optional[Iterable[str]] = None,
             log: Logs = None, measured: Logs = None, threads: Optional[int] = None,
             progress: Progress = None) -> Gate:
        """Floors of bus bandwidth that a healthy cluster misses with a stated probability; with logs, the verdict.

        :param probability: ``"1/1000"``, ``"0.001"`` or ``"0.1%"``
        """
        options = {"probability": probability, "collectives": list(collectives or []), "logs": _logs(log),
                   "measured": _logs(measured)}
        text, found, status = self._ask("gate", options, threads, progress)
        return Gate(text, found, status == 0)

    def write(self, question: str, form: str, *, threads: Optional[int] = None, progress: Progress = None,
              **options: Any) -> str:
        """An answer in another form: ``s.write("run", "html")`` is the report page, ``"text"`` the terminal output.

        ``fabricast.questions()`` lists forms and options.
        """
        return self._ask(question, {**options, "form": form}, threads, progress)[0]

    def effective(self) -> str:
        """The scenario with every default filled in, as YAML."""
        return _text_of(self._handle.effective())[0]


def _is_text(source: str) -> bool:
    return "\n" in source or source.lstrip().startswith("{")


def describe(name: str) -> str:
    """What is built in under a name (``"hgx-h100"``, ``"fat_tree"``) or a key of scenarios, with sources."""
    return str(json.loads(_text_of(_core.describe(name))[0])["text"])


def catalogue(name: Optional[str] = None) -> str:
    """What is built in: the entries of a catalogue, or of all of them."""
    return str(json.loads(_text_of(_core.list(name))[0])["text"])


def schema() -> Dict[str, Any]:
    """The JSON Schema (draft 7) of scenarios."""
    return dict(json.loads(_text_of(_core.schema())[0]))


def questions() -> List[Dict[str, Any]]:
    """The questions, each with the JSON Schema of its options."""
    return list(json.loads(_text_of(_core.questions())[0]))


__all__ = ["Answer", "Scenario", "catalogue", "describe", "questions", "schema"]
