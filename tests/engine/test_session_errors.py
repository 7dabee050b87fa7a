"""Sessions: pushes that fail, rows that are rejected, budgets that run out."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ensue
from tests.engine.test_session import SEQUENCE, events, opened

# errors


def test_a_push_that_fails_changes_nothing() -> None:
    session, twin = opened(), opened()
    for each in (session, twin):
        each.push(events("A A"))
    for bad in (
        events("B A", [3, 2]),
        [*events("B", [3]), {"type": "B", "t": None}],
        [*events("B", [3]), {"type": "B", "t": "now"}],
        [*events("B", [3]), 5],
    ):
        with pytest.raises(ensue.EventError):
            session.push(bad)
        assert session.stats == twin.stats
    assert [m.id for m in session.push(events("B", [3]))] == [
        m.id for m in twin.push(events("B", [3]))
    ]


def test_a_first_push_that_fails_fixes_nothing() -> None:
    session = opened()
    with pytest.raises(ensue.EventError):
        session.push([{"type": "A", "t": 3, "v": "text"}, {"type": "A", "t": 2, "v": "text"}])
    session.push([{"type": "A", "t": 3, "v": 1}])
    assert session.push([{"type": "B", "t": 3, "v": 2}]).count == 1


def test_a_value_that_no_register_holds_is_an_error_that_changes_nothing() -> None:
    text = "SELECT * FROM S WHERE START(ANY AS a) ; ANY AS b FILTER a.v < b.w PARTITION BY [k]"
    session = opened(text)
    bad = {"type": "A", "v": 2**60 + 1, "w": 0.5, "k": 2}
    session.push([{"type": "A", "v": 1, "w": 0.5, "k": 1}])
    with pytest.raises(ensue.EventError, match="on_error"):
        session.push([bad])
    good = [{"type": "A", "v": 1, "w": 9.5, "k": 2}] * 2
    assert [(m.start, m.end) for m in session.push(good)] == [(1, 2)]


def test_bad_rows_are_rejected_with_their_reasons() -> None:
    session = opened(on_error="collect")
    found = session.push(
        [
            {"type": "A", "t": 1},
            {"type": "A", "t": None},
            {"type": "A", "t": "now"},
            "nonsense",
            {"type": "B", "t": 0},
            {"type": "B", "t": 2},
        ]
    )
    assert found.count == 1
    assert session.stats["rejected"] == 4
    assert session.stats["events"] == 2
    assert [each.event for each in found.rejected if isinstance(each.event, str)] == ["nonsense"]
    reasons = {str(each.event): each.reason for each in session.rejected}
    assert "NULL" in reasons["{'type': 'A', 't': None}"]
    assert "string" in reasons["{'type': 'A', 't': 'now'}"]
    assert "goes back" in reasons["{'type': 'B', 't': 0}"]


def test_bad_rows_of_a_table_are_rejected() -> None:
    session = opened("SELECT * FROM S WHERE A AS x ; A AS y FILTER x.v < y.v", on_error="collect")
    session.push(pa.table({"type": ["A"], "v": [1]}))
    large = pa.table({"type": ["A", "A"], "v": pa.array([2, 2**64 - 1], pa.uint64())})
    assert session.push(large).count == 1
    assert [each.event for each in session.rejected] == [{"type": "A", "v": 2**64 - 1}]


def test_values_that_no_register_holds_are_rejected() -> None:
    session = opened("SELECT * FROM S WHERE (A AS a ; B AS b) FILTER a.v < b.w", on_error="collect")
    rows = [{"type": "A", "v": 2**60 + 1, "w": 0.5}, {"type": "A", "v": 1, "w": 0.5}]
    session.push(rows)
    assert session.push([{"type": "B", "v": 1, "w": 2.5}]).count == 1
    assert [each.event for each in session.rejected] == rows[:1]


def test_the_old_name_of_collect_works_and_warns() -> None:
    with pytest.warns(DeprecationWarning, match="write on_error='collect'") as caught:
        session = ensue.compile(SEQUENCE).open(on_error="aside")
    assert caught[0].filename == __file__
    session.push([{"type": "A", "t": None}])
    assert len(session.rejected) == 1
    with pytest.warns(DeprecationWarning, match="'aside' is deprecated: write 'rejected'"):
        assert session.aside == session.rejected
    with pytest.warns(DeprecationWarning, match="deprecated"):
        resumed = session.query.resume(session.snapshot(), on_error="aside")
    assert resumed.stats["rejected"] == 1


def test_a_wrong_on_error_is_refused_when_a_session_is_resumed() -> None:
    session = opened()
    with pytest.raises(ValueError, match="on_error= must be 'raise' or 'collect', not 'skip'"):
        session.query.resume(session.snapshot(), on_error="skip")  # type: ignore[arg-type]


def test_on_error_has_two_values() -> None:
    with pytest.raises(ValueError, match="on_error"):
        opened(on_error="ignore")


BUDGETS = {
    "bytes": ("SELECT * FROM S WHERE (A OR B)+ ; C", {"max_bytes": 2_500_000}),
    "states": (
        "SELECT * FROM S WHERE (A AS x FILTER x[v % 2 = 0])+ ; (A AS y FILTER y[v % 3 = 0])+ ; "
        "(A AS z FILTER z[v % 5 = 0])+ ; C LIMIT 1",
        {"max_states": 2},
    ),
    "configurations": (
        "SELECT * FROM S WHERE (A AS a ; C AS c) FILTER a.v = c.v LIMIT 1",
        {"max_configurations": 500},
    ),
    "events of keys": (
        "SELECT * FROM S WHERE START(A ; D ; C) PARTITION BY [k] WITHIN 5 EVENTS",
        {"max_states": 1},
    ),
    "absences": (
        "SELECT * FROM S WHERE (A AS a ; C AS c) UNLESS ((B AS b ; A AS d) FILTER b.v = d.v) "
        "WITHIN 60 EVENTS LIMIT 1",
        {"max_configurations": 10},
    ),
    "counting": ("SELECT count(*) FROM S WHERE A ; A+ ; C PARTITION BY [v]", {"max_bytes": 20_000}),
    "the first of derived streams": (
        "CREATE STREAM D AS SELECT * FROM S WHERE (A AS a ; C AS c) FILTER a.v = c.v LIMIT 1 ; "
        "SELECT * FROM S, D WHERE D AS d ; C LIMIT 1",
        {"max_configurations": 500},
    ),
    "the last of derived streams": (
        "CREATE STREAM D AS SELECT *, last(x.v) AS v FROM S WHERE (A OR C) AS x ; "
        "CREATE STREAM E AS SELECT count(*) AS n FROM D WHERE D : D ; "
        "SELECT * FROM S, E, D WHERE (D AS a ; (E : C AS c)) FILTER a.v = c.v LIMIT 1",
        {"max_configurations": 500},
    ),
    "counting conditions": (
        "SELECT count(*) FROM S WHERE (A AS a ; C AS c) FILTER a.v = c.v",
        {"max_configurations": 500},
    ),
}


@pytest.mark.parametrize("name", BUDGETS)
def test_a_session_that_met_its_budget_goes_on_with_a_larger_one(name: str) -> None:
    text, budget = BUDGETS[name]
    rows = [{"type": "ABAC"[n % 4], "v": n % 977, "k": n // 8} for n in range(6000)]
    for n in range(2001, 6000, 8):
        rows[n]["type"] = "D"
    if name == "bytes":
        rows = [{**row, "type": "A"} for row in rows] * 3 + rows[:1] + [{"type": "C"}]
        text += " LIMIT 1"
    query = ensue.compile(text)
    expected = [str(each) for each in query.run(rows)]
    session = query.open(**budget)
    found: list[str] = []
    stops = 0
    for at in range(0, len(rows), 1500):
        some = rows[at : at + 1500]
        try:
            found += map(str, session.push(some))
        except ensue.BudgetError as error:
            stops += 1
            found += map(str, error.matches)
            with pytest.raises(ensue.BudgetError) as again:
                session.push(rows[:1])
            found += map(str, again.value.matches)
            assert session.stats["events"] == at + len(some)
            session = query.resume(session.snapshot(), **dict.fromkeys(budget, 1 << 30))
    found += map(str, session.finish())
    assert stops == 1
    assert found == expected


def test_queries_beside_one_that_met_its_budget_go_on_without_it() -> None:
    session = ensue.open(
        {
            "greedy": "SELECT * FROM S WHERE (A AS a ; B AS b) FILTER a.v = b.v",
            "modest": "SELECT * FROM S WHERE A ; B LIMIT 1",
        },
        max_configurations=100,
    )
    many = [{"type": "A", "v": n} for n in range(2000)] + [{"type": "B", "v": 7}]
    with pytest.raises(ensue.BudgetError, match=r"query 'greedy': .*max_configurations") as error:
        session.push(many)
    assert error.value.matches["modest"].count == 1
    session.remove("greedy")
    found = session.push([{"type": "B", "v": 8}])
    assert {name: matches.count for name, matches in found.items()} == {"modest": 1}
    assert session.stats["events"] == 2002


def test_values_that_arithmetic_does_not_have_are_counted_however_the_stream_is_cut() -> None:
    query = ensue.compile(
        "SELECT * FROM S WHERE (A AS a ; B AS b) FILTER a[10 / v > 1 OR 1 / (length(k) - 2) > 0] "
        "AND b[sqrt(v - 1) >= 0] AND a.v / (a.v - 2) < b.v WITHIN 9 EVENTS"
    )
    rows = [{"type": "AB"[n % 2], "v": n % 3, "k": "x" * (n % 4)} for n in range(60)]
    told = set()
    for size in (1, 3, 7, 60):
        session = query.open()
        for at in range(0, 60, size):
            session.push(rows[at : at + size])
        told.add(session.stats["nulls"])
    assert told == {query.run(rows).stats["nulls"]}
    assert min(told) >= 20 + 15 + 20
