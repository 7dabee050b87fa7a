"""Sessions of many queries: what is shared, what comes and goes, what is refused."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import ensue
from ensue.kernels.match.driver import MatchDriver
from ensue.kernels.tables import Table
from ensue.predicates.evaluate import Batch

PAIRS = "SELECT * FROM S WHERE A ; B"
ENDS = "SELECT * FROM S WHERE B"


def counts(found: dict[str, Any]) -> dict[str, int]:
    return {name: matches.count for name, matches in found.items()}


def rows(words: str) -> list[dict[str, Any]]:
    return [{"type": kind} for kind in words.split()]


def test_a_push_returns_the_matches_of_all() -> None:
    session = ensue.open({"pairs": PAIRS, "ends": ensue.compile(ENDS)})
    assert counts(session.push(rows("A B B"))) == {"pairs": 2, "ends": 2}
    assert counts(session.push({"type": "B"})) == {"pairs": 1, "ends": 1}
    assert counts(session.finish()) == {"pairs": 0, "ends": 0}
    assert session.stats["queries"] == {"pairs": 3, "ends": 3}
    assert session.stats["matches"] == 6


def test_queries_come_and_go_between_pushes() -> None:
    session = ensue.open({"pairs": PAIRS})
    session.push(rows("A"))
    session.add("ends", ENDS)
    assert counts(session.push(rows("B"))) == {"pairs": 1, "ends": 1}
    session.replace("pairs", PAIRS)
    assert counts(session.push(rows("B"))) == {"ends": 1, "pairs": 0}
    session.remove("ends")
    assert counts(session.push(rows("A B"))) == {"pairs": 1}
    session.remove("pairs")
    assert session.push(rows("A B")) == {}
    session.add("pairs", PAIRS)
    assert counts(session.push(rows("A B"))) == {"pairs": 1}


def test_the_first_event_of_a_query_that_comes_later_is_its_own() -> None:
    session = ensue.open({"ends": ENDS})
    session.push(rows("A"))
    session.add("first", "SELECT * FROM S WHERE START(A) ; B")
    assert counts(session.push(rows("A A B"))) == {"ends": 1, "first": 1}
    resumed = ensue.resume(session.queries, session.snapshot())
    assert counts(resumed.push(rows("A B"))) == {"ends": 1, "first": 1}


def test_a_name_is_taken_once() -> None:
    session = ensue.open({"ends": ENDS})
    with pytest.raises(ValueError, match="replace"):
        session.add("ends", PAIRS)
    with pytest.raises(KeyError, match="the queries are ends"):
        session.remove("pairs")
    with pytest.raises(ensue.CeqlSyntaxError):
        session.replace("ends", "SELECT")
    assert counts(session.push(rows("B"))) == {"ends": 1}


def test_queries_on_other_clocks_are_put_in_their_own_order() -> None:
    events = [{"type": "B", "t": 1, "u": 2}, {"type": "A", "t": 2, "u": 1}]
    texts = {
        "by t": "SELECT * FROM S WHERE A ; B WITHIN 5 [t]",
        "by u": "SELECT * FROM S WHERE A ; B WITHIN 5 [u]",
    }
    session = ensue.open(texts, lateness=5)
    session.push(events)
    assert counts(session.finish()) == {"by t": 0, "by u": 1}
    assert counts(ensue.run(texts, events, lateness=5)) == {"by t": 0, "by u": 1}


def test_a_push_that_fails_for_one_changes_nothing_for_any() -> None:
    texts = {
        "any": ENDS,
        "by t": "SELECT * FROM S WHERE A ; B WITHIN 5 [t]",
        "values": "SELECT * FROM S WHERE (A AS a ; B AS b) FILTER a.v < b.w",
    }
    session = ensue.open(texts)
    session.push([{"type": "A", "t": 5, "v": 1, "w": 0.5}])
    for bad in (
        [{"type": "B", "t": 4, "v": 1, "w": 0.5}],
        [{"type": "B", "t": 6, "v": 2**60 + 1, "w": 0.5}],
    ):
        with pytest.raises(ensue.EventError):
            session.push(bad)
    assert session.stats["matches"] == 0
    good = [{"type": "B", "t": 6, "v": 1, "w": 1.5}]
    assert counts(session.push(good)) == {"any": 1, "by t": 1, "values": 1}


def test_each_distinct_predicate_is_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()
    original = Batch.compute

    def compute(self: Batch, expression: Any) -> Any:
        asked[str(expression)] += 1
        return original(self, expression)

    monkeypatch.setattr(Batch, "compute", compute)
    texts = {
        f"q{bound}": f"SELECT * FROM S WHERE A AS x FILTER x[v > 1 AND (w > {bound} OR v > 5)]"
        for bound in range(5)
    }
    events = pa.table({"type": ["A"] * 20, "v": range(20), "w": range(20)})
    found = ensue.run(texts, events)
    assert [each.count for each in found.values()] == [18, 18, 17, 16, 15]
    comparisons = {text: n for text, n in asked.items() if "'>'" in text}
    assert set(comparisons.values()) == {1}
    assert len(comparisons) == 7


def test_events_that_no_query_cares_about_are_skipped_once_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []
    push = MatchDriver.push

    def counted(self: MatchDriver, symbols: Any, *rest: Any) -> Any:
        seen.append(len(symbols))
        return push(self, symbols, *rest)

    monkeypatch.setattr(MatchDriver, "push", counted)
    events = [{"type": "C", "k": n % 7} for n in range(4000)]
    for n in range(0, 4000, 100):
        events[n]["type"] = "AB"[n // 100 % 2]
    queries = {"pairs": PAIRS, "by key": f"{PAIRS} PARTITION BY [k]", "ends": ENDS}
    found = ensue.run(queries, events)
    assert seen == [40, 40, 40]
    for name, query in queries.items():
        assert list(found[name]) == list(ensue.run(query, events))
    # Who counts events, or asks which is next, sees them all.
    seen.clear()
    strict = "SELECT * FROM S WHERE A : B WITHIN 9 EVENTS"
    ensue.run({"pairs": PAIRS, "strict": strict}, events)
    assert seen == [40, 4000]


def test_values_that_no_register_holds_are_compared_by_definition_in_one_pass_too() -> None:
    texts = {"values": "SELECT * FROM S WHERE (A AS a ; B AS b) FILTER a.v < b.w", "ends": ENDS}
    events = [{"type": "A", "v": 2**60 + 1, "w": 0.5}, {"type": "B", "v": 0, "w": float(2**61)}]
    assert counts(ensue.run(texts, events)) == {"values": 1, "ends": 1}
    with pytest.raises(ensue.EventError, match="as a table"):
        ensue.run(texts, iter(events))


def test_a_reader_is_read_once_for_all() -> None:
    events = pa.table({"type": ["A", "B"] * 500})
    texts = {"pairs": PAIRS, "ends": ENDS, "other": "SELECT * FROM R WHERE B"}
    found = ensue.run(texts, events.to_reader(100))
    assert counts(found) == {"pairs": 125_250, "ends": 500, "other": 500}
    assert found["pairs"].stats["events"] == 1000


def test_streams_come_by_name_in_one_pass_too() -> None:
    texts = {"one": "SELECT * FROM S1, S2 WHERE A ; B", "two": "SELECT * FROM S1, S2 WHERE S2>B"}
    events = {"S1": [{"type": "A", "t": 1}], "S2": [{"type": "B", "t": 2}]}
    assert counts(ensue.run(texts, events, time="t")) == {"one": 1, "two": 1}
    with pytest.raises(ensue.EventError, match="'S2' has no events"):
        ensue.run(texts, {"S1": []}, time="t")


def test_snapshots_are_of_all_queries_or_refused() -> None:
    session = ensue.open({"pairs": PAIRS, "ends": ENDS})
    session.push(rows("A"))
    block = session.snapshot()
    resumed = ensue.resume({"ends": ENDS, "pairs": PAIRS}, block)
    assert counts(resumed.push(rows("B"))) == {"pairs": 1, "ends": 1}
    with pytest.raises(ensue.SnapshotError, match="'pairs', 'ends', not of 'pairs', 'more'"):
        ensue.resume({"pairs": PAIRS, "more": ENDS}, block)
    with pytest.raises(ensue.SnapshotError, match="another query 'ends'"):
        ensue.resume({"pairs": PAIRS, "ends": PAIRS}, block)
    with pytest.raises(ensue.SnapshotError, match="many queries"):
        ensue.compile(PAIRS).resume(block)


def test_late_events_are_told_once() -> None:
    texts = {"a": "SELECT * FROM S WHERE A", "b": "SELECT * FROM R WHERE B"}
    session = ensue.open(texts, time="t", lateness=1)
    session.push([{"type": "A", "t": 5}, {"type": "A", "t": 3}])
    assert session.stats["late"] == session.late.num_rows == 1
    assert session.stats["watermark"] == 4
    assert counts(session.advance(9)) == {"a": 1, "b": 0}


def test_a_second_run_uses_what_the_first_worked_out() -> None:
    query = ensue.compile("SELECT * FROM S WHERE (A ALL B) ; C")
    rows = [{"type": kind} for kind in "ABCBAC"]
    worked_out: list[tuple[int, int]] = []
    with pytest.MonkeyPatch.context() as patch:
        fill = Table.fill

        def noted(self: Table, state: int, symbol: int, alphabet: list[int]) -> bool:
            worked_out.append((state, symbol))
            return fill(self, state, symbol, alphabet)

        patch.setattr(Table, "fill", noted)
        first = query.run(rows).count
        cells = len(worked_out)
        assert cells
        assert query.run(rows).count == first
        assert len(worked_out) == cells
        # Options that change the plan, or other columns, have tables of their own.
        assert query.run(rows, output="positions").count
        assert len(worked_out) > cells


def test_a_query_that_was_run_is_copied_and_sent_without_its_tables() -> None:
    query = ensue.compile("SELECT * FROM S WHERE A ; B")
    rows = [{"type": "A"}, {"type": "B"}]
    assert query.run(rows).count == 1
    again = pickle.loads(pickle.dumps(query))
    assert again == query
    assert again.run(rows).count == 1


def test_one_text_is_not_many_queries() -> None:
    with pytest.raises(TypeError, match=r"many queries are \{name: query\}; one: ensue.compile"):
        ensue.open(PAIRS)  # type: ignore[arg-type]
