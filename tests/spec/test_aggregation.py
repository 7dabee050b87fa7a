"""Section 6: AGGREGATE and computed events, where the ready-made cases stop."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import ensue
from tests.spec.helpers import found, run, spans, stream, supports


def column(values: list[Any], kind: pa.DataType | None = None) -> pa.Table:
    """Make a stream of A's with these values of v, of one Arrow type."""
    return pa.table({"type": ["A"] * len(values), "v": pa.array(values, kind)})


def value_of(function: str, values: list[Any], kind: pa.DataType | None = None) -> Any:
    """Aggregate all the values in the one match that binds them all."""
    pattern = f"A{{{len(values)}}} AS x AGGREGATE Y[r = {function}(x.v)]"
    (match,) = run(pattern, column(values, kind))
    (computed,) = match.computed("Y")
    return computed["r"]


@pytest.mark.parametrize(
    ("function", "values", "expected"),
    [
        ("sum", [3, 1, 2], 6),
        ("count", [3, 1, 2], 3),
        ("min", [3, 1, 2], 1),
        ("max", [3, 1, 2], 3),
        ("avg", [3, 1, 2], 2.0),
        ("avg", [1, 2], 1.5),
        ("range", [3, 1, 2], 2),
        ("first", [3, 1, 2], 3),
        ("last", [3, 1, 2], 2),
        ("stddev", [3, 1, 2], 1.0),
        ("stddev", [2, 4, 4, 4, 5, 5, 7, 9], math.sqrt(32 / 7)),
        ("SUM", [1, 2], 3),
        # NULLs are ignored
        ("sum", [None, 4, None, 2], 6),
        ("count", [None, 4, None, 2], 2),
        ("min", [None, 4, None, 2], 2),
        ("max", [None, 4, None, 2], 4),
        ("avg", [None, 4, None, 2], 3.0),
        ("range", [None, 4, None, 2], 2),
        ("first", [None, 4, None, 2], 4),
        ("last", [4, None, 2, None], 2),
        ("stddev", [None, 4, None, 2], math.sqrt(2)),
        # one value
        ("range", [5], 0),
        ("avg", [5], 5.0),
        ("stddev", [5], None),
        ("stddev", [5, None], None),
        # those that are no folds
        ("product", [3, None, 4], 12),
        ("product", [0.5, 4.0], 2.0),
        ("product", [2**62, 2, 0], 0),
        ("product", [2**62, 2], None),
        ("product", [None], None),
        ("median", [3, 1, 2], 2.0),
        ("median", [4, 1, None, 2, 3], 2.5),
        ("median", [None], None),
        ("list", [3, None, 1, 3], [3, 1, 3]),
        ("list", [None], None),
        # negative ones, doubles, and NaN, which is NULL
        ("range", [-2, 3], 5),
        ("max", [-2, -3], -2),
        ("sum", [0.5, 0.25], 0.75),
        ("sum", [math.nan, 2.0], 2.0),
        ("count", [math.nan, 2.0], 1),
        ("first", [math.nan, 2.0], 2.0),
        # whole numbers are exact
        ("sum", [2**53, 1], 2**53 + 1),
        ("sum", [2**63 - 1, 0], 2**63 - 1),
        ("sum", [2**63 - 1, 1], None),
    ],
)
def test_aggregates_of_numbers(function: str, values: list[Any], expected: float | None) -> None:
    value = value_of(function, values)
    if isinstance(expected, float):
        assert value == pytest.approx(expected, rel=1e-15)
    else:
        assert value == expected


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("sum", 0),
        ("count", 0),
        ("min", None),
        ("max", None),
        ("avg", None),
        ("range", None),
        ("first", None),
        ("last", None),
        ("stddev", None),
    ],
)
def test_aggregates_of_nothing(function: str, expected: int | None) -> None:
    assert value_of(function, [None, None], pa.float64()) == expected
    pattern = f"(A AS x)? ; B AGGREGATE Y[r = {function}(x.v)]"
    (match,) = run(pattern, [{"type": "B", "v": 1}])
    assert match.computed("Y") == [{"r": expected}]


@pytest.mark.parametrize(
    ("function", "expected"),
    [("count", 2), ("min", "a"), ("max", "b"), ("first", "b"), ("last", "a")],
)
def test_aggregates_of_strings(function: str, expected: object) -> None:
    assert value_of(function, ["b", None, "a"]) == expected


