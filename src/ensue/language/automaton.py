"""The LALR automaton of the grammar, and what it accepts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Tables(NamedTuple):
    """The automaton: per state, symbol to next state, or to -1 - rule."""

    end: int
    rules: list[tuple[str, int, str]]
    """Left-hand side, length of the right-hand side, alias."""
    states: list[dict[str, int]]


@cache
def tables() -> Tables:
    """Load the generated tables once."""
    data = json.loads(files(__package__).joinpath("tables.json").read_text())
    return Tables(data["end"], [tuple(rule) for rule in data["rules"]], data["states"])


def accepted_kinds(states: Sequence[int]) -> frozenset[str]:
    """Return the kinds of tokens that can come next, with these states on the stack.

    An LALR table may reduce before it finds that a token is wrong, so this simulates it.
    """
    return frozenset(
        kind
        for kind in tables().states[states[-1]]
        if (kind.isupper() or not kind.isidentifier()) and _shifted(states, kind) is not None
    )


def expected_after(kinds: Iterable[str]) -> frozenset[str] | None:
    """Return the kinds of tokens that can follow these, or None where these begin no query.

    >>> sorted(expected_after(["SELECT", "*", "FROM", "NAME"]))
    [',', 'WHERE']
    """
    states = [0]
    for kind in kinds:
        shifted = _shifted(states, kind)
        if shifted is None:
            return None
        states = shifted
    return accepted_kinds(states)


def _shifted(before: Sequence[int], kind: str) -> list[int] | None:
    """Return the stack after a token, or None where it cannot come next."""
    table, states = tables(), list(before)
    while True:
        step = table.states[states[-1]].get(kind)
        if step is None:
            return None
        if step >= 0:
            return [*states, step]
        origin, length, _ = table.rules[-1 - step]
        if length:
            del states[-length:]
        states.append(table.states[states[-1]][origin])
        if states[-1] == table.end:
            return states
