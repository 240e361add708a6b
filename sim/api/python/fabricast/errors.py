"""Errors and warnings of Fabricast, with the position of every error in the scenario."""

import dataclasses
import json
from typing import List, Optional, Sequence


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One message: what is wrong, where, and what to write instead."""

    severity: str
    what: str
    hint: Optional[str] = None
    file: Optional[str] = None
    line: Optional[int] = None
    column: Optional[int] = None
    key: Optional[str] = None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        key = f"{self.key}: " if self.key else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{place + ': ' if place else ''}{self.severity}: {key}{self.what}{hint}"


class Error(Exception):
    """A question or a scenario that Fabricast cannot answer.

    ``diagnostics`` lists all errors at once. Subclasses show whether the input, the machine or Fabricast
    is the cause.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__("\n".join(str(d) for d in diagnostics))
        self.diagnostics: List[Diagnostic] = list(diagnostics)


class BadInput(Error, ValueError):
    """The scenario or an option is wrong (exit code 2 of the command line)."""


class Unavailable(Error):
    """A device, library or file system is missing (exit code 3)."""


class InternalError(Error):
    """A bug of Fabricast, or too little memory (exit code 4)."""


class FabricastWarning(UserWarning):
    """A setting that a scenario does not state, or that Fabricast does not simulate."""


def parsed_diagnostics(text: str) -> List[Diagnostic]:
    """The diagnostics of a JSON array. Members that a newer library adds are ignored."""
    known = {field.name for field in dataclasses.fields(Diagnostic)}
    return [Diagnostic(**{key: value for key, value in each.items() if key in known}) for each in json.loads(text)]


def error_of(status: int, diagnostics: Sequence[Diagnostic]) -> Error:
    """The exception for a status of the C interface other than an answer."""
    return {2: BadInput, 3: Unavailable}.get(status, InternalError)(diagnostics)
