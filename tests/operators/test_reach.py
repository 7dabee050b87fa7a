"""Of many queries on one stream each reads only what its matches can be made of."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import ensue
from ensue.operators.reach import Reach
from tests import seams

QUERIES = (
    "SELECT * FROM S WHERE A AS a ; R AS r ; B AS b WITHIN {w} [ts]",
    "SELECT * FROM S WHERE R : B WITHIN {w} [ts]",
    "SELECT * FROM S WHERE (A : B) ; R WITHIN {w} [ts]",
    "SELECT * FROM S WHERE A ; R PARTITION BY [k] WITHIN {w} [ts]",
    "SELECT * FROM S WHERE A+ ; R WITHIN {w} [ts] CONSUME BY ANY",
    "SELECT * FROM S WHERE (A ; B) FILTER B[k = 1] WITHIN {w} [ts]",
    "SELECT * FROM S WHERE (A ; R) UNLESS B WITHIN {w} [ts]",
    "SELECT NEXT * FROM S WHERE A ; B+ ; R WITHIN {w} [ts]",
    "SELECT * FROM S WHERE A ; R",
    "SELECT * FROM S WHERE A ; NEVER WITHIN {w} [ts]",
    "SELECT * FROM S WHERE (A OR R) ; B WITHIN {w} [ts]",
)

ROWS = st.lists(
    st.tuples(st.sampled_from("AABBBCCCR"), st.integers(0, 3), st.integers(0, 2)), max_size=24
)


def table(rows: list[dict[str, Any]]) -> pa.Table:
    kinds = {"type": pa.string(), "ts": pa.int64(), "k": pa.int64()}
    return pa.table(
        {name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()}
    )


def found(matches: Any) -> list[str]:
    return sorted(map(repr, matches))


@given(
    ROWS,
    st.integers(0, 5),
    st.lists(st.integers(1, 8), max_size=6),
    st.lists(st.sampled_from(("push", "snapshot")), min_size=6, max_size=6),
)
def test_what_lies_in_reach_eq_everything(
    drawn: list[tuple[str, int, int]], window: int, cuts: list[int], steps: list[str]
) -> None:
    time, rows = 0, []
    for kind, later, key in drawn:
        time += later
        rows.append({"type": kind, "ts": time, "k": key})
    asked = {
        f"q{number}": ensue.compile(text.format(w=window)) for number, text in enumerate(QUERIES)
    }
    alone = {name: found(query.run(table(rows), time="ts")) for name, query in asked.items()}
    with pytest.MonkeyPatch.context() as patch:
        seams.LONG_BATCH.put(patch, 0)
        seams.REACH_ROWS.put(patch, 1)
        seams.REACH_RARE.put(patch, 1)
        together = ensue.run(asked, table(rows), time="ts")
        assert {name: found(matches) for name, matches in together.items()} == alone
        session = ensue.open(asked, time="ts")
        pieces: dict[str, list[str]] = {name: [] for name in asked}
        begin = 0
        for size, step in zip([*cuts, len(rows)], [*steps, "push"], strict=False):
            some, begin = rows[begin : begin + size], begin + size
            for name, matches in session.push(table(some)).items():
                pieces[name] += found(matches)
            if step == "snapshot":
                session = ensue.resume(asked, session.snapshot())
        assert {name: sorted(each) for name, each in pieces.items()} == {
            name: sorted(each) for name, each in _up_to(asked, rows[:begin]).items()
        }
    event(f"queries with matches: {sum(map(bool, alone.values()))}")


def _up_to(asked: dict[str, ensue.Query], rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    return {name: found(query.run(table(rows), time="ts")) for name, query in asked.items()}


def test_a_query_whose_rarest_event_never_comes_reads_nothing() -> None:
    read: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        own = Reach.own

        def seen(self: Reach, *given: Any) -> Any:
            read.append(own(self, *given))
            return read[-1]

        patch.setattr(Reach, "own", seen)
        rows = [{"type": "AB"[i % 2], "ts": i, "k": 0} for i in range(4000)]
        rare = "SELECT * FROM S WHERE A ; B ; NEVER WITHIN 5 [ts]"
        common = "SELECT * FROM S WHERE A ; B WITHIN 1 [ts]"
        matches = ensue.run({"rare": rare, "common": common}, table(rows))
    assert [each.count for each in matches.values()] == [0, 2000]
    assert [each is None for each in read] == [True, False]


@pytest.mark.parametrize("resumes", [False, True])
def test_what_was_read_reaches_into_the_next_batch(resumes: bool) -> None:
    asked = {
        "open": ensue.compile("SELECT * FROM S WHERE R ; B WITHIN 5 [ts]"),
        "other": ensue.compile("SELECT * FROM S WHERE R ; C WITHIN 0 [ts]"),
    }
    first = [{"type": "R", "ts": 1, "k": 0}]
    then = [{"type": "B", "ts": 2, "k": 0}]
    then += [{"type": "C", "ts": time, "k": 0} for time in range(10, 60)]
    then += [{"type": "R", "ts": 60, "k": 0}]
    last = [{"type": "B", "ts": 62, "k": 0}]
    with pytest.MonkeyPatch.context() as patch:
        seams.REACH_ROWS.put(patch, 1)
        session = ensue.open(asked, time="ts")
        counts = []
        for rows in (first, then, last):
            counts.append(session.push(table(rows))["open"].count)
            if resumes:
                session = ensue.resume(asked, session.snapshot())
    assert counts == [0, 1, 1]
