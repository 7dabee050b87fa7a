"""Queries over Spark DataFrames, batch and streaming."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ensue.spark.explanation import explain
    from ensue.spark.java import JavaError
    from ensue.spark.kernels import warm
    from ensue.spark.recognition import recognize
    from ensue.spark.sessions import session
    from ensue.spark.sql.register import register
    from ensue.spark.unseen_events import unseen
    from ensue.spark.watching import missing
    from ensue.spark.workers import WorkerError

__all__ = [
    "JavaError",
    "WorkerError",
    "explain",
    "missing",
    "recognize",
    "register",
    "session",
    "unseen",
    "warm",
]

_PLACES = {
    "JavaError": "java",
    "WorkerError": "workers",
    "explain": "explanation",
    "missing": "watching",
    "recognize": "recognition",
    "register": "sql.register",
    "session": "sessions",
    "unseen": "unseen_events",
    "warm": "kernels",
}
"""Where the names are that are imported when they are first asked for.

Spark's workers import this package to unpack events, and have no use for most of it.
"""


def __getattr__(name: str) -> Any:
    """Import what is asked for."""
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'ensue.spark' has no attribute {name!r}")
    return getattr(import_module(f"ensue.spark.{place}"), name)
