"""Formulas and events for tests of single rooms, without the engine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ensue.analysis.bind import bind
from ensue.errors import CeqlError, Source
from ensue.language import tree
from ensue.language.parser import parse_source
from ensue.language.printer import format_query
from ensue.logic.build import to_formula
from ensue.logic.complex_event import Event
from ensue.logic.formula import Formula


def formula_of(query: tree.Query | str) -> Formula | None:
    """Return the formula of a query, None where the language refuses it."""
    source = Source(query if isinstance(query, str) else format_query(query))
    try:
        return to_formula(bind(parse_source(source), source))
    except CeqlError:
        return None


def formula(pattern: str) -> Formula:
    """Return the formula of a pattern that is right."""
    found = formula_of(f"SELECT * FROM S WHERE {pattern}")
    assert found is not None, pattern
    return found


def events_of(rows: Iterable[dict[str, Any]]) -> list[Event]:
    """Return rows as the reference reads them: NaN is NULL."""
    return [
        Event(row["type"], {**row, "w": row["w"] if row["w"] == row["w"] else None}, row["ts"])
        for row in rows
    ]
