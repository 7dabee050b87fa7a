"""Match ids: equal for the same match however it was found, many at a time or one by one."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

import ensue
from tests.equivalence.test_engine import compiled, run
from tests.pairs import Pair, pairs

SMALL = 300
"""Of more matches, the ids are compared of the first."""


def columns_eq_objects(matches: ensue.Matches) -> list[str]:
    """Return the ids as a column, which must be those of the matches."""
    some = matches.head(SMALL)
    listed = some.to_arrow().column("match_id").to_pylist()
    assert listed == [match.id for match in some]
    assert len(set(listed)) == len(listed)
    return [str(each) for each in listed]


@given(pairs())
def test_ids_in_columns_eq_ids_of_matches_and_of_the_definition(pair: Pair) -> None:
    query = compiled(pair.query)
    if query is None or not pair.rows:
        return
    fast = run(query, pair.rows)
    if fast.schema.totals is None:
        found = columns_eq_objects(fast)
        if fast.count <= SMALL:
            slow = run(query, pair.rows, by_definition=True)
            assert sorted(found) == sorted(columns_eq_objects(slow))


QUERIES = {
    "plain": "SELECT * FROM S WHERE A+ AS x ; B AS y",
    "conditions": "SELECT * FROM S WHERE A+ AS x ; B AS y FILTER x.v < y.v",
    "listed": "SELECT * FROM S WHERE A+ AS x ; B AS y FILTER abs(x.v - y.v) > 1 OR x.v * y.v > 9",
    "aggregates": "SELECT y, sum(x.v) AS s FROM S WHERE A+ AS x ; B AS y",
    "made": "SELECT * FROM S WHERE (A+ AS x ; B AS y) AGGREGATE Y[s = sum(x.v), n = max(x.w)] "
    "FILTER Y[s > 2]",
    "keys": "SELECT * FROM S WHERE A+ AS x ; B AS y PARTITION BY [k]",
}
EVENTS = [
    {"type": "AAB"[n % 3], "v": n, "w": f"w{n}", "k": n % 2, "t": n // 3, "n": n} for n in range(11)
]


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize("options", [{}, {"time": "t"}, {"time": "t", "tiebreak": "n"}])
def test_ids_are_those_of_a_run_in_one_piece(text: str, options: dict[str, Any]) -> None:
    query = ensue.compile(text)
    whole = columns_eq_objects(query.run(EVENTS, **options))
    assert whole
    session = query.open(**options)
    pushed = [columns_eq_objects(session.push([event])) for event in EVENTS]
    assert [each for some in pushed for each in some] == whole


def test_ids_are_the_same_in_whatever_unit_and_zone_times_and_keys_are_written() -> None:
    text = "SELECT * FROM S WHERE A ; B PARTITION BY [day] WITHIN 1 HOUR"
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    berlin = timezone(timedelta(hours=1))

    def ids(unit: str, zone: Any, text_type: pa.DataType) -> list[str]:
        times = [noon.astimezone(zone), (noon + timedelta(seconds=1)).astimezone(zone)]
        table = pa.table(
            {
                "type": pa.array(["A", "B"], text_type),
                "t": pa.array(times, pa.timestamp(unit, "UTC")),
                "day": pa.array(times[:1] * 2, pa.timestamp(unit, "UTC")),
            }
        )
        return columns_eq_objects(ensue.run(text, table, time="t"))

    one = ids("s", UTC, pa.string())
    assert one == ids("ns", berlin, pa.dictionary(pa.int32(), pa.string()))


@pytest.mark.parametrize(
    "keys",
    [
        ["a", "b"],
        [1, 2],
        [1.5, 2.0],
        [True, False],
        [Decimal("1.5"), Decimal(2)],
        [date(2026, 1, 1), date(2026, 1, 2)],
        [datetime(1, 1, 1), datetime(9999, 1, 1)],
    ],
)
def test_keys_of_all_types_tell_matches_apart(keys: list[Any]) -> None:
    table = pa.table({"type": ["A", "A", "B", "B"], "k": keys * 2})
    found = ensue.run("SELECT * FROM S WHERE A ; B PARTITION BY [k]", table)
    assert len(columns_eq_objects(found)) == 2


def test_ids_without_variables_tell_matches_apart() -> None:
    columns_eq_objects(ensue.run("SELECT NONE FROM S WHERE A ; B", EVENTS))
    columns_eq_objects(
        ensue.compile("SELECT * FROM S WHERE A+ ; B").run(EVENTS, output="positions")
    )
