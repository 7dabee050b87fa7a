"""Section 4: parameters, given to compile as params=."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

import ensue
from tests.spec.helpers import kept, run, stream, supports, valued


@pytest.mark.parametrize(
    ("predicate", "given", "values", "expected"),
    [
        ("v > $p", 2, [1, 2, 3], [2]),
        ("v > $p", 1.5, [1, 2, 3], [1, 2]),
        ("v = $p", "b", ["a", "b"], [1]),
        ("v = $p", True, [True, False], [0]),
        ("v = $p", "O'Brien' OR TRUE --", ["O'Brien' OR TRUE --", "x"], [0]),
        ("v = $p", Decimal("0.1"), [Decimal("0.1"), Decimal("0.2")], [0]),
        ("v >= $p", datetime(2026, 1, 1), [datetime(2025, 12, 31), datetime(2026, 1, 1)], [1]),
        ("v = $p", date(2026, 1, 1), [date(2026, 1, 1), date(2026, 1, 2)], [0]),
        ("v = $p", None, [1, None], []),
        ("v + $p = 3", 1, [1, 2], [1]),
        ("v BETWEEN $p AND $p + 1", 2, [1, 2, 3, 4], [1, 2]),
        ("v LIKE $p", "a%", ["ab", "ba"], [0]),
        ("v RLIKE $p", "^b", ["ab", "ba"], [1]),
        ("coalesce(v, $p) = 7", 7, [None, 1], [0]),
        ("v IN ($p, 9)", 1, [1, 9, 2], [0, 1]),
        ("v IN $p", [1, 3], [1, 2, 3, None], [0, 2]),
        ("v IN $p", (1, 3), [1, 2, 3], [0, 2]),
        ("v IN $p", {"a"}, ["a", "b"], [0]),
        ("v NOT IN $p", [1, 3], [1, 2, 3, None], [1]),
        ("v IN $p", [], [1, None], []),
        ("v NOT IN $p", [1, None], [1, 2], []),
        ("v IN $p", [1.0, 2.5], [1, 2], [0]),
        ("v IN $p", [date(2026, 1, 1)], [date(2026, 1, 1), date(2026, 1, 2)], [0]),
    ],
)
def test_a_parameter_stands_for_its_value(
    predicate: str, given: object, values: list[Any], expected: list[int]
) -> None:
    assert kept(predicate, values, params={"p": given}) == expected


def test_a_timedelta_is_a_duration() -> None:
    nine = datetime(2026, 1, 1, 9)
    rows = [{"a": nine, "b": nine + timedelta(minutes=late)} for late in (4, 5, 6)]
    assert kept("b - a > $gap", rows, params={"gap": timedelta(minutes=5)}) == [2]


def test_a_list_may_hold_a_hundred_thousand_values() -> None:
    names = [f"n{i}" for i in range(100_000)]
    values = ["n0", "n99999", "n100000", None]
    assert kept("v IN $names", values, params={"names": names}) == [0, 1]
    assert kept("v NOT IN $names", values, params={"names": names}) == [2]
    numbers = list(range(0, 200_000, 2))
    assert kept("v IN $n", [0, 1, 199_998, 200_000], params={"n": numbers}) == [0, 2]


def test_parameters_stand_in_conditions_between_events() -> None:
    pattern = "A AS a ; B AS b FILTER b.v > $factor * a.v"
    assert supports(pattern, stream("A2 B4 B5"), params={"factor": 2}) == {(0, 2)}


def test_several_parameters_and_one_twice() -> None:
    params = {"low": 2, "high": 3}
    assert kept("v >= $low AND v <= $high AND v != $low", [1, 2, 3, 4], params=params) == [2]


def test_parameters_are_those_of_the_compiled_query() -> None:
    text = "SELECT * FROM S WHERE A FILTER A[v > $low]"
    two, five = (ensue.compile(text, params={"low": low}) for low in (2, 5))
    events = valued([3, 6])
    assert two.run(events).count == 2
    assert five.run(events).count == 1


def test_a_missing_parameter_is_a_name_error_at_its_place() -> None:
    with pytest.raises(ensue.CeqlNameError, match=r"\$low") as told:
        ensue.compile("SELECT * FROM S\nWHERE A FILTER A[v > $low]", params={"high": 1})
    assert (told.value.line, told.value.column) == (2, 22)


@pytest.mark.parametrize(
    ("predicate", "given"), [("v = $p", [1, 2]), ("v IN $p", 1), ("v = $p", object())]
)
def test_a_list_for_a_value_or_a_value_for_a_list_is_an_error(
    predicate: str, given: object
) -> None:
    with pytest.raises(ensue.CeqlError):
        ensue.compile(f"SELECT * FROM S WHERE A FILTER A[{predicate}]", params={"p": given})


@pytest.mark.parametrize(("predicate", "given"), [("v = $p", "x"), ("v IN $p", [1, "x"])])
def test_a_parameter_of_the_wrong_type_is_a_type_error(predicate: str, given: object) -> None:
    with pytest.raises(ensue.CeqlTypeError):
        run(f"A FILTER A[{predicate}]", valued([1, 2]), params={"p": given})
