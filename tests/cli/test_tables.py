"""Tables of matches: what is in them, and what fits."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

import ensue
from ensue.results.display import cell, print_matches

EVENTS = [
    {"type": "A", "x": 1, "user": {"name": "ann", "city": "Aachen"}, "note": "n" * 50},
    {"type": "B", "x": 2, "user": {"name": "bob", "city": "Berlin"}, "note": "\x1b[31m\nred"},
    {"type": "B", "x": 3, "user": {"name": "cid", "city": None}, "note": None},
]


def table(query: str, width: int = 80, **options: Any) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False, markup=False)
    chosen = {"events": True, "most": 1000, **options}
    print_matches(console, ensue.run(query, EVENTS), **chosen)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_nested_attributes_are_dotted_and_only_those_of_interest_are_shown() -> None:
    assert table("SELECT a[x, user.name], B[user.city] FROM S WHERE A AS a ; B", width=60) == [
        "match  at  bound to  x  user.name  user.city",
        "────────────────────────────────────────────",
        "0..1    0  a         1  ann",
        "        1  B                       Berlin",
        "",
        "0..2    0  a         1  ann",
        "        2  B",
    ]


def test_computed_columns_and_events() -> None:
    query = """
        SELECT b[x], Y, max(b.x) AS top FROM S
        WHERE (A ; (B AS b)+ AGGREGATE Y[n = count(b), total = sum(b.x)]) FILTER Y[n > 1]
        WITHIN 10 EVENTS
    """
    assert table(query, width=60) == [
        "match  at  bound to  x  top  n  total",
        "─────────────────────────────────────",
        "0..2    1  b         2    3",
        "        2  b         3",
        "           Y                 2      5",
    ]


def test_attributes_may_have_the_names_of_our_columns() -> None:
    file = io.StringIO()
    events = [{"type": "A", "match": 1, "at": 2, "bound to": 3, "top": 4}]
    matches = ensue.run("SELECT a, max(a.match) AS top FROM S WHERE A AS a", events)
    print_matches(Console(file=file, width=80), matches, events=True, most=5)
    assert file.getvalue().splitlines()[::2] == [
        "match  at  bound to  type  match  at  bound to  top  top",
        "0..0    0  a         A         1   2         3    4    1",
    ]


def test_totals() -> None:
    assert table("SELECT count(*) AS n, sum(B.x) AS s FROM S WHERE A ; B") == [
        "time  n  s",
        "──────────",
        "   1  1  2",
        "   2  1  3",
    ]


@pytest.mark.parametrize("events", [True, False])
def test_matches_that_show_no_variable(events: bool) -> None:
    found = table("SELECT NONE FROM S WHERE A ; B", events=events)
    assert [line[:12].rstrip() for line in found] == [
        "start  end",
        "────────────",
        "    0    1",
        "    0    2",
    ]
    assert found[0].endswith("match_id")


def test_a_match_without_events_to_show() -> None:
    found = table("SELECT c FROM S WHERE A ; (C AS c)? ; B", width=40)
    assert found[-1] == "0..2"


def test_matches_of_many_events_are_shortened() -> None:
    many = [{"type": "A", "x": x} for x in range(30)]
    file = io.StringIO()
    matches = ensue.run("SELECT * FROM S WHERE A:{30}", many)
    print_matches(Console(file=file, width=80), matches, events=True, most=5)
    assert len(file.getvalue().splitlines()) == 2 + 20 + 1
    assert "… 10 more events" in file.getvalue()


def test_columns_that_fit() -> None:
    wide = table("SELECT * FROM S WHERE A ; B", width=120)
    assert wide[0].split() == (
        ["match", "at", "bound", "to", "type", "x", "user.name", "user.city", "note", "match_id"]
    )
    assert table("SELECT * FROM S WHERE A ; B", width=40)[-1] == "no room for user.city, note"
    found = table("SELECT * FROM S WHERE A ; B", width=40, mentioned=["user", "city"])
    assert found[-1] == "no room for user.name, note"
    narrow = table("SELECT * FROM S WHERE A ; B", width=70)
    assert narrow[2].endswith("…")
    assert max(map(len, narrow)) <= 70


def test_what_is_about_the_whole_match_stands_on_its_first_line() -> None:
    events = [
        {"type": "A", "k": "p", "t": datetime(2026, 1, 31, 9, tzinfo=UTC), "v": 1},
        {"type": "B", "k": "p", "t": datetime(2026, 1, 31, 10, tzinfo=UTC), "v": 2},
    ]
    query = ensue.compile(
        "SELECT x[v], B[v] FROM S WHERE A AS x ; B PARTITION BY [k] WITHIN 2 HOURS", name="mine"
    )
    matches = query.run(events, time="t")
    file = io.StringIO()
    print_matches(Console(file=file, width=200), matches, events=True, most=5)
    head, _, first, second = file.getvalue().splitlines()
    assert head.split() == ("match at bound to v query k start_time end_time match_id".split())
    times = ["2026-01-31", "09:00:00Z", "2026-01-31", "10:00:00Z"]
    assert first.split() == ["0..1", "0", "x", "1", "mine", "p", *times, matches[0].id]
    assert second.split() == ["1", "B", "2"]


def test_rows_that_are_left_out() -> None:
    assert table("SELECT * FROM S WHERE A ; B", most=1, width=120)[-1] == "… and 1 more"
    assert table("SELECT * FROM S WHERE A ; B", most=0) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("n" * 50, "n" * 31 + "…"),
        ("\x1b[31m\nred", "·[31m red"),
        (1.0, "1"),
        (1e300, "1e+300"),
        (float("inf"), "inf"),
        (False, "false"),
        (list(range(1000)), "0 1 2 3 4 5 6 7 8 9 10 … (1,000)"),
        ([], ""),
        ([1.5, "a"], '[1.5, "a"]'),
    ],
)
def test_cells_are_short(value: object, text: str) -> None:
    assert cell(value) == text
