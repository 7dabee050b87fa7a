"""Ensue: complex event recognition for Python and Spark."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ensue.analysis.user_functions import UserAggregate, UserFunction, aggregate, function
from ensue.engine.query import Query, compile, open, resume, run
from ensue.errors import (
    BudgetError,
    CeqlError,
    CeqlNameError,
    CeqlSemanticError,
    CeqlSyntaxError,
    CeqlTypeError,
    CeqlWarning,
    EnsueError,
    EventError,
    EventWarning,
    FunctionError,
    SnapshotError,
    UnseenWarning,
)
from ensue.options import EventsLike, Limits, ReadOptions
from ensue.rules.files import RuleError
from ensue.rules.load import Rule, load_rules

if TYPE_CHECKING:
    from ensue.drawing.svg import Picture
    from ensue.engine.session import Session
    from ensue.engine.sessions import Sessions
    from ensue.engine.warming import warm
    from ensue.insight.funnel import Funnel
    from ensue.insight.near_misses import NearMiss, NearMisses
    from ensue.insight.strategies import Strategies
    from ensue.results.explanation import MatchExplanation
    from ensue.results.matches import Match, Matches, Total

    __version__: str

__all__ = [
    "BudgetError",
    "CeqlError",
    "CeqlNameError",
    "CeqlSemanticError",
    "CeqlSyntaxError",
    "CeqlTypeError",
    "CeqlWarning",
    "EnsueError",
    "EventError",
    "EventWarning",
    "EventsLike",
    "FunctionError",
    "Funnel",
    "Limits",
    "Match",
    "MatchExplanation",
    "Matches",
    "NearMiss",
    "NearMisses",
    "Picture",
    "Query",
    "ReadOptions",
    "Rule",
    "RuleError",
    "Session",
    "Sessions",
    "SnapshotError",
    "Strategies",
    "Total",
    "UnseenWarning",
    "UserAggregate",
    "UserFunction",
    "__version__",
    "aggregate",
    "compile",
    "function",
    "load_rules",
    "open",
    "resume",
    "run",
    "warm",
]


_LATER = {
    "Funnel": "ensue.insight.funnel",
    "Match": "ensue.results.match",
    "MatchExplanation": "ensue.results.explanation",
    "Matches": "ensue.results.matches",
    "NearMiss": "ensue.insight.near_misses",
    "NearMisses": "ensue.insight.near_misses",
    "Picture": "ensue.drawing.svg",
    "Session": "ensue.engine.session",
    "Sessions": "ensue.engine.sessions",
    "Strategies": "ensue.insight.strategies",
    "Total": "ensue.results.match",
    "warm": "ensue.engine.warming",
}
"""Where the names are that are imported when they are first asked for."""


def __getattr__(name: str) -> Any:
    """Import what needs Arrow, and look up the version, when it is first asked for."""
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("ensue")
        except PackageNotFoundError:  # run from its sources
            return "unknown"
    module = _LATER.get(name)
    if module is not None:
        return getattr(import_module(module), name)
    raise AttributeError(f"module 'ensue' has no attribute {name!r}")
