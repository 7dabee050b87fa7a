"""Events by which predicates they satisfy: a class number for each, and the bits of each class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_NOT_RENUMBERED = 64
"""Up to so many combinations are numbered without a search for those that occur."""

NUMBERED_BY_TABLE = 1 << 20
"""Up to so many combinations are renumbered by a table, more by sorting."""

_FEW = 4
"""If at most one event in so many satisfies a predicate, only the classes of these are changed."""


@dataclass(frozen=True, slots=True)
class Classes:
    """A class number for each event, and the true predicates of each class as bits."""

    numbers: np.ndarray
    bits: list[int]


def split(classes: Classes, truth: np.ndarray, bit: int) -> Classes:
    """Split classes by one more predicate; where few events satisfy it, only these are looked at.

    The arrays of the classes may be changed.
    """
    rows = np.flatnonzero(truth)
    if _FEW * len(rows) > len(truth):
        return combined(classes, Classes(truth.astype(np.int32), [0, bit]))
    numbers, bits = classes.numbers, classes.bits
    before = numbers[rows]
    present = np.zeros(len(bits), bool)
    present[before] = True
    moved = np.flatnonzero(present)
    after = np.zeros(len(bits), np.int32)
    after[moved] = np.arange(len(bits), len(bits) + len(moved), dtype=np.int32)
    numbers[rows] = after[before]
    bits += [bits[each] | bit for each in moved.tolist()]
    return classes


def combined(left: Classes, right: Classes) -> Classes:
    """Combine two columns of classes into one with a class for every pair that occurs."""
    left, right = _merged(left), _merged(right)
    if len(left.bits) == 1:
        return Classes(right.numbers, [left.bits[0] | bits for bits in right.bits])
    if len(right.bits) == 1:
        return Classes(left.numbers, [right.bits[0] | bits for bits in left.bits])
    width = len(right.bits)
    size = len(left.bits) * width
    pairs = (
        left.numbers.astype(np.int32 if size <= NUMBERED_BY_TABLE else np.int64) * width
        + right.numbers
    )
    if size <= _NOT_RENUMBERED:
        return Classes(pairs, [a | b for a in left.bits for b in right.bits])
    if size <= NUMBERED_BY_TABLE:
        present = np.zeros(size, bool)
        present[pairs] = True
        occurring = np.flatnonzero(present)
        renumbered = (np.cumsum(present) - 1).astype(np.int32)
        numbers = renumbered[pairs]
    else:
        occurring, inverse = np.unique(pairs, return_inverse=True)
        numbers = inverse.astype(np.int32)
    bits = [left.bits[pair // width] | right.bits[pair % width] for pair in occurring.tolist()]
    return Classes(numbers, bits)


def _merged(classes: Classes) -> Classes:
    """Give classes with equal bits one number."""
    distinct = list(dict.fromkeys(classes.bits))
    if len(distinct) == len(classes.bits):
        return classes
    place = {bits: number for number, bits in enumerate(distinct)}
    renumbered = np.array([place[bits] for bits in classes.bits], np.int32)
    return Classes(renumbered[classes.numbers], distinct)