@pytest.mark.parametrize("function", ["sum", "avg", "range", "stddev"])
def test_a_string_has_no_sum(function: str) -> None:
    text = f"SELECT * FROM S WHERE A AGGREGATE Y[r = {function}(A.v)]"
    with pytest.raises(ensue.CeqlTypeError):
        ensue.compile(text, {"v": "string"})
    with pytest.raises(ensue.CeqlTypeError):
        ensue.run(text, column(["a"]))


@pytest.mark.parametrize(
    "values",
    [
        [datetime(2026, 1, 31, 9), datetime(2026, 1, 31, 8)],
        [date(2026, 1, 31), date(2026, 1, 30)],
    ],
    ids=["timestamps", "dates"],
)
def test_aggregates_of_times_are_times(values: list[Any]) -> None:
    assert value_of("min", values) == values[1]
    assert value_of("max", values) == values[0]
    assert value_of("first", values) == values[0]
    assert value_of("last", values) == values[1]
    assert value_of("count", values) == 2


def test_a_computed_time_is_a_time_in_the_table_too() -> None:
    nine = datetime(2026, 1, 31, 9)
    events = column([nine, nine + timedelta(hours=1)])
    table = run("A{2} AS x", events, select="NONE, max(x.v) AS latest").to_arrow()
    assert table.column("latest").to_pylist() == [nine + timedelta(hours=1)]


def test_decimals_are_summed_as_doubles() -> None:
    values = [Decimal("0.10"), Decimal("0.20")]
    assert value_of("sum", values) == 0.1 + 0.2
    assert value_of("avg", values) == (0.1 + 0.2) / 2


@pytest.mark.parametrize("function", ["sum", "avg", "range", "stddev", "min", "max", "last"])
def test_infinity_among_the_events_does_not_stop_the_stream(function: str) -> None:
    value_of(function, [1.0, math.inf])
    value_of(function, [math.inf, -math.inf])


def test_sums_run_in_the_order_of_positions() -> None:
    assert value_of("sum", [1e16, -1e16, 1.0]) == 1.0
    assert value_of("sum", [1e16, 1.0, -1e16]) == 0.0


def test_count_of_a_variable_counts_events_and_of_an_attribute_those_that_have_it() -> None:
    pattern = "A{3} AS x AGGREGATE Y[events = count(x), values = count(x.v)]"
    (match,) = run(pattern, column([1, None, 2]))
    assert match.computed("Y") == [{"events": 3, "values": 2}]


def test_several_columns_and_variables_in_one_computed_event() -> None:
    pattern = "A AS x ; B{2} AS y AGGREGATE Y[a = max(x.v), b = sum(y.v), n = count(B)]"
    (match,) = run(pattern, stream("A5 B1 B2"))
    assert match.computed("Y") == [{"a": 5, "b": 3, "n": 2}]


def test_computed_events_are_filtered_by_their_columns() -> None:
    pattern = "A+ AS x AGGREGATE Y[s = sum(x.v), n = count(x)] FILTER Y[s > 3 AND n < 3]"
    assert supports(pattern, stream("A1 A2 A3")) == {(0, 2), (1, 2)}
    pattern = "A+ AS x AGGREGATE Y[s = sum(x.v)] FILTER Y[s BETWEEN 3 AND 4] AND x[v < 3]"
    assert supports(pattern, stream("A1 A2 A3")) == {(0, 1)}


def test_a_filter_on_a_null_aggregate_does_not_hold() -> None:
    events = [{"type": "A", "v": None}, {"type": "B", "v": 1}]
    assert supports("A AGGREGATE Y[m = max(A.v)] FILTER Y[m > 0]", events) == set()
    assert supports("A AGGREGATE Y[m = max(A.v)] FILTER Y[m <= 0]", events) == set()
    assert supports("A AGGREGATE Y[m = max(A.v)] FILTER Y[m IS NULL]", events) == {(0,)}


def test_computed_events_are_aggregated_again() -> None:
    pattern = """
        ((A ; B AS y) AGGREGATE Y[s = sum(y.v)]){2}
        AGGREGATE Z[t = sum(Y.s), n = count(Y), top = max(Y.s), f = first(Y.s), l = last(Y.s)]
    """
    (match,) = run(pattern, stream("A B3 A B4"))
    assert match.computed("Z") == [{"t": 7, "n": 2, "top": 4, "f": 3, "l": 4}]
    assert match.computed("Y") == [{"s": 3}, {"s": 4}]


def test_two_computed_events_are_two_even_when_their_values_are_equal() -> None:
    pattern = """
        ((A ; B AS y) AGGREGATE Y[s = sum(y.v)]){2} AGGREGATE Z[t = sum(Y.s), n = count(Y)]
    """
    (match,) = run(pattern, stream("A B3 A B3"))
    assert match.computed("Z") == [{"t": 6, "n": 2}]


