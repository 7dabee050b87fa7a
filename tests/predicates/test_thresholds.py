"""Thresholds against the conditions themselves, on doubles of all sizes."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
from hypothesis import assume, given
from hypothesis import strategies as st

from ensue.analysis.expressions import Attribute, Constant, Expression, Operation
from ensue.analysis.types import Type
from ensue.automata.registers import NULL
from ensue.automata.thresholds import ranged
from ensue.predicates.evaluate import Batch
from ensue.predicates.sortable import to_sortable
from ensue.predicates.thresholds import thresholds
from ensue.predicates.vectors import UnsupportedError

A, B = (Attribute((name,), Type.DOUBLE, name) for name in "ab")
MOST = sys.float_info.max
ODD = [0.0, 0.1, 0.30000000000000004, -0.1, 5e-324, 1e-300, 1e16, 2.0**400, -1e300, MOST, -MOST]


def of(name: str, *arguments: Expression) -> Operation:
    return Operation(name, arguments, Type.DOUBLE)


THREE = Constant(3.0, Type.DOUBLE)
SHAPES = (
    of("-", B, A),
    of("+", B, A),
    of("*", B, A),
    of("/", B, A),
    of("/", of("-", B, A), A),
    of("negative", of("-", A, B)),
    of("*", of("-", B, A), THREE),
)
_doubles = st.sampled_from(ODD) | st.floats(allow_nan=False, allow_infinity=False)


def on_columns(expression: Expression) -> Expression:
    match expression:
        case Attribute():
            return replace(expression, variable=None)
        case Operation(arguments=arguments):
            return replace(expression, arguments=tuple(map(on_columns, arguments)))
    return expression


def batch(**columns: list[float]) -> Batch:
    table = pa.table(columns)
    return Batch(table, pa.chunked_array([["A"] * len(table)]))


@given(
    st.sampled_from(SHAPES),
    st.sampled_from(["<", "<=", ">", ">="]),
    st.sampled_from(ODD[:6]),
    _doubles,
    st.lists(_doubles, min_size=1, max_size=30),
)
def test_a_range_is_the_condition(
    shape: Operation, sign: str, limit: float, x: float, ys: list[float]
) -> None:
    condition = Operation(sign, (shape, Constant(limit, Type.DOUBLE)), Type.BOOLEAN)
    found = ranged(condition)
    assert found is not None
    try:
        ends = [(end.side, thresholds(batch(**{found.x: [x]}), end)[0]) for end in found.ends]
    except UnsupportedError:
        ends = None
    assume(ends is not None)
    assert ends is not None
    if found.ends[0].scales:
        ys = [y for y in ys if abs(y) < 2.0**500]
    both = batch(**{found.x: [x] * len(ys), found.y: ys})
    codes = to_sortable(np.array(ys, np.float64) + 0.0)
    inside = np.ones(len(ys), bool)
    for side, end in ends:
        inside &= (codes >= end if side == "low" else codes <= end) & (end != NULL)
    assert (inside == both.holds(on_columns(condition))).all()
