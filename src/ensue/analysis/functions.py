"""The functions of CEQL: their parameters and result types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ensue.analysis.types import Type

Family = tuple[str, frozenset[Type]]

NUMBER: Family = ("a number", frozenset({Type.INT, Type.DOUBLE, Type.DECIMAL}))
LENGTH: Family = ("a number or a duration", frozenset({*NUMBER[1], Type.DURATION}))
STRING: Family = ("a string", frozenset({Type.STRING}))
SIZED: Family = ("a string or a list", frozenset({Type.STRING, *(t for t in Type if t.is_list)}))
INTEGER: Family = ("a whole number", frozenset({Type.INT}))
INSTANT: Family = ("a timestamp or a date", frozenset({Type.TIMESTAMP, Type.DATE}))


def _number_kept(types: tuple[Type, ...]) -> Type:
    """Return int for int, a duration for one; other numbers are computed as doubles."""
    return types[0] if types[0] in (Type.INT, Type.DURATION, Type.UNKNOWN) else Type.DOUBLE


@dataclass(frozen=True, slots=True)
class Function:
    """A function with its parameters and the type of its result."""

    name: str
    parameters: tuple[Family, ...]
    result: Callable[[tuple[Type, ...]], Type]
    optional: int = 0
    """How many of the last parameters may be left out."""
    constants: frozenset[int] = frozenset()
    """Which arguments must be constants, counted from 0."""


def _always(kind: Type) -> Callable[[tuple[Type, ...]], Type]:
    return lambda _: kind


FUNCTIONS = {
    each.name: each
    for each in (
        Function("abs", (LENGTH,), _number_kept),
        *(Function(name, (NUMBER,), _number_kept) for name in ("round", "floor", "ceil", "sign")),
        *(Function(name, (NUMBER,), _always(Type.DOUBLE)) for name in ("sqrt", "ln", "exp")),
        Function("power", (NUMBER, NUMBER), _always(Type.DOUBLE)),
        Function("geo_distance", (NUMBER,) * 4, _always(Type.DOUBLE)),
        *(Function(name, (STRING,), _always(Type.STRING)) for name in ("lower", "upper", "trim")),
        Function("substring", (STRING, INTEGER, INTEGER), _always(Type.STRING), optional=1),
        Function("replace", (STRING,) * 3, _always(Type.STRING)),
        Function("split_part", (STRING, STRING, INTEGER), _always(Type.STRING)),
        Function(
            "regexp_extract",
            (STRING, STRING, INTEGER),
            _always(Type.STRING),
            optional=1,
            constants=frozenset({1, 2}),
        ),
        Function("cidr_match", (STRING, STRING), _always(Type.BOOLEAN), constants=frozenset({1})),
        Function("length", (SIZED,), _always(Type.INT)),
        *(
            Function(name, (STRING, STRING), _always(Type.BOOLEAN))
            for name in ("starts_with", "ends_with", "contains")
        ),
        *(
            Function(name, (INSTANT,), _always(Type.INT))
            for name in ("hour", "minute", "day", "month", "year", "day_of_week")
        ),
        Function(
            "date_diff", (STRING, INSTANT, INSTANT), _always(Type.INT), constants=frozenset({0})
        ),
    )
}
"""The functions with a list of parameters."""

CHOICES = ("coalesce", "greatest", "least")
"""Functions of any number of values of one type, which they choose from."""

KNOWN = (*FUNCTIONS, "concat", *CHOICES)
"""The names of all functions."""

LENIENT = frozenset({"and", "or", "is_null", "case", "call", *CHOICES})
"""Operations that may have a value though an argument is NULL."""

TRENDS = ("same", "increasing", "decreasing", "nondecreasing", "nonincreasing")
"""Conditions on consecutive events of a variable, inside X[…] only."""

AGGREGATES = (
    *("sum", "count", "min", "max", "avg", "range", "first", "last", "stddev"),
    *("product", "median", "percentile", "list"),
)

COUNT_DISTINCT = "count distinct"
"""The function of count(DISTINCT …)."""

TOTALS = ("sum", "avg", "min", "max", "count")
"""The aggregates that may stand beside count(*)."""