def test_an_aggregate_is_identified_by_its_place_in_the_text() -> None:
    twice = "(A AGGREGATE Y[n = count(A)]) OR (A AGGREGATE Y[n = count(A)])"
    matches = run(twice, stream("A"))
    assert matches.count == 2
    assert len({m.id for m in matches}) == 2


def test_rewritings_make_no_new_computed_events() -> None:
    # FILTER f OR g is two filtered copies of one and the same AGGREGATE
    pattern = "A AGGREGATE Y[n = count(A)] FILTER A[v > 0] OR A[v < 5]"
    assert run(pattern, stream("A1")).count == 1
    # so are the rounds of a repetition that can be counted in two ways
    pattern = "(A AGGREGATE Y[n = count(A)]){1,2} AGGREGATE Z[k = count(Y)]"
    assert sorted(m.computed("Z")[0]["k"] for m in run(pattern, stream("A A"))) == [1, 1, 2]


def test_an_aggregate_under_a_sequence_keeps_its_own_scope() -> None:
    pattern = "(A+ AS x AGGREGATE Y[s = sum(x.v)]) ; (A AS x)"
    matches = run(pattern, stream("A1 A2"))
    (match,) = matches
    assert match.bindings["x"] == [0, 1]
    assert match.computed("Y") == [{"s": 1}]


def test_projection_keeps_or_forgets_computed_events() -> None:
    kept = "(A AS x ; B) AGGREGATE Y[s = sum(x.v)] PROJECT [Y]"
    (match,) = run(kept, stream("A5 B"))
    assert (match.start, match.end, match.bindings) == (0, 1, {})
    assert match.computed("Y") == [{"s": 5}]
    forgotten = "(A ; B AS y ; C) AGGREGATE Y[s = sum(y.v)] PROJECT [A]"
    assert found(forgotten, stream("A B1 B2 C")) == [(0, 3, {"A": [0]})]


def test_complex_events_that_differ_only_in_computed_values_are_different() -> None:
    pattern = "(A ; B AS y ; C) AGGREGATE Y[s = sum(y.v)] PROJECT [A, Y]"
    assert run(pattern, stream("A B1 B2 C")).count == 2
    assert run(pattern, stream("A B1 B1 C")).count == 1


def test_computed_events_do_not_count_in_a_support() -> None:
    pattern = "STRICT((A ; B) AGGREGATE Y[n = count(A)])"
    assert spans(pattern, stream("A X B A B")) == [(3, 4)]
    strategies = "((A ; B AS y ; C) AGGREGATE Y[s = sum(y.v)]) PROJECT [A, Y]"
    assert run(f"MAX({strategies})", stream("A B1 B2 C")).count == 2


def test_as_binds_stream_events_only() -> None:
    pattern = "(A AGGREGATE Y[n = count(A)]) AS z"
    (match,) = run(pattern, stream("A"))
    assert match.bindings == {"A": [0], "z": [0]}


def test_computed_variables_can_be_selected() -> None:
    matches = run("A{2} AS x AGGREGATE Y[s = sum(x.v)]", stream("A1 A2"), select="Y")
    (match,) = matches
    assert match.bindings == {}
    assert match.computed("Y") == [{"s": 3}]


@pytest.mark.parametrize(
    ("pattern", "kind"),
    [
        ("A AGGREGATE Y[s = sum(z.v)]", ensue.CeqlNameError),
        ("A AGGREGATE Y[s = sum(A.w)]", ensue.CeqlNameError),
        ("A AGGREGATE Y[s = total(A.v)]", ensue.CeqlNameError),
        ("A AGGREGATE Y[s = sum(A)]", ensue.CeqlError),
        ("A AGGREGATE Y[s = sum(A.v), s = max(A.v)]", ensue.CeqlError),
        ("A AGGREGATE Y[s = sum(A.v)] FILTER Y[t > 1]", ensue.CeqlNameError),
        ("A FILTER sum(A.v) > 3", ensue.CeqlError),
        ("A AGGREGATE Y[s = max(A.name)] FILTER Y[s > 3]", ensue.CeqlTypeError),
    ],
)
def test_wrong_aggregates_are_errors(pattern: str, kind: type[ensue.CeqlError]) -> None:
    with pytest.raises(kind):
        ensue.compile(f"SELECT * FROM S WHERE {pattern}", {"v": "int", "name": "string"})
