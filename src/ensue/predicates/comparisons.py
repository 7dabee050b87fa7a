"""Many comparisons of one column of numbers with constants, by one search for each value.

Between two neighbours of the constants all values satisfy the same comparisons. So it takes one
binary search to find the class of an event, however many rules compare the column.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate
from operator import or_
from typing import NamedTuple

import numpy as np

from ensue.analysis.expressions import Attribute, Constant, Expression, Operation
from ensue.analysis.types import Type
from ensue.predicates.classes import Classes
from ensue.predicates.three_valued import COMPARISONS, MIRRORED
from ensue.predicates.vectors import Numbers, Vector

_WORTH_SEARCHING = 8
"""Fewer comparisons of a column are made one by one."""

_INT64 = 1 << 63
_LARGEST_EXACT_INTEGER = 1 << 53

Path = tuple[str, ...]


class Comparison(NamedTuple):
    """A predicate, with its number: a column is compared with a constant."""

    number: int
    sign: str
    constant: int | float


class Compared(NamedTuple):
    """Comparisons of one column whose values have one type."""

    path: Path
    kind: type
    asked: list[Comparison]

    def classes(self, vector: Vector) -> Classes | None:
        """Return the class of every value; None where the column has another type."""
        if not isinstance(vector, Numbers) or vector.values.dtype != self.kind:
            return None
        given: np.ndarray = np.array([each.constant for each in self.asked], self.kind)
        constants = np.unique(given)
        at = np.searchsorted(constants, vector.values)
        equal = constants[np.minimum(at, len(constants) - 1)] == vector.values
        numbers = (2 * at + equal).astype(np.int32)
        bits = self._bits(np.searchsorted(constants, given).tolist(), 2 * len(constants) + 1)
        if vector.valid is not None:
            numbers[~vector.valid] = len(bits)
            bits.append(0)
        return Classes(numbers, bits)

    def _bits(self, places: list[int], size: int) -> list[int]:
        """Return what holds in each class: that of constant i is 2 i + 1, even ones lie between."""
        below, above, only, never = ([0] * size for _ in range(4))
        others = 0
        for place, each in zip(places, self.asked, strict=True):
            bit, own = 1 << each.number, 2 * place + 1
            match each.sign:
                case "=":
                    only[own] |= bit
                case "!=":
                    others, never[own] = others | bit, never[own] | bit
                case "<" | "<=":
                    below[own if each.sign == "<=" else own - 1] |= bit
                case _:
                    above[own if each.sign == ">=" else own + 1] |= bit
        up_to = list(accumulate(reversed(below), or_))[::-1]
        parts = zip(up_to, accumulate(above, or_), only, never, strict=True)
        return [low | high | one | others & ~none for low, high, one, none in parts]


def searched(predicates: Iterable[tuple[int, Expression]]) -> list[Compared]:
    """Return the comparisons of columns that are compared often."""
    found: dict[tuple[Path, type], list[Comparison]] = defaultdict(list)
    for number, predicate in predicates:
        plain = _plain(predicate)
        if plain is None:
            continue
        attribute, sign, constant = plain
        kind: type = np.int64 if attribute.type is Type.INT else np.float64
        found[attribute.path, kind].append(Comparison(number, sign, constant))
    return [
        Compared(path, kind, asked)
        for (path, kind), asked in found.items()
        if len(asked) >= _WORTH_SEARCHING
    ]


def _plain(predicate: Expression) -> tuple[Attribute, str, int | float] | None:
    """Return a comparison of a number with a constant that its type holds exactly."""
    match predicate:
        case Operation(name=sign, arguments=(Attribute() as attribute, Constant(value=value))):
            pass
        case Operation(name=other, arguments=(Constant(value=value), Attribute() as attribute)):
            sign = MIRRORED.get(other, other)
        case _:
            return None
    if sign not in COMPARISONS or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if attribute.type is Type.INT and isinstance(value, int) and -_INT64 <= value < _INT64:
        return attribute, sign, value
    exact = isinstance(value, float) or abs(value) <= _LARGEST_EXACT_INTEGER
    if attribute.type is Type.DOUBLE and exact and np.isfinite(value):
        return attribute, sign, float(value)
    return None
