"""Fabricast forecasts how long collectives, training steps and inference take on GPU clusters.

    >>> import fabricast
    >>> s = fabricast.Scenario({"fabricast": 1, "node": {"profile": "hgx-h100"}, "cluster": {"nodes": 8},
    ...                         "fabric": {"kind": "fat_tree"}, "workload": {"sizes": ["1GiB"]}})
    >>> s.run().rows["busbw_gbps"]                                        # doctest: +SKIP

Answers are those of the command line, byte for byte: ``s.run().json`` is what ``fabricast run --json -`` prints.
"""

from . import _core, backends
from .answers import Answer, Check, Explanation, Forecast, Gate, Plan
from .errors import BadInput, Diagnostic, Error, FabricastWarning, InternalError, Unavailable
from .network import CallTime, Network
from .scenario import Scenario, catalogue, describe, questions, schema

__version__: str = _core.version()

__all__ = [
    "Answer", "BadInput", "CallTime", "Check", "Diagnostic", "Error", "Explanation", "FabricastWarning", "Forecast",
    "Gate", "InternalError", "Network", "Plan", "Scenario", "Unavailable", "backends", "catalogue", "describe",
    "questions", "schema"
]
