"""Small cases with exact answers, listed by hand of the definitions (see README.md here)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import ensue

FOLDER = Path(__file__).parent


def cases(*names: str) -> list[Any]:
    return [
        pytest.param(case, id=f"{name}-{index}")
        for name in names
        for index, case in enumerate(json.loads((FOLDER / f"{name}.json").read_text()))
    ]


def described(
    start: int, end: int, bindings: dict[str, Any], computed: dict[str, Any]
) -> tuple[Any, ...]:
    events = {
        name: sorted(json.dumps(y, sort_keys=True) for y in ys) for name, ys in computed.items()
    }
    return start, end, sorted(bindings.items()), sorted(events.items())


def absence_cases() -> list[Any]:
    """Return the cases of NOT FOLLOWED BY, whose matches come in the order of deadlines."""
    chosen = []
    for each in cases("time"):
        text = each.values[0]["query"]
        if "NOT FOLLOWED BY" in text:
            chosen.append(each)
    return chosen


@pytest.mark.parametrize("case", absence_cases())
def test_what_is_not_followed_is_that_of_the_case(case: dict[str, Any]) -> None:
    found = [
        described(m.start, m.end, m.bindings, {}) for m in ensue.run(case["query"], case["events"])
    ]
    assert sorted(found) == sorted(described(*match, {}) for match in case["matches"])


def with_inner_windows() -> list[Any]:
    """Give the cases about time that have a window inside the pattern, and no strategy."""
    inner = re.compile(r"WITHIN \d+ (EVENTS|\[ts\])\)")
    others = re.compile("NOT FOLLOWED BY|SELECT (NEXT|LAST|MAX|FIRST)")
    return [
        case
        for case in cases("time")
        for query in [case.values[0]["query"]]
        if inner.search(query) and not others.search(query)
    ]


@pytest.mark.parametrize(
    "case",
    [*cases("core", "contiguous", "full", "corr", "agg", "all"), *with_inner_windows()],
)
def test_the_matches_are_those_of_the_case(case: dict[str, Any]) -> None:
    matches = ensue.run(case["query"], case["events"])
    found = []
    for m in matches:
        computed = {name: m.computed(name) for name in matches.schema.computed if m.computed(name)}
        found.append(described(m.start, m.end, m.bindings, computed))
    expected = [described(*match, *[{}] * (4 - len(match))) for match in case["matches"]]
    assert sorted(found) == sorted(expected)
    order = [(m.end, m.start) for m in matches]
    assert [end for end, _ in order] == sorted(end for end, _ in order)
    for at, (end, start) in enumerate(order):
        if at == 0 or order[at - 1][0] != end:
            assert start == max(s for e, s in order if e == end), "the first has the latest start"
