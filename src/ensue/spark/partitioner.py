"""Numbers that Spark's hash spreads evenly: it puts 0, 1, 2 and 3 into two of four partitions."""

from __future__ import annotations

from functools import cache

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

_WORD = (1 << 32) - 1
_SEED = 42


@cache
def labels(count: int) -> tuple[int, ...]:
    """Return as many numbers as there are partitions, each of which goes to one of its own.

    Where there are fewer partitions, all get alike many if that number is a divisor.

    >>> labels(4)
    (12, 6, 2, 0)
    """
    found: dict[int, int] = {}
    number = 0
    while len(found) < count:
        found.setdefault(_hashed(number) % count, number)
        number += 1
    return tuple(found[partition] for partition in range(count))


def label(number: Column, count: int) -> Column:
    """Return the label of a number from 0 on."""
    every = F.array(*(F.lit(each) for each in labels(count)))
    return F.get(every, F.pmod(number, F.lit(count)))


def _hashed(number: int) -> int:
    """Hash a number as Spark does to choose a partition: Murmur3 of one 32-bit word."""
    word = _turned(number * 0xCC9E2D51, 15) * 0x1B873593
    mixed = (_turned(_SEED ^ word & _WORD, 13) * 5 + 0xE6546B64) & _WORD
    mixed ^= 4
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & _WORD
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & _WORD
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed


def _turned(word: int, by: int) -> int:
    word &= _WORD
    return (word << by | word >> 32 - by) & _WORD
