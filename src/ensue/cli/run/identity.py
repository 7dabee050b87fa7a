"""What identifies a run: a checkpoint is continued by the same run only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ensue.cli.run.options import RunOptions
from ensue.cli.run.rules import RuleSet
from ensue.engine.query import Query
from ensue.options import ReadOptions, ResultOptions

_ALWAYS = ("type", "time", "time_unit", "tiebreak", "lateness", "output")
"""Options that checkpoints hold also at their defaults."""


def run_identity(
    query: Query | RuleSet, given: Mapping[str, Any], options: RunOptions
) -> dict[str, Any]:
    """Return all that decides what a run finds and writes, by the words that errors use for it.

    Limits are not among them: they may change when a run is continued. Checkpoints hold this as
    JSON, so its keys stay as they are.
    """
    rows = "long" if options.long else "events" if options.show_events else "positions"
    return {
        "query": str(query) if isinstance(query, Query) else query.identity(),
        "value of --param": {name: repr(value) for name, value in query.params.items()},
        **_deciding(given),
        "--format": options.format.value,
        "choice of --events or --positions": rows,
        "file of matches": str(options.out),
        "--on-error": None if options.rejected is None else str(options.rejected),
    }


def _deciding(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that decide what is found; those of later versions where they are used."""
    every = {
        each.name: each.default for group in (ReadOptions, ResultOptions) for each in fields(group)
    }
    return {
        f"--{name.replace('_', '-')}": _as_json(given[name])
        for name, default in every.items()
        if name in _ALWAYS or given[name] != default
    }


def _as_json(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
