"""The functions of CEQL: their parameters and result types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ensue.analysis.types import Type

Family = tuple[str, frozenset[Type]]

NUMBER: Family = ("a number", frozenset({Type.INT, Type.DOUBLE, Type.DECIMAL}))
STRING: Family = ("a string", frozenset({Type.STRING}))
SIZED: Family = ("a string or a list", frozenset({Type.STRING, *(t for t in Type if t.is_list)}))
INSTANT: Family = ("a timestamp or a date", frozenset({Type.TIMESTAMP, Type.DATE}))


def _number_kept(types: tuple[Type, ...]) -> Type:
    """Return int for int; other numbers are computed as doubles."""
    return types[0] if types[0] in (Type.INT, Type.UNKNOWN) else Type.DOUBLE


@dataclass(frozen=True, slots=True)
class Function:
    """A function with its parameters and the type of its result."""

    name: str
    parameters: tuple[Family, ...]
    result: Callable[[tuple[Type, ...]], Type]


def _always(kind: Type) -> Callable[[tuple[Type, ...]], Type]:
    return lambda _: kind


FUNCTIONS = {
    each.name: each
    for each in (
        *(Function(name, (NUMBER,), _number_kept) for name in ("abs", "round", "floor", "ceil")),
        Function("sqrt", (NUMBER,), _always(Type.DOUBLE)),
        *(Function(name, (STRING,), _always(Type.STRING)) for name in ("lower", "upper")),
        Function("length", (SIZED,), _always(Type.INT)),
        *(
            Function(name, (STRING, STRING), _always(Type.BOOLEAN))
            for name in ("starts_with", "ends_with", "contains")
        ),
        *(
            Function(name, (INSTANT,), _always(Type.INT))
            for name in ("hour", "minute", "day", "month", "year", "day_of_week")
        ),
    )
}
"""All functions of fixed arity; coalesce takes any number of arguments and is bound apart."""

TRENDS = ("same", "increasing", "decreasing", "nondecreasing", "nonincreasing")
"""Conditions on consecutive events of a variable, inside X[…] only."""

AGGREGATES = ("sum", "count", "min", "max", "avg", "range", "first", "last", "stddev")

TOTALS = ("sum", "avg", "min", "max", "count")
"""The aggregates that may stand beside count(*)."""
