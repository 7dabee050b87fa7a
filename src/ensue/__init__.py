"""Ensue: complex event recognition for Python and Spark."""

from typing import TYPE_CHECKING, Any

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
    SnapshotError,
    UnseenWarning,
)
from ensue.options import EventsLike, Limits, ReadOptions
from ensue.rules.files import RuleError
from ensue.rules.load import Rule, load_rules

if TYPE_CHECKING:
    from ensue.engine.session import Session
    from ensue.engine.sessions import Sessions
    from ensue.engine.warming import warm
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
    "Limits",
    "Match",
    "Matches",
    "Query",
    "ReadOptions",
    "Rule",
    "RuleError",
    "Session",
    "Sessions",
    "SnapshotError",
    "Total",
    "UnseenWarning",
    "__version__",
    "compile",
    "load_rules",
    "open",
    "resume",
    "run",
    "warm",
]


def __getattr__(name: str) -> Any:
    """Import what needs Arrow, and look up the version, when it is first asked for."""
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("ensue")
        except PackageNotFoundError:  # run from its sources
            return "unknown"
    if name in ("Match", "Matches", "Total"):
        from ensue.results import matches as match

        return getattr(match, name)
    if name == "warm":
        from ensue.engine.warming import warm

        return warm
    if name == "Session":
        from ensue.engine.session import Session

        return Session
    if name == "Sessions":
        from ensue.engine.sessions import Sessions

        return Sessions
    raise AttributeError(f"module 'ensue' has no attribute {name!r}")
