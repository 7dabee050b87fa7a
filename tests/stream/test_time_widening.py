"""Integer times that become doubles in the middle of a stream: the same as doubles throughout."""

from __future__ import annotations

import json
from datetime import datetime
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensue
from tests import seams
from tests.effort import costly

PAIRS = "SELECT * FROM S WHERE A AS a ; B AS b WITHIN 3 SECONDS"
QUERIES = [
    PAIRS,
    "SELECT * FROM S WHERE A AS a ; B AS b FILTER a.v = b.v AND a.t < b.t WITHIN 3 SECONDS",
    "SELECT * FROM S WHERE A AS a ; B AS b FILTER a.v < b.v WITHIN 3 EVENTS",
    "SELECT * FROM S WHERE A AS a ; B+ AS b PARTITION BY [v] WITHIN 3 SECONDS CONSUME BY PARTITION",
    "SELECT count(*), max(a.t) AS l, min(b.t) AS f FROM S WHERE A AS a ; B AS b WITHIN 3 SECONDS",
    "SELECT count(*), max(a.t) AS l FROM S WHERE A AS a ; B AS b FILTER a.v < b.v WITHIN 3 SECONDS",
    "SELECT count(*) FROM S WHERE A AS a ; B AS b WITHIN 9 SECONDS EVERY 2 SECONDS",
    "SELECT count(*) FROM S WHERE A AS a ; B AS b FILTER a.v = b.v WITHIN 9 SECONDS "
    "EVERY 2 SECONDS",
    "SELECT * FROM S WHERE A AS a NOT FOLLOWED BY C WITHIN 3 SECONDS",
    "SELECT * FROM S WHERE A AS a NOT FOLLOWED BY C WITHIN 3 EVENTS",
    "SELECT * FROM S WHERE A AS a NOT FOLLOWED BY (C AS c FILTER c.v = a.v) WITHIN 3 SECONDS",
    "SELECT * FROM S WHERE C ; (A AS a ; B AS b WITHIN 3 SECONDS) WITHIN 9 SECONDS",
    "SELECT * FROM S WHERE (A AS a ; B AS b WITHIN 3 SECONDS) ; A WITHIN 9 SECONDS",
    "SELECT * FROM S WHERE A AS a ; B AS b UNLESS (C AS c ; C AS d FILTER c.v < d.v) "
    "WITHIN 3 SECONDS",
    "SELECT * FROM S WHERE A AS a ; B AS b UNLESS (C AS c FILTER c.v > a.v) WITHIN 3 SECONDS",
    "SELECT FIRST * FROM S WHERE A AS a ; B+ AS b WITHIN 9 SECONDS",
    "SELECT * FROM S WHERE A ; NEXT ((A AS c ; B AS a) FILTER a.v < c.v) ; C WITHIN 9 SECONDS",
    "SELECT a, b, max(b.t) AS m FROM S WHERE A AS a ; B+ AS b WITHIN 4 SECONDS",
    "SELECT count(*) FROM S WHERE ((A AS a ; B+ AS b) AGGREGATE Y[s = sum(b.v)]) FILTER Y[s < 6] "
    "WITHIN 9 SECONDS",
    "CREATE STREAM D AS SELECT a.v AS v FROM S WHERE A AS a ; B AS b WITHIN 9 SECONDS ; "
    "SELECT * FROM D WHERE D AS x ; D AS y FILTER x.v = y.v WITHIN 3 SECONDS",
    "CREATE STREAM D AS SELECT a.t AS f, max(b.t) AS l FROM S WHERE A AS a ; B+ AS b "
    "WITHIN 4 SECONDS ; SELECT x.f AS f, y.l AS l FROM D WHERE D AS x ; D AS y "
    "FILTER x.f < y.l AND x.end_time < y.end_time WITHIN 9 SECONDS",
    "CREATE STREAM D AS SELECT a.v AS v FROM S WHERE A AS a NOT FOLLOWED BY C WITHIN 2 SECONDS ; "
    "SELECT * FROM S, D WHERE D AS x ; S>B AS y FILTER x.v = y.v WITHIN 3 SECONDS",
    "CREATE STREAM D AS SELECT count(*) AS n, max(a.t) AS l FROM S WHERE A AS a ; B AS b "
    "WITHIN 9 SECONDS ; SELECT * FROM D WHERE D AS x ; D AS y FILTER x.l <= y.l WITHIN 3 SECONDS",
]
UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000}
BEGIN = datetime(1970, 1, 1)


def seconds(value: Any, unit: int) -> Any:
    """Write times as seconds, whether they are timestamps or counted in a unit."""
    if isinstance(value, datetime):
        return (value - BEGIN).total_seconds()
    return value / unit if isinstance(value, int) else value


def listed(found: ensue.Matches, unit: int) -> list[str]:
    """Return rows as text; ids of matches that were given out before are those of integers."""
    times = {"start_time", "end_time", "time", "deadline", "l", "f", "m"}
    return [
        json.dumps(
            {
                name: seconds(value, unit) if name in times else value
                for name, value in row.items()
                if name != "match_id"
            },
            default=str,
        )
        for row in found.to_arrow().to_pylist()
    ]


ROWS = st.lists(
    st.tuples(st.sampled_from("AABBC"), st.integers(0, 2), st.sampled_from([0, 1, 1, 2])),
    min_size=2,
    max_size=8,
)
LATER = st.lists(
    st.tuples(st.sampled_from("AABBC"), st.integers(0, 2), st.sampled_from([0, 0.5, 1, 1.25])),
    min_size=1,
    max_size=8,
)


