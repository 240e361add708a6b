"""Answers: the JSON of the command line, and convenient views of it in Python."""

import html
import json
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

import numpy

from .errors import Diagnostic

if TYPE_CHECKING:
    import pandas

# Columns of a collective's rows: name in JSON, name here, type. Text columns are as wide as their longest text.
_ROW_FIELDS: Tuple[Tuple[str, str], ...] = (
    ("bytes", "i8"), ("time_us", "f8"), ("algbw_gbps", "f8"), ("busbw_gbps", "f8"), ("algorithm", "U"),
    ("protocol", "U"), ("channels", "i4"), ("bottleneck", "U"), ("time_us_p5", "f8"), ("time_us_p95", "f8"),
    ("time_us_worst", "f8"), ("samples", "i4"), ("low_us", "f8"), ("high_us", "f8"))


def _array(rows: Sequence[Dict[str, Any]], fields: Sequence[Tuple[str, str]]) -> "numpy.ndarray[Any, Any]":
    """Dicts as a structured array. A number that a row does not have is NaN, a text is empty."""
    types = []
    for name, kind in fields:
        if kind == "U":
            kind = f"U{max([1] + [len(str(row.get(name, ''))) for row in rows])}"
        types.append((name, kind))
    missing = {"U": "", "f": numpy.nan, "i": 0, "b": False}
    return numpy.array([tuple(row.get(name, missing[kind[0]]) for name, kind in types) for row in rows], dtype=types)


def _fields_of(rows: Sequence[Dict[str, Any]]) -> List[Tuple[str, str]]:
    """Fields for plain members of rows whose names are not known here, in the order of the rows."""
    kinds: Dict[str, str] = {}
    for row in rows:
        for name, value in row.items():
            kind = {bool: "b1", int: "i8", float: "f8", str: "U"}.get(type(value))
            if kind is None:
                continue
            before = kinds.setdefault(name, kind)
            if {before, kind} == {"i8", "f8"}:
                kinds[name] = "f8"
    for name, kind in kinds.items():
        # A row without the number must not look as if it were 0.
        if kind == "i8" and any(name not in row for row in rows):
            kinds[name] = "f8"
    return list(kinds.items())


class Answer:
    """An answer. ``json`` has the bytes that the command line prints with ``--json -``; ``data`` is the same as a dict.

    An answer is immutable. ``warnings`` lists settings that the scenario does not state or that are not simulated.
    """

    def __init__(self, text: str, warnings: Sequence[Diagnostic]) -> None:
        self.json: str = text
        self.warnings: List[Diagnostic] = list(warnings)
        self._data: Optional[Dict[str, Any]] = None
        self._rows: Optional["numpy.ndarray[Any, Any]"] = None

    @property
    def data(self) -> Dict[str, Any]:
        """The JSON as Python values. docs/formats.md describes its members and their units."""
        if self._data is None:
            self._data = json.loads(self.json)
        return self._data

    @property
    def rows(self) -> "numpy.ndarray[Any, Any]":
        """The rows of the answer as a NumPy structured array; each name carries its unit."""
        if self._rows is None:
            rows = self._row_dicts()
            self._rows = _array(rows, _fields_of(rows))
        return self._rows

    def _row_dicts(self) -> List[Dict[str, Any]]:
        return list(self.data.get("rows", []))

    def to_pandas(self) -> "pandas.DataFrame":
        """The rows as a DataFrame. Needs pandas."""
        import pandas
        return pandas.DataFrame({name: self.rows[name] for name in self.rows.dtype.names or ()})

    def _title(self) -> str:
        scenario = self.data.get("scenario")
        name = scenario.get("name") if isinstance(scenario, dict) else scenario
        return f"{type(self).__name__}: {name or 'scenario'}"

    def __repr__(self) -> str:
        return f"<{self._title()}, {len(self.rows)} rows>"

    def _repr_html_(self) -> str:
        names = self.rows.dtype.names or ()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = ""
        for row in self.rows[:200]:
            cells = (f"{value:.5g}" if isinstance(value, numpy.floating) else html.escape(str(value)) for value in row)
            body += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
        more = f"<p>and {len(self.rows) - 200} more rows</p>" if len(self.rows) > 200 else ""
        return (f"<p><b>{html.escape(self._title())}</b></p><table><thead><tr>{head}</tr></thead>"
                f"<tbody>{body}</tbody></table>{more}")


class Forecast(Answer):
    """A forecast: the answer of ``run``.

    For a collective, ``rows`` has a row per size: bytes, time_us, algbw_gbps, busbw_gbps, algorithm, protocol,
    channels, bottleneck, percentiles over the samples, and the 90 % interval low_us to high_us (NaN without intervals).
    For a step, ``rows`` has the breakdown: part, seconds. ``data`` has everything.
    """

    def _row_dicts(self) -> List[Dict[str, Any]]:
        if "rows" in self.data:
            return list(self.data["rows"])
        rows: List[Dict[str, Any]] = []
        for part, value in (self.data.get("breakdown") or {}).items():
            if isinstance(value, dict):
                rows += [{"part": f"{part}: {name}", "seconds": float(seconds)} for name, seconds in value.items()]
            elif isinstance(value, (int, float)):
                rows.append({"part": part, "seconds": float(value)})
        return rows

    @property
    def rows(self) -> "numpy.ndarray[Any, Any]":
        if self._rows is None:
            rows = self._row_dicts()
            if rows and "busbw_gbps" in rows[0]:
                self._rows = _array([_with_interval(row) for row in rows], _ROW_FIELDS)
            else:
                self._rows = _array(rows, _fields_of(rows))
        return self._rows


def _with_interval(row: Dict[str, Any]) -> Dict[str, Any]:
    interval = row.get("interval_90_us")
    return {**row, "low_us": interval["low"], "high_us": interval["high"]} if interval else row


class Explanation(Answer):
    """Where the time goes and which changes would help: the answer of ``explain``. ``rows`` has the changes."""

    def _row_dicts(self) -> List[Dict[str, Any]]:
        # Of a collective they belong to the size that is explained.
        for part in [self.data] + list(self.data.get("rows", [])):
            if "what_would_help" in part:
                return list(part["what_would_help"])
        return []


def _number_or_text(label: str) -> Any:
    """A value of an axis, which a study writes as text."""
    for number in (int, float):
        try:
            return number(label)
        except ValueError:
            pass
    return label


class Plan(Answer):
    """A comparison of configurations: the answer of ``plan``. ``rows`` has a row per configuration, in the order of the
    study, with a column per axis and per metric."""

    def _row_dicts(self) -> List[Dict[str, Any]]:
        rows = []
        for row in self.data.get("rows", []):
            flat = {name: value for name, value in row.items() if not isinstance(value, (dict, list))}
            for axis, value in (row.get("axes") or {}).items():
                flat[axis] = _number_or_text(value)
            flat.update(row.get("metrics") or {})
            rows.append(flat)
        return rows

    @property
    def best(self) -> Optional[int]:
        """The number of the best row; None if no row satisfies the objective."""
        return self.data.get("best")


class Check(Answer):
    """Whether measured times are those of a healthy cluster, and if not, why: the answer of ``check``."""

    def __init__(self, text: str, warnings: Sequence[Diagnostic], good: bool) -> None:
        super().__init__(text, warnings)
        self.healthy: bool = good


class Gate(Answer):
    """Floors for acceptance tests, or with logs a verdict: the answer of ``gate``."""

    def __init__(self, text: str, warnings: Sequence[Diagnostic], good: bool) -> None:
        super().__init__(text, warnings)
        self.passes: bool = good
