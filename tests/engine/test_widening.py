"""Integers that become doubles when the first double comes, in sessions and in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensue
from ensue.io import csv, jsonl

QUERIES = [
    "SELECT * FROM S WHERE A AS a ; B AS b FILTER a[v > 1] AND b[v < 3.2]",
    "SELECT * FROM S WHERE A AS a ; B AS b FILTER a[v % 2 = 0] AND b[v / 2 >= 1]",
    "SELECT * FROM S WHERE A AS a ; B AS b PARTITION BY [v] WITHIN 6 EVENTS",
    "SELECT a, b, sum(a.v) AS s, max(a.v) AS m FROM S WHERE A+ AS a ; B AS b WITHIN 6 EVENTS",
    "SELECT * FROM S WHERE A AS a ; B AS b WITHIN 6 EVENTS",
]
KEPT = [
    "SELECT * FROM S WHERE A AS a ; B AS b FILTER a.v < b.v",
    "SELECT count(*), sum(a.v) AS s FROM S WHERE A+ AS a ; B AS b WITHIN 6 EVENTS",
]
ROW = st.fixed_dictionaries(
    {"type": st.sampled_from("AB"), "v": st.sampled_from([0, 1, 2, 3, 4, 0.5, 1.5, 2.5, None])}
)


def told(found: ensue.Matches) -> list[dict[str, Any]]:
    """Return matches as text that does not tell 2 from 2.0."""
    return json.loads(
        json.dumps([{**row, "match_id": 0} for row in found.to_arrow().to_pylist()]),
        parse_int=float,
    )  # type: ignore[no-any-return]


@pytest.mark.parametrize("text", QUERIES)
@given(rows=st.lists(ROW, min_size=4, max_size=12), size=st.integers(1, 5))
def test_pushed_eq_whole(rows: list[dict[str, Any]], size: int, text: str) -> None:
    whole = ensue.run(text, rows)
    session = ensue.compile(text).open()
    pushed = [
        each
        for first in range(0, len(rows), size)
        for each in told(session.push(rows[first : first + size]))
    ]
    assert pushed + told(session.finish()) == told(whole)


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("name", ["e.csv", "e.jsonl"])
def test_files_eq_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, name: str
) -> None:
    rows = [{"type": "ABAB"[at % 4], "v": at % 5 if at < 30 else at % 5 / 2} for at in range(60)]
    path = tmp_path / name
    if name.endswith("csv"):
        path.write_text("type,v\n" + "".join(f"{row['type']},{row['v']}\n" for row in rows))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(csv, "_BLOCK", 64)
    monkeypatch.setattr(jsonl, "_BLOCK", 64)
    assert told(ensue.run(text, path)) == told(ensue.run(text, rows))


@pytest.mark.parametrize("text", KEPT)
def test_values_that_are_kept_keep_their_type(text: str) -> None:
    """In registers and totals; whoever declares a double has no such trouble."""
    session = ensue.compile(text).open()
    session.push([{"type": "A", "v": 1}])
    with pytest.raises(ensue.EventError, match=r"column 'v': 2.5 is of type double, .* declare"):
        session.push([{"type": "B", "v": 2.5}])
    assert session.push([{"type": "B", "v": 2.0}]).count == 1
    declared = ensue.compile(text, schema={"v": "double"}).open()
    declared.push([{"type": "A", "v": 1}])
    assert declared.push([{"type": "B", "v": 2.5}]).count == 1


def test_widened_columns_are_saved() -> None:
    query = ensue.compile(QUERIES[0])
    session = query.open()
    session.push([{"type": "A", "v": 2}])
    session.push([{"type": "A", "v": 2.5}])
    resumed = query.resume(session.snapshot())
    assert resumed.push([{"type": "B", "v": 3}]).count == 2