@costly
@pytest.mark.parametrize("part", range(4))
@given(
    which=st.integers(0, len(QUERIES) // 4),
    whole=ROWS,
    mixed=LATER,
    unit=st.sampled_from(sorted(UNITS)),
    cuts=st.sets(st.integers(1, 15)),
    saves=st.sets(st.integers(1, 15)),
    lateness=st.sampled_from([None, "2 seconds"]),
)
def test_widened_times_eq_doubles(
    part: int,
    which: int,
    whole: list[tuple[str, int, float]],
    mixed: list[tuple[str, int, float]],
    unit: str,
    cuts: set[int],
    saves: set[int],
    lateness: str | None,
) -> None:
    query = ensue.compile(QUERIES[(which * 4 + part) % len(QUERIES)])
    factor = UNITS[unit]
    times = accumulate((step * factor for *_, step in [*whole, *mixed]), initial=1_000 * factor)
    rows = [
        {"type": kind, "v": v, "t": int(time) if time % 1 == 0 else time}
        for (kind, v, _), time in zip([*whole, *mixed], times, strict=False)
    ]
    doubles = [{**row, "t": float(row["t"])} for row in rows]
    expected = listed(query.run(doubles, time="t", time_unit=unit), factor)
    # From here on some times are doubles, also where they are whole.
    rows[len(whole)]["t"] = float(rows[len(whole)]["t"])
    session = query.open(time="t", time_unit=unit, lateness=lateness)
    found: list[str] = []
    borders = sorted({0, len(whole), *(cut for cut in cuts if cut < len(rows)), len(rows)})
    for first, last in pairwise(borders):
        found += listed(session.push(rows[first:last]), factor)
        if last in saves:
            session = query.resume(session.snapshot())
    assert sorted(found + listed(session.finish(), factor)) == sorted(expected)


def test_lines_whose_times_become_doubles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"type": "AB"[at % 2], "v": 1, "t": at if at < 30 else at + 0.5} for at in range(60)]
    path = tmp_path / "e.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    seams.JSONL_BLOCK.put(monkeypatch, 64)
    found = ensue.run(PAIRS, path, time="t", time_unit="s")
    assert found.count == ensue.run(PAIRS, rows, time="t", time_unit="s").count > 0


def test_integers_without_a_unit_become_seconds() -> None:
    session = ensue.compile("SELECT * FROM S WHERE A AS a ; B AS b WITHIN 5 EVENTS").open(time="t")
    session.push([{"type": "A", "t": 1}])
    (match,) = session.push([{"type": "B", "t": 2.5}])
    assert (match.start_time, match.end_time) == (
        datetime(1970, 1, 1, 0, 0, 1),
        datetime(1970, 1, 1, 0, 0, 2, 500_000),
    )
    assert session.push([{"type": "B", "t": 3}]).count == 1


def test_streams_of_which_one_has_doubles() -> None:
    query = ensue.compile("SELECT * FROM S, R WHERE S>A AS a ; R>B AS b WITHIN 2 SECONDS")
    session = query.open(time="t", time_unit="s")
    session.push({"S": [{"type": "A", "t": 1}], "R": [{"type": "B", "t": 1}]})
    session.push({"S": [{"type": "A", "t": 4}], "R": [{"type": "B", "t": 2.5}]})
    found = session.push({"S": [{"type": "A", "t": 9}], "R": [{"type": "B", "t": 9}]})
    assert found.count + session.finish().count == 2


REFUSED = {
    "difference": "CREATE STREAM D AS SELECT b.t - a.t AS d FROM S WHERE A AS a ; B AS b "
    "WITHIN 9 SECONDS ; SELECT * FROM D WHERE D AS x ; D AS y WITHIN 3 SECONDS",
    "partitioned": "SELECT * FROM S WHERE A AS a ; B AS b PARTITION BY [t] WITHIN 3 SECONDS",
    "units": "SELECT * FROM S WHERE A AS a ; B AS b WITHIN 2 [t]",
    "tiebreak": "SELECT * FROM S WHERE A AS a ; B AS b WITHIN 2 SECONDS",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_where_doubles_cannot_be_taken_nothing_changes(text: str) -> None:
    rows = [{"type": kind, "v": 1, "t": at} for at, kind in enumerate("ABABAB")]
    options: dict[str, Any] = {"time": "t"}
    if text is not REFUSED["units"]:
        options["time_unit"] = "s"
    if text is REFUSED["tiebreak"]:
        options["tiebreak"] = "t"
    session, other = ensue.compile(text).open(**options), ensue.compile(text).open(**options)
    session.push(rows[:3])
    other.push(rows[:3])
    with pytest.raises(
        ensue.EventError, match=r"column 't': .* is of type int .* the query cannot"
    ):
        session.push([{"type": "B", "v": 1, "t": 2.5}])
    assert session.push(rows[3:]).count == other.push(rows[3:]).count


def test_times_that_are_declared_as_integers_stay_integers() -> None:
    schema = {"type": "string", "v": "int", "t": "int"}
    session = ensue.compile(PAIRS, schema=schema).open(time="t", time_unit="s")
    session.push([{"type": "A", "v": 1, "t": 1}])
    with pytest.raises(ensue.EventError, match=r"'t'"):
        session.push([{"type": "B", "v": 1, "t": 2.5}])
    assert session.push([{"type": "B", "v": 1, "t": 3}]).count == 1


def test_times_too_large_for_nanoseconds_are_refused() -> None:
    session = ensue.compile(PAIRS).open(time="t", time_unit="s")
    session.push([{"type": "A", "t": 10**12}])
    with pytest.raises(ensue.EventError, match="do not fit into 64 bits"):
        session.push([{"type": "B", "t": 10**12 + 1.5}])
    assert session.push([{"type": "B", "t": 10**12 + 2}]).count == 1
