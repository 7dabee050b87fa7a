"""Derived streams for random queries: one that a query reads, and one that its matches are.

A query that reads one has some of its events, or all of them, taken from it, and the attributes of
the input are computed columns there. A query whose matches are read says all that it can say; what
reads them is small.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from hypothesis import strategies as st

from ensue.analysis.derived import given_streams
from ensue.language import tree
from ensue.language.parser import parse
from tests.conditions import TYPES, word
from tests.wide_patterns import TIME_PATH, Draw

READ, MADE = "D", "E"
"""The stream that a query reads, and the one that its matches are."""

_READ = (
    "WHERE A AS x",
    "WHERE (A OR B) AS x",
    "WHERE (B OR C) AS x FILTER x[v >= 0]",
    "WHERE A AS x ; B WITHIN 3 EVENTS",
    "WHERE A+ AS x PARTITION BY [k] WITHIN 2 [ts]",
    "WHERE (A OR B) AS x PARTITION BY [k]",
    "WHERE (A OR B OR C) AS x CONSUME BY ANY",
    "WHERE (A OR B) AS x NOT FOLLOWED BY B WITHIN 1 [ts]",
)
_COLUMNS = "last(x.v) AS v, last(x.w) AS w"

_READERS = (
    "SELECT * FROM E WHERE E AS e",
    "SELECT * FROM E WHERE E AS e ; E AS f WITHIN 3 [end_time]",
    "SELECT * FROM E WHERE E{1,2} AS e WITHIN 2 EVENTS",
    "SELECT LAST * FROM E WHERE E:{1,2} AS e CONSUME BY ANY",
    "SELECT count(*) AS n FROM E WHERE E+ WITHIN 2 EVENTS",
    "SELECT * FROM {}, E WHERE (A OR B) AS e : E AS f",
    "SELECT * FROM {}, E WHERE E AS e : ANY AS f WITHIN 4 [ts]",
    "SELECT * FROM {}, E WHERE (E AS e ; (B OR C)) UNLESS A WITHIN 4 EVENTS",
    "SELECT * FROM E WHERE E AS e NOT FOLLOWED BY E WITHIN 1 [end_time]",
)
"""None of these looks at what LIMIT leaves open: which of several matches with one end are kept."""

_TOLD = (
    "SELECT *, first(e.start_time) AS since FROM E WHERE E AS e",
    "SELECT * FROM E WHERE (E AS e ; E AS f) FILTER e.start_time = f.start_time",
)
"""These do."""

_COUNTED = (
    "SELECT * FROM E WHERE E AS e FILTER e[c0 > 1]",
    "SELECT max(e.c0) AS most FROM E WHERE E{1,2} AS e WITHIN 3 [end_time]",
)
"""These look at count(*)."""

_BOTH = (
    "SELECT * FROM D, E WHERE D AS e : E AS f",
    "SELECT * FROM D, E WHERE (D OR E) AS e ; E AS f WITHIN 3 EVENTS",
)
"""These read what the query reads, too."""


def reading(draw: Draw, query: tree.Query) -> tree.Query:
    """Let a query read a derived stream, alone or beside those of the input."""
    where = draw(st.sampled_from(_READ))
    columns = _COLUMNS if "PARTITION" in where else f"{_COLUMNS}, last(x.k) AS k"
    alone = draw(st.integers(0, 2)) == 0
    some = query.sources if alone or draw(st.booleans()) else query.sources[-1:]
    names = ", ".join(each.text for each in some)
    inner = parse(f"SELECT *, {columns} FROM {names} {where}")
    types = TYPES if alone else draw(st.sampled_from((*TYPES, "AB")))
    sources = (word(READ),) if alone else (*query.sources, word(READ))
    changed = _of_type(query, frozenset(types), alone=alone)
    return replace(changed, sources=sources, derived=(tree.DerivedStream(word(READ), inner),))


def _of_type(node: Any, types: frozenset[str], *, alone: bool) -> Any:
    """Take events of some types from the derived stream; alone, it has a time of its own."""
    match node:
        case tree.Event(type=tree.Word(text=name)) if name in types:
            return tree.Event(word(READ))
        case tree.Word(text=name) if name in types:
            return word(READ)
        case tree.Path() if alone and node == TIME_PATH:
            return tree.Path((word("end_time"),))
        case _:
            return _rewritten(node, lambda each: _of_type(each, types, alone=alone))


def _rewritten(node: Any, change: Any) -> Any:
    if isinstance(node, tuple) and not hasattr(node, "_fields"):
        return tuple(map(change, node))
    if not isinstance(node, tree.Node):
        return node
    return replace(
        node,
        **{
            each.name: change(getattr(node, each.name))
            for each in fields(node)
            if each.init and each.name != "span"
        },
    )


def reader(draw: Draw, query: tree.Query) -> tree.Query:
    """Make the matches of a query a derived stream that a small query reads."""
    readers = _READERS
    if query.select.columns and query.select.columns[0].counts_matches:
        readers += _COUNTED
    elif query.limit is None:
        readers += _TOLD
    if query.derived:
        readers += _BOTH
    given = ", ".join(given_streams(query))
    last = parse(draw(st.sampled_from(readers)).replace("{}", given))
    own = tree.DerivedStream(word(MADE), replace(query, streams=(), derived=()))
    return replace(last, streams=query.streams, derived=(*query.derived, own))
