"""Section 1: types, from CREATE STREAM, from schema= in its three forms, or from the events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import ensue
from tests.spec.helpers import Event, kept, plain, run, stream, supports, valued

DECLARED = """
CREATE STREAM S {
    EVENT A { v: int, name: string },
    EVENT B { v: double, ok: boolean }
} ;
"""


def declared(pattern: str) -> str:
    return f"{DECLARED}SELECT * FROM S WHERE {pattern}"


def test_a_declared_stream_is_read_as_declared() -> None:
    text = declared("(A ; B) FILTER A[name = 'x'] AND A.v < B.v")
    events = [{"type": "A", "v": 1, "name": "x"}, {"type": "B", "v": 1.5, "ok": True}]
    assert plain(ensue.run(text, events)) == [(0, 1, {"A": [0], "B": [1]})]


def test_the_semicolon_after_a_declaration_may_be_left_out_and_words_are_of_any_case() -> None:
    text = "create stream S { event A { v: INT } } select * from S where A filter A[v = 1]"
    assert ensue.run(text, stream("A1 A2")).count == 1


def test_every_type_can_be_declared() -> None:
    types = "a: boolean, b: int, c: double, d: decimal, e: string, f: timestamp, g: date"
    text = f"""
        CREATE STREAM S {{ EVENT A {{ {types} }} }};
        SELECT * FROM S WHERE A FILTER A[a = TRUE AND b = 1 AND c = 0.5 AND d = 0.1 AND e = 'x'
            AND f = TIMESTAMP '2026-01-31 09:30:00' AND year(g) = 2026]
    """
    event = {
        "type": "A",
        "a": True,
        "b": 1,
        "c": 0.5,
        "d": Decimal("0.1"),
        "e": "x",
        "f": datetime(2026, 1, 31, 9, 30),
        "g": date(2026, 1, 31),
    }
    assert ensue.run(text, [event]).count == 1


def test_a_declared_attribute_that_the_events_lack_is_null() -> None:
    events = [{"type": "A", "v": 1}]
    assert ensue.run(declared("A FILTER A[name IS NULL]"), events).count == 1
    table = pa.Table.from_pylist(events)
    assert ensue.run(declared("A FILTER A[name IS NULL]"), table).count == 1


def test_events_of_types_that_are_not_declared_may_pass_by() -> None:
    assert ensue.run(declared("A ; B"), stream("A1 X2 B3")).count == 1


@pytest.mark.parametrize(
    ("pattern", "kind", "part"),
    [
        ("C", ensue.CeqlNameError, "'C'"),
        ("A FILTER A[vv = 1]", ensue.CeqlNameError, "did you mean 'v'"),
        ("A FILTER A[nam = 'x']", ensue.CeqlNameError, "did you mean 'name'"),
        ("A FILTER A[ok = TRUE]", ensue.CeqlNameError, "'ok'"),
        ("B FILTER B[name = 'x']", ensue.CeqlNameError, "'name'"),
        ("A FILTER A[name > 5]", ensue.CeqlTypeError, "string"),
        ("A FILTER A[v = '5']", ensue.CeqlTypeError, "string"),
        ("A ; B FILTER A.name = B.v", ensue.CeqlTypeError, "string"),
        ("B FILTER B[ok > 1]", ensue.CeqlTypeError, "boolean"),
        ("A FILTER A[v]  AND A[increasing(nme)]", ensue.CeqlNameError, "did you mean 'name'"),
        ("A FILTER A[v LIKE 'x']", ensue.CeqlTypeError, "string"),
        ("A FILTER A[name + 1 > 2]", ensue.CeqlTypeError, "string"),
        ("A AGGREGATE Y[s = sum(A.name)]", ensue.CeqlTypeError, "string"),
        ("A FILTER x[v = 1]", ensue.CeqlNameError, "'x'"),
    ],
)
def test_a_declared_stream_is_checked_before_there_are_events(
    pattern: str, kind: type[ensue.CeqlError], part: str
) -> None:
    with pytest.raises(kind, match=part) as told:
        ensue.compile(declared(pattern))
    assert told.value.line == 6


def test_an_attribute_of_either_type_can_be_asked_of_both() -> None:
    text = declared("(A OR B) AS x FILTER x[v > 1 AND ok IS NULL]")
    assert ensue.run(text, stream("A1 B2")).count == 1


@pytest.mark.parametrize(
    "text",
    [
        "CREATE STREAM S { EVENT A { v: text } } ; SELECT * FROM S WHERE A",
        "CREATE STREAM S { EVENT A { v: int, v: int } } ; SELECT * FROM S WHERE A",
        "CREATE STREAM S { EVENT A { v: int }, EVENT A { v: int } } ; SELECT * FROM S WHERE A",
        "CREATE STREAM S { EVENT A { v: int } } ; SELECT * FROM T WHERE A",
        "CREATE STREAM S { A { v: int } } ; SELECT * FROM S WHERE A",
    ],
)
def test_wrong_declarations_are_errors(text: str) -> None:
    with pytest.raises(ensue.CeqlError):
        ensue.compile(text)


def test_several_streams_are_declared_one_after_another() -> None:
    text = """
        CREATE STREAM S1 { EVENT A { v: int } } ;
        CREATE STREAM S2 { EVENT B { w: int } } ;
        SELECT * FROM S1, S2 WHERE S1>A ; S2>B FILTER A.v = B.w
    """
    events = {"S1": [{"type": "A", "v": 1, "t": 1}], "S2": [{"type": "B", "w": 1, "t": 2}]}
    assert ensue.run(text, events, time="t").count == 1


@pytest.mark.parametrize("types", [("int", "int"), ("int", "double"), ("double", "int")])
def test_several_streams_may_have_events_of_one_type(types: tuple[str, str]) -> None:
    one, other = types
    text = f"""
        CREATE STREAM S {{ EVENT A {{ v: {one} }} }} ;
        CREATE STREAM R {{ EVENT A {{ v: {other} }} }} ;
        SELECT * FROM S, R WHERE (S>A AS x ; R>A AS y) FILTER y.v > x.v
    """
    value = {"int": 2, "double": 2.5}
    events = {
        "S": [{"type": "A", "v": value[one] - 1, "t": 1}],
        "R": [{"type": "A", "v": value[other], "t": 2}],
    }
    assert ensue.run(text, events, time="t").count == 1


def test_nested_attributes_can_be_declared() -> None:
    text = """
        CREATE STREAM S { EVENT A { process.pid: int } } ;
        SELECT * FROM S WHERE A FILTER A[process.pid = 1]
    """
    assert ensue.run(text, [{"type": "A", "process": {"pid": 1}}]).count == 1
    with pytest.raises(ensue.CeqlNameError):
        ensue.compile(text.replace("[process.pid", "[process.pit"))


# schema=

_ARROW = pa.schema([("type", pa.string()), ("v", pa.int64()), ("name", pa.string())])
_SCHEMAS: dict[str, Any] = {
    "attributes": {"v": "int", "name": "string"},
    "events": {"A": {"v": "int", "name": "string"}},
    "arrow": _ARROW,
}


@pytest.mark.parametrize("schema", _SCHEMAS.values(), ids=_SCHEMAS.keys())
def test_a_schema_in_each_of_its_forms(schema: object) -> None:
    text = "SELECT * FROM S WHERE A FILTER "
    events = [{"type": "A", "v": 1, "name": "x"}]
    assert ensue.compile(text + "A[v = 1 AND name = 'x']", schema).run(events).count == 1
    assert ensue.run(text + "A[v = 1 AND name = 'x']", events, schema=schema).count == 1
    with pytest.raises(ensue.CeqlTypeError):
        ensue.compile(text + "A[name > 5]", schema)
    with pytest.raises(ensue.CeqlNameError, match="did you mean 'name'"):
        ensue.compile(text + "A[nme = 'x']", schema)


def test_a_schema_by_events_knows_the_types_of_events() -> None:
    with pytest.raises(ensue.CeqlNameError, match="did you mean 'SELL'"):
        ensue.compile("SELECT * FROM S WHERE SEL", {"SELL": {"price": "double"}})


def test_a_schema_of_attributes_does_not_limit_the_types_of_events() -> None:
    assert ensue.run("SELECT * FROM S WHERE B", stream("B1"), schema={"v": "int"}).count == 1


def test_without_a_schema_nothing_is_unknown_until_there_are_events() -> None:
    query = ensue.compile("SELECT * FROM S WHERE A FILTER A[name > 5]")
    assert query.run(valued([{"name": 6}])).count == 1
    with pytest.raises(ensue.CeqlTypeError):
        query.run(valued([{"name": "x"}]))


def test_a_table_tells_its_columns_so_an_unknown_one_is_a_name_error() -> None:
    with pytest.raises(ensue.CeqlNameError, match="did you mean 'price'"):
        run("A FILTER A[prise > 5]", pa.table({"type": ["A"], "price": [1.5]}))


def test_events_of_another_type_than_declared_are_an_event_error() -> None:
    for schema in ({"v": "int"}, {"A": {"v": "int"}}, pa.schema([("v", pa.int64())])):
        with pytest.raises(ensue.EventError, match="'v'") as told:
            run("A FILTER A[v = 1]", valued(["x"]), schema=schema)
        assert "string" in str(told.value)


def test_whole_numbers_are_read_as_declared_doubles() -> None:
    assert kept("v / 2 = 0.5", [1, 2], schema={"v": "double"}) == [0]


def test_text_is_read_as_the_declared_type_from_files_that_have_none(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    rows = [
        {"type": "A", "ts": "2026-01-31T09:00:00", "day": "2026-01-31", "price": "0.10"},
        {"type": "B", "ts": "2026-01-31T09:05:00", "day": "2026-02-01", "price": "0.1"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    schema = {"ts": "timestamp", "day": "date", "price": "decimal"}
    text = "SELECT * FROM S WHERE A ; B FILTER A.price = B.price AND B[month(day) = 2]"
    assert ensue.run(f"{text} WITHIN 5 MINUTES", path, time="ts", schema=schema).count == 1
    assert ensue.run(f"{text} WITHIN 4 MINUTES", path, time="ts", schema=schema).count == 0


def test_digits_are_text_where_text_is_declared(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("type,code\nA,007\nA,7\n", encoding="utf-8")
    text = """
        CREATE STREAM S { EVENT A { code: string } } ;
        SELECT * FROM S WHERE A FILTER A[code = '007']
    """
    assert [m.start for m in ensue.run(text, path)] == [0]


def test_a_declared_double_may_begin_with_whole_numbers() -> None:
    def prices() -> Iterator[Event]:
        yield from valued(range(20_000))
        yield {"type": "A", "v": 0.5}

    (match,) = run("A FILTER A[v = 0.5]", prices(), schema={"v": "double"})
    assert match.start == 20_000


@pytest.mark.parametrize("schema", [5, "v int", {"v": "text"}, {"v": 3}])
def test_a_schema_that_is_none_is_told(schema: object) -> None:
    with pytest.raises((TypeError, ValueError), match="schema"):
        ensue.compile("SELECT * FROM S WHERE A", schema)


# decimals

_TENTH = [Decimal("0.1"), Decimal("0.10"), Decimal("0.1000000000000000000001"), Decimal("0.2")]


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("v = 0.1", [0, 1]),
        ("v != 0.1", [2, 3]),
        ("v > 0.1", [2, 3]),
        ("v <= 0.1", [0, 1]),
        ("v IN (0.1, 0.2)", [0, 1, 3]),
        ("v NOT IN (0.1)", [2, 3]),
        ("v BETWEEN 0.1 AND 0.1", [0, 1]),
        ("v = $tenth", [0, 1]),
        ("v IN $tenths", [0, 1]),
        ("v < 1", [0, 1, 2, 3]),
        # computed as double, the third is a tenth too
        ("v * 1 = 0.1", [0, 1, 2]),
        ("v + 0 = 0.1", [0, 1, 2]),
        ("v + 0.1 > 0.2", [3]),
    ],
)
def test_decimals_are_compared_exactly_and_computed_as_double(
    predicate: str, expected: list[int]
) -> None:
    params = {"tenth": Decimal("0.1"), "tenths": [Decimal("0.1")]}
    assert kept(predicate, _TENTH, params=params) == expected


def test_decimals_of_two_events_are_compared_exactly() -> None:
    events = valued(_TENTH)
    assert supports("A AS x ; A AS y FILTER x.v = y.v", events) == {(0, 1)}
    assert supports("A{2} AS x FILTER x[same(v)]", events) == {(0, 1)}
    assert supports("A AS x ; A AS y PARTITION BY [x.v, y.v]", events) == {(0, 1)}
    assert supports("A ; A PARTITION BY [v]", events) == {(0, 1)}


def test_a_decimal_beyond_the_digits_of_a_double_equals_itself_only() -> None:
    big = Decimal("12345678901234567890.01")
    events = [{"type": "A", "v": big}, {"type": "A", "v": big + Decimal("0.01")}]
    assert supports("A FILTER A[v = 12345678901234567890.01]", events) == {(0,)}


# other types


def test_integers_of_any_width_are_integers() -> None:
    for kind in (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint32()):
        table = pa.table({"type": ["A", "A"], "v": pa.array([1, 2], kind)})
        assert supports("A FILTER A[v + 1 = 3]", table) == {(1,)}


def test_strings_of_any_encoding_are_strings() -> None:
    names = pa.array(["x", "y", "x"])
    for column in (names, names.cast(pa.large_string()), names.dictionary_encode()):
        table = pa.table({"type": ["A"] * 3, "v": column})
        assert supports("A FILTER A[v LIKE 'x']", table) == {(0,), (2,)}


def test_times_with_and_without_a_zone_are_in_utc() -> None:
    noon = datetime(2026, 1, 31, 12)
    for moment in (noon, noon.replace(tzinfo=UTC)):
        assert kept("v = TIMESTAMP '2026-01-31 12:00:00'", [moment]) == [0]


def test_dates_are_compared_with_dates_and_subtracted() -> None:
    rows = [{"a": date(2026, 1, 1), "b": date(2026, 1, day)} for day in (1, 2, 3)]
    assert kept("b > a", rows) == [1, 2]
    assert kept("b - a = 1 DAY", rows) == [1]


def test_columns_of_types_that_ceql_does_not_have_do_no_harm() -> None:
    table = pa.table({"type": ["A"], "tags": [["x", "y"]], "raw": [b"z"], "v": [1]})
    assert supports("A FILTER A[v = 1]", table) == {(0,)}
    (match,) = run("A", table)
    assert match.events("A") == [{"type": "A", "tags": ["x", "y"], "raw": b"z", "v": 1}]
