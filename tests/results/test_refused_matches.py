"""Matches that are refused as they are listed: a budget, and a state that stays intact."""

from __future__ import annotations

from typing import Any

import pytest

import ensue

REFUSING = {
    "an average": "(O ; (A AS x)+ ; B) AGGREGATE Y[m = avg(x.v)] FILTER Y[m > 1000]",
    "a sum that is hit by no choice": "(O ; (A AS x)+ ; B) AGGREGATE Y[s = sum(x.w)]"
    " FILTER Y[s = 40.25]",
    "an average inside": "O ; ((A AS x)+ AGGREGATE Z[m = avg(x.v)] FILTER Z[m > 1000]) ; B",
    "an aggregate of aggregates": "(O ; ((A AS x) AGGREGATE Z[m = max(x.v)])+ ; B)"
    " AGGREGATE Y[m = median(Z.m)] FILTER Y[m > 1000]",
    "a condition that does not separate": "(O AS o ; (A AS x)+ ; B AS b)"
    " FILTER o.v * x.v + b.v > 1000",
    "a difference": "(O ; (A AS x)+ ; B AS b) FILTER x.v != b.v",
    "strings in their order": "(O ; (A AS x)+ ; B AS b) FILTER x.k < b.k",
    "a trend of strings": "(O ; (A AS x)+ ; B) FILTER x[increasing(k)]",
    "an absence": "((O ; (A AS x)+ ; B) UNLESS (A AS c ; B AS d FILTER c.v = d.v))",
}


def word(count: int) -> list[dict[str, Any]]:
    """Return events with so many A between O and B; no choice of A satisfies any condition."""
    between = [{"type": "A", "v": 3, "w": 0.5 * (at % 7), "k": None} for at in range(count)]
    return [
        {"type": "O", "v": 0, "w": None, "k": None},
        *between,
        {"type": "B", "v": 3, "w": None, "k": "a"},
    ]


NEXT = [{"type": "O", "v": 1, "w": None, "k": None}, {"type": "B", "v": 1, "w": None, "k": None}]


@pytest.mark.parametrize("where", REFUSING.values(), ids=REFUSING)
@pytest.mark.parametrize("limit", ["", " LIMIT 1"])
def test_a_listing_that_refuses_too_many_stops_and_the_session_goes_on(
    where: str, limit: str
) -> None:
    query = ensue.compile(f"SELECT * FROM S WHERE {where} WITHIN 51 EVENTS{limit}", name="wild")
    session = query.open(max_matches=3_000)
    found = session.push(word(50))
    hint = r"query 'wild': the event at position 51 .* 3,000 matches by .*A.*max_matches="
    with pytest.raises(ensue.BudgetError, match=hint):
        list(found)
    with pytest.raises(ensue.BudgetError, match=hint):
        found.to_arrow()
    resumed = query.resume(session.snapshot())
    for each in (session, resumed):
        assert each.stats["events"] == 52
        assert not list(each.push(NEXT))


@pytest.mark.parametrize("where", REFUSING.values(), ids=REFUSING)
def test_fewer_matches_than_the_budget_are_decided(where: str) -> None:
    query = ensue.compile(f"SELECT * FROM S WHERE {where} WITHIN 100 EVENTS")
    assert not list(query.run(word(10), max_matches=1023))


def test_the_same_matches_can_be_listed_with_a_larger_budget() -> None:
    query = ensue.compile(
        "SELECT * FROM S WHERE (O ; (A AS x)+ ; B) AGGREGATE Y[n = avg(x.w)] FILTER Y[n = 1.5]"
        " WITHIN 100 EVENTS"
    )
    found = query.open(max_matches=100).push(word(10))
    with pytest.raises(ensue.BudgetError, match="100 matches"):
        list(found)
    assert len(list(found.with_budget(max_matches=1023))) == query.run(word(10)).count > 0


def test_a_limit_that_is_reached_within_the_budget_is_no_error() -> None:
    where = "(O ; (A AS x)+ ; B AS b) FILTER x.v != b.w"
    query = ensue.compile(f"SELECT * FROM S WHERE {where} WITHIN 100 EVENTS LIMIT 1")
    events = [*word(50)[:-1], {"type": "B", "v": 0, "w": 4.0, "k": None}] * 3
    assert len(list(query.run(events, max_matches=10))) == 3


def test_many_queries_name_the_one_that_stops() -> None:
    text = f"SELECT * FROM S WHERE {REFUSING['a difference']} WITHIN 100 EVENTS"
    session = ensue.open({"tame": "SELECT * FROM S WHERE O ; B", "wild": text}, max_matches=500)
    found = session.push(word(50))
    assert len(list(found["tame"])) == 1
    with pytest.raises(ensue.BudgetError, match=r"query 'wild': .* because of x\.v != b\.v"):
        list(found["wild"])
    assert session.stats["queries"] == {"tame": 1, "wild": 0}


CONSUMING = "(O AS o ; (A AS x)+ ; B AS b) FILTER x.v + o.v != b.v WITHIN 100 EVENTS"


