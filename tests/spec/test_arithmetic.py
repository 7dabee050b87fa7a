"""Section 4, p: arithmetic, functions, and what has no value."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest

import ensue
from tests.spec.helpers import kept, run, valued


def equal(expression: str, attributes: dict[str, Any], expected: object) -> bool:
    """Tell whether an expression about one event has the value that is expected."""
    return kept(f"({expression}) = expected", [{**attributes, "expected": expected}]) == [0]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 4 - 3", 3),
        ("24 / 3 / 2", 4.0),
        ("2 - -1", 3),
        ("-2 * 3", -6),
        ("-(2 + 3)", -5),
        ("1 / 2", 0.5),
        ("7 / 2", 3.5),
        ("-7 / 2", -3.5),
        ("7 % 3", 1),
        ("-7 % 3", -1),
        ("7 % -3", 1),
        ("-7 % -3", -1),
        ("7.5 % 2", 1.5),
        ("-7.5 % 2", -1.5),
        ("2 + 3 % 2", 3),
        ("1.5 + 1", 2.5),
        ("1e2 * 2", 200.0),
    ],
)
def test_arithmetic_on_constants_and_on_attributes(expression: str, expected: float) -> None:
    assert equal(expression, {}, expected)
    assert equal(f"{expression} + zero", {"zero": 0}, expected)


@pytest.mark.parametrize(
    ("dividend", "divisor", "rest"),
    [
        (7, 3, 1),
        (-7, 3, -1),
        (7, -3, 1),
        (-7, -3, -1),
        (6, 3, 0),
        (5.5, 2.0, 1.5),
        (-5.5, 2.0, -1.5),
    ],
)
def test_the_remainder_keeps_the_sign_of_the_dividend(
    dividend: float, divisor: float, rest: float
) -> None:
    assert equal("a % b", {"a": dividend, "b": divisor}, rest)


def test_division_of_whole_numbers_is_real() -> None:
    assert kept("v / 2 = 1.5", [2, 3, 4]) == [1]
    assert kept("v / 2 * 2 = v", [2, 3, 4]) == [0, 1, 2]


def test_whole_numbers_are_exact_up_to_64_bits() -> None:
    assert kept("v - 1 = 9007199254740992", [2**53, 2**53 + 1, 2**53 + 2]) == [1]
    assert kept("v + 1 > 9223372036854775806", [2**63 - 2, 2**63 - 3]) == [0]


_NO_VALUE: list[tuple[str, float]] = [
    ("v / 0", 1),
    ("v / 0", 0),
    ("v / 0.0", 1.5),
    ("1 / v", 0),
    ("1 / v", 0.0),
    ("v % 0", 1),
    ("v % 0.0", 1.5),
    ("5 % v", 0),
    ("sqrt(v)", -1),
    ("sqrt(v)", -0.25),
    ("v + 1", 2**63 - 1),
    ("v - 1", -(2**63)),
    ("v * 2", 2**62),
    ("v * v", -(2**40)),
    ("-v", -(2**63)),
    ("abs(v)", -(2**63)),
    ("v * 10", 1e308),
    ("v + v", -1e308),
    ("v / 1e-10", 1e308),
]


@pytest.mark.parametrize(("expression", "value"), _NO_VALUE)
def test_what_has_no_value_is_null_and_counted(expression: str, value: float) -> None:
    matches = run(f"A FILTER A[({expression}) IS NULL]", valued([value]))
    assert matches.count == 1
    assert matches.stats["nulls"] == 1


@pytest.mark.parametrize(("expression", "value"), _NO_VALUE)
def test_what_has_no_value_makes_comparisons_unknown(expression: str, value: float) -> None:
    assert kept(f"({expression}) = 1 OR ({expression}) != 1", [value]) == []


def test_what_has_no_value_does_not_stop_the_stream() -> None:
    matches = run("A FILTER A[10 / v > 1]", valued([0, 5, 0, 20, 1]))
    assert [m.start for m in matches] == [1, 4]
    assert matches.stats["nulls"] == 2


@pytest.mark.parametrize("expression", ["v + 1", "v / 2", "-v", "sqrt(v)", "abs(v)", "1 / v"])
def test_null_of_null_is_not_counted(expression: str) -> None:
    matches = run(f"A FILTER A[({expression}) IS NULL]", valued([None, 1]))
    assert [m.start for m in matches] == [0]
    assert matches.stats["nulls"] == 0


@pytest.mark.parametrize(
    "expression",
    ["abs(v)", "round(v)", "floor(v)", "ceil(v)", "sqrt(v)", "v % 2", "2 - v", "v * v", "1 / v"],
)
def test_infinity_among_the_events_does_not_stop_the_stream(expression: str) -> None:
    assert kept(f"{expression} = 1", [math.inf, 1.0, -math.inf]) == [1]


@pytest.mark.parametrize(
    ("expression", "value", "expected"),
    [
        ("abs(v)", -3, 3),
        ("abs(v)", 3, 3),
        ("abs(v)", -2.5, 2.5),
        ("round(v)", 2.5, 3.0),
        ("round(v)", -2.5, -3.0),
        ("round(v)", 0.5, 1.0),
        ("round(v)", -0.5, -1.0),
        ("round(v)", 1.5, 2.0),
        ("round(v)", 2.4, 2.0),
        ("round(v)", -2.6, -3.0),
        ("round(v)", 0.49999999999999994, 0.0),
        ("round(v)", 4503599627370497.0, 4503599627370497.0),
        ("round(v)", 7, 7),
        ("floor(v)", 1.5, 1.0),
        ("floor(v)", -1.5, -2.0),
        ("floor(v)", 3, 3),
        ("ceil(v)", 1.2, 2.0),
        ("ceil(v)", -1.2, -1.0),
        ("ceil(v)", -3, -3),
        ("sqrt(v)", 9, 3.0),
        ("sqrt(v)", 2.25, 1.5),
        ("sqrt(v)", 0, 0.0),
        ("lower(v)", "AbÇ", "abç"),
        ("upper(v)", "aBç", "ABÇ"),
        ("length(v)", "größe", 5),
        ("length(v)", "", 0),
        ("length(v)", "a😀b", 3),
        ("coalesce(v, 'x')", "y", "y"),
        ("coalesce(v, 'x')", None, "x"),
        ("coalesce(NULL, v, 3)", 2, 2),
        ("coalesce(v, NULL, 4)", None, 4),
        ("coalesce(v / 0, v)", 5.0, 5.0),
        ("coalesce(v)", 1, 1),
        ("length(lower(v)) + 1", "AB", 3),
    ],
)
def test_functions(expression: str, value: object, expected: object) -> None:
    assert equal(expression, {"v": value}, expected)


@pytest.mark.parametrize(
    ("predicate", "values", "expected"),
    [
        ("starts_with(v, 'ab')", ["abc", "cab", "AB", "", None], [0]),
        ("ends_with(v, 'ab')", ["abc", "cab", "ab", None], [1, 2]),
        ("contains(v, 'b')", ["abc", "ac", "b", None], [0, 2]),
        ("contains(v, '')", ["abc", "", None], [0, 1]),
        ("starts_with(v, 'a%')", ["ab", "a%b"], [1]),
        ("contains(v, '.')", ["ab", "a.b"], [1]),
        ("NOT contains(v, 'b')", ["abc", "ac", None], [1]),
        ("starts_with(lower(v), 'ab')", ["ABc", "xAB"], [0]),
        ("contains(v, w)", [{"v": "abc", "w": "bc"}, {"v": "abc", "w": "x"}, {"v": "a"}], [0]),
    ],
)
def test_functions_that_are_true_or_false(
    predicate: str, values: list[Any], expected: list[int]
) -> None:
    assert kept(predicate, values) == expected


@pytest.mark.parametrize("value", [datetime(9999, 12, 31), datetime(1, 1, 1), date(9999, 12, 31)])
def test_far_times_do_not_stop_the_stream(value: date) -> None:
    # many a database writes 'for ever' so
    assert kept("w = 1", [{"v": value, "w": 1}]) == [0]
    assert kept("year(v) IN (1, 9999)", [value]) == [0]
    assert kept("v = v AND v IS NOT NULL", [value]) == [0]


# 2026-02-28 was a Saturday and 1969-12-31 a Wednesday.
_PARTS = ("year", "month", "day", "hour", "minute", "day_of_week")


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        (datetime(2026, 2, 28, 23, 59, 30), (2026, 2, 28, 23, 59, 6)),
        (datetime(2026, 3, 1, 0, 0), (2026, 3, 1, 0, 0, 7)),
        (datetime(2026, 3, 2, 12, 30), (2026, 3, 2, 12, 30, 1)),
        (datetime(2024, 2, 29, 5, 4, 3), (2024, 2, 29, 5, 4, 4)),
        (datetime(1969, 12, 31, 23, 59, 59, 500_000), (1969, 12, 31, 23, 59, 3)),
        (datetime(2026, 2, 28, 23, 59, 30, tzinfo=UTC), (2026, 2, 28, 23, 59, 6)),
        (
            datetime(2026, 3, 1, 1, 59, 30, tzinfo=timezone(timedelta(hours=2))),
            (2026, 2, 28, 23, 59, 6),
        ),
        (date(2026, 3, 2), (2026, 3, 2, 0, 0, 1)),
    ],
)
def test_parts_of_times_are_in_utc(value: date, parts: tuple[int, ...]) -> None:
    for name, expected in zip(_PARTS, parts, strict=True):
        assert equal(f"{name}(v)", {"v": value}, expected), name


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_parts_of_times_of_an_arrow_column_with_a_zone_are_in_utc(unit: str) -> None:
    noon = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
    column = pa.array([noon], pa.timestamp(unit, tz="Asia/Tokyo"))
    table = pa.table({"type": ["A"], "v": column})
    assert run("A FILTER A[hour(v) = 12 AND day(v) = 1]", table).count == 1


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("v = TIMESTAMP '2026-01-31 09:30:00'", [1]),
        ("v < TIMESTAMP '2026-01-31 09:30:00'", [0]),
        ("v >= TIMESTAMP '2026-01-31 09:30:00'", [1, 2]),
        ("v > TIMESTAMP '2026-01-31 09:30:00.25'", [2]),
        (
            "v BETWEEN TIMESTAMP '2026-01-31 09:29:00' AND TIMESTAMP '2026-01-31 09:30:00'",
            [0, 1],
        ),
        ("v - TIMESTAMP '2026-01-31 09:30:00' = 500 MILLISECONDS", [2]),
        ("v + 1 SECOND > TIMESTAMP '2026-01-31 09:30:00'", [1, 2]),
        ("v - 30 MINUTES < TIMESTAMP '2026-01-31 09:00:00'", [0]),
        ("timestamp '2026-01-31 09:30:00' = v", [1]),
        ('v = TIMESTAMP "2026-01-31 09:30:00"', [1]),
    ],
)
@pytest.mark.parametrize("zone", [None, UTC])
def test_timestamp_literals_are_in_utc(
    predicate: str, expected: list[int], zone: timezone | None
) -> None:
    half_past = datetime(2026, 1, 31, 9, 30, tzinfo=zone)
    values = [
        half_past - timedelta(seconds=1),
        half_past,
        half_past + timedelta(milliseconds=500),
    ]
    assert kept(predicate, values) == expected


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("closed - opened > 1 HOUR", [2]),
        ("closed - opened >= 1 HOUR", [1, 2]),
        ("closed - opened <= 59 MINUTES 59 SECONDS", [0]),
        ("closed > opened + 60 MINUTES", [2]),
        ("closed - opened BETWEEN 1 HOUR AND 2 HOURS", [1]),
        ("opened - closed < -1 HOUR", [2]),
        ("(closed - opened) IS NULL", [3]),
    ],
)
def test_durations_go_with_differences_of_timestamps(predicate: str, expected: list[int]) -> None:
    opened = datetime(2026, 1, 31, 9, 0)
    lasting = [timedelta(minutes=59), timedelta(hours=1), timedelta(days=1)]
    rows = [{"opened": opened, "closed": opened + each} for each in lasting]
    assert kept(predicate, [*rows, {"opened": opened, "closed": None}]) == expected


@pytest.mark.parametrize(
    ("expression", "schema"),
    [
        ("v + 1", {"v": "string"}),
        ("v * 2", {"v": "boolean"}),
        ("length(v)", {"v": "int"}),
        ("abs(v)", {"v": "string"}),
        ("hour(v)", {"v": "string"}),
        ("coalesce(v, 'x')", {"v": "int"}),
        ("v - 1", {"v": "timestamp"}),
    ],
)
def test_operands_of_the_wrong_type_are_type_errors(
    expression: str, schema: dict[str, str]
) -> None:
    with pytest.raises(ensue.CeqlTypeError):
        ensue.compile(f"SELECT * FROM S WHERE A FILTER A[({expression}) IS NULL]", schema=schema)


def test_an_unknown_function_is_a_name_error_with_the_nearest_name() -> None:
    with pytest.raises(ensue.CeqlNameError, match="did you mean 'length'"):
        ensue.compile("SELECT * FROM S WHERE A FILTER A[lenght(v) = 1]")
