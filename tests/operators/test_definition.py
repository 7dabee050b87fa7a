"""The evaluation by definition reads long stretches in pieces, and finds the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensue
from ensue.operators.reference import ReferenceOperator
from tests import seams

Rows = list[dict[str, Any]]

QUERIES = [
    "SELECT * FROM S WHERE NEXT(A AS a ; B AS b FILTER a.v < b.v) ; C WITHIN 4 EVENTS",
    "SELECT * FROM S WHERE MAX(A+ AS a FILTER a[increasing(v)]) ; C WITHIN 3 [t]",
    "SELECT * FROM S WHERE START(A ; LAST(A AS a ; B AS b FILTER a.v != b.v)) WITHIN 5 [t]",
    "SELECT * FROM S WHERE A ; NEXT(B AS b ; C AS c FILTER b.v <= c.v) PARTITION BY [k] "
    "WITHIN 2 EVENTS CONSUME BY PARTITION LIMIT 1",
    "SELECT count(*), sum(a.v) FROM S WHERE A AS a ; MAX(B AS b ; C AS c FILTER b.v <= c.v) "
    "WITHIN 4 EVENTS",
]


def streams() -> st.SearchStrategy[Rows]:
    row = st.fixed_dictionaries(
        {"type": st.sampled_from("ABC"), "v": st.integers(0, 2), "k": st.integers(0, 1)}
    )
    return st.lists(row, min_size=6, max_size=14).map(
        lambda rows: [{**row, "t": number // 2} for number, row in enumerate(rows)]
    )


def found(query: ensue.Query, rows: Rows) -> list[str]:
    result = query.run(rows)
    return sorted(map(str, result))


@pytest.mark.parametrize("text", QUERIES)
@given(rows=streams())
def test_pieces_find_what_the_whole_finds(text: str, rows: Rows) -> None:
    query = ensue.compile(text)
    assert "by definition" in query.explain()
    with pytest.MonkeyPatch.context() as patch:
        seams.REFERENCE_BATCH.put(patch, len(rows))
        whole = found(query, rows)
        seams.REFERENCE_BATCH.put(patch, 1)
        assert found(query, rows) == whole


def test_pieces_are_as_long_as_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    original = seams.REFERENCE_READ.original

    def read_piece(self: ReferenceOperator, stream: Any) -> Any:
        result = original(self, stream)
        seen.append(len(stream.times))
        return result

    seams.REFERENCE_READ.put(monkeypatch, read_piece)
    rows = [{"type": "ABC"[n % 3], "v": n} for n in range(300)]
    pattern = "NEXT(A AS a ; B AS b FILTER a.v < b.v) ; C"
    ensue.compile(f"SELECT * FROM S WHERE {pattern} WITHIN 50 EVENTS").run(rows)
    assert sum(seen) == 300
    assert max(seen) == 50

    seen.clear()
    ensue.compile("SELECT * FROM S WHERE NEXT(A AS a ; B AS b FILTER a.v > b.v) ; C").run(rows)
    assert seen == [300], "without a window everything would be read again and again"