@pytest.mark.parametrize("clause", ["CONSUME BY ANY", "FIRST"])
def test_what_is_consumed_is_known_after_a_snapshot_with_a_larger_budget(clause: str) -> None:
    select = "FIRST" if clause == "FIRST" else ""
    tail = "" if clause == "FIRST" else clause
    query = ensue.compile(f"SELECT {select} * FROM S WHERE {CONSUMING} {tail}")
    events = [*word(11)[:-1], {"type": "B", "v": 9, "w": None, "k": None}, *word(2)[1:], *NEXT]
    whole = [(each.start, each.end, each.bindings) for each in query.run(events)]
    session = query.open(max_matches=500)
    first = session.push(events[:13])
    with pytest.raises(ensue.BudgetError, match="500 matches"):
        session.push(events[13:15])
    with pytest.raises(ensue.BudgetError, match="500 matches"):
        session.push([])
    for _ in range(2):
        session = query.resume(session.snapshot(), max_matches=500)
    session = query.resume(session.snapshot(), max_matches=10_000)
    found = [*first.with_budget(max_matches=10_000), *session.push(events[15:])]
    assert [(each.start, each.end, each.bindings) for each in found] == whole


def test_a_warning_and_explain_tell_of_it_beforehand() -> None:
    text = f"SELECT * FROM S WHERE {REFUSING['an average']} WITHIN 100 EVENTS"
    with pytest.warns(ensue.CeqlWarning, match=r"W521.*only listing decides Y\[m > 1000\]"):
        query = ensue.compile(text)
    assert [each.code for each in query.warnings] == ["W521"]
    assert "before Y[m > 1000] can refuse them, which may be exponentially many" in query.explain()


@pytest.mark.parametrize(
    "where",
    [
        "(O ; (A AS x):+ : B) AGGREGATE Y[m = avg(x.v)] FILTER Y[m > 1000]",
        "(O ; (A AS x){1,3} ; B) AGGREGATE Y[m = avg(x.v)] FILTER Y[m > 1000]",
        "(O ; (A AS x)+ ; B) AGGREGATE Y[n = count(x)] FILTER Y[n < 3]",
        "(O AS o ; (A AS x)+ ; B) FILTER x.v > o.v",
        "(O ; (A AS x)+ ; B) FILTER x[v > 3]",
        "(O ; (A AS x)+ ; B) AGGREGATE Y[m = avg(x.v)]",
    ],
)
def test_what_refuses_few_matches_gets_no_warning(where: str) -> None:
    query = ensue.compile(f"SELECT * FROM S WHERE {where} WITHIN 100 EVENTS")
    assert "W521" not in {each.code for each in query.warnings}


@pytest.mark.parametrize("step", [3, 100])
def test_what_must_not_happen_is_known_after_a_snapshot_with_a_larger_budget(step: int) -> None:
    absent = "(A AS y ; (A AS x)+ ; C AS c) FILTER y.v * x.v != c.v"
    query = ensue.compile(f"SELECT * FROM S WHERE (O ; B) UNLESS ({absent}) WITHIN 30 EVENTS")
    quiet = [{"type": "O", "v": 0}, {"type": "C", "v": 4}, {"type": "B", "v": 0}]
    wild = [{"type": "A", "v": 2}] * 9
    events = [*quiet, {"type": "O", "v": 0}, *wild, {"type": "C", "v": 4}, *quiet[2:], *quiet]
    last = [*wild[:2], {"type": "C", "v": 1}, {"type": "B", "v": 0}]
    expected = [(m.start, m.end) for m in query.run([*events, *last])]
    assert len(expected) > 2
    found, stops = [], 0
    session = query.open(max_matches=100)
    for at in range(0, len(events) + len(last), step):
        given = [*events, *last][at : at + step]
        try:
            found += session.push(given)
        except ensue.BudgetError as error:
            assert "right of UNLESS" in str(error)
            found += error.matches
            stops += 1
            session = query.resume(session.snapshot(), max_matches=100_000)
    found += session.push([])
    assert stops == 1
    assert [(m.start, m.end) for m in found] == expected


@pytest.mark.parametrize("by_time", [False, True])
def test_counts_under_a_deadline_go_on_after_a_budget_ran_out(by_time: bool) -> None:
    where = "((O AS o ; (A AS x)+ ; B AS b) FILTER x.v + o.v != b.v) NOT FOLLOWED BY D WITHIN 3 [t]"
    query = ensue.compile(f"SELECT count(*) AS n, sum(x.v) AS s FROM S WHERE {where}")
    kinds = "OAB...OAAAAAAAB....OAAB....OAB..."
    events = [{"type": kind, "v": at % 3, "t": at} for at, kind in enumerate(kinds)]
    expected = [row.values for row in query.run(events, until=60)]
    assert max(row["n"] for row in expected) > 100
    found, stops = [], 0
    session = query.open(max_matches=100)
    for at in range(0, len(events), 5):
        given, time = events[at : at + 5], min(at + 4, len(events) - 1)
        left = ["push", "advance"] if by_time else ["push"]
        while left:
            try:
                found += session.advance(time) if left[0] == "advance" else session.push(given)
                left.pop(0)
            except ensue.BudgetError as error:
                found += error.matches
                stops, given = stops + 1, []
                session = query.resume(session.snapshot(), max_matches=100 * 40**stops)
    found += session.finish(at=60)
    assert stops
    assert [row.values for row in found] == expected
