"""Some of the matches of a chunk, by their numbers."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from ensue.errors import BudgetError
from ensue.logic.clauses import Found
from ensue.results.chunk import ResultChunk
from ensue.results.match_set import UNKNOWN, MatchColumns, MatchSet
from ensue.results.totals import TotalRows

_LISTED = 1 << 16
"""Up to so many matches are listed sooner than all are counted."""


@dataclass(frozen=True, slots=True)
class SlicedMatches:
    """The matches from one number to before another, which is there."""

    found: MatchSet
    begin: int
    end: int

    effort = 0

    @property
    def count(self) -> int:
        return self.end - self.begin

    @property
    def least(self) -> int:
        return self.count

    @property
    def nbytes(self) -> int:
        return self.found.nbytes

    def at_least(self, most: int) -> int:
        """Return how many there are."""
        return self.count

    def __bool__(self) -> bool:
        return self.count > 0

    def __iter__(self) -> Iterator[Found]:
        return islice(iter(self.found), self.begin, self.end)

    def columns(self, variables: list[str]) -> Iterator[MatchColumns]:
        """Give them as columns, many at a time."""
        done = 0
        if not self.count:
            return
        for columns in self.found.columns(variables):
            size = len(columns.start)
            begin, end = max(self.begin - done, 0), min(self.end - done, size)
            if begin < end:
                yield columns if (begin, end) == (0, size) else columns.slice(begin, end)
            done += size
            if done >= self.end:
                return


def sliced(chunk: ResultChunk, begin: int, end: int) -> ResultChunk:
    """Choose the matches, or rows of totals, of a chunk from one number to before another."""
    if chunk.schema.totals is None:
        return replace(chunk, matches=SlicedMatches(chunk.matches, begin, end))
    return replace(chunk, totals=_rows(chunk.summed, begin, end))


def _rows(summed: TotalRows, begin: int, end: int) -> TotalRows:
    return TotalRows(
        summed.time[begin:end],
        summed.ended[begin:end],
        {name: column.slice(begin, end - begin) for name, column in summed.partition.items()},
        {name: values[begin:end] for name, values in summed.values.items()},
        None if summed.events is None else summed.events[begin:end],
    )


def counted_up_to(chunk: ResultChunk, most: int) -> int:
    """Return how many matches a chunk has, or `most` where it has more."""
    matches = chunk.matches
    if chunk.schema.totals is None and matches.effort and most <= _LISTED:
        return sum(1 for _ in islice(matches, most))
    if matches.effort == UNKNOWN:
        return sum(1 for _ in islice(matches, most))
    return min(chunk.count, most)


def too_many(number: str, things: str, most: int, done: str) -> BudgetError:
    """Return the error that refuses to list so many."""
    return BudgetError(
        f"there are {number} {things}, and at most {most:,} are {done}: ask for fewer by "
        "matches.head(n), LIMIT, a shorter WITHIN or stricter filters, count them by "
        "SELECT count(*), go over them one by one in a loop, or raise max_rows= (None: no bound)"
    )


def whole_number(number: Any) -> int:
    """Return the number of a match, or how many."""
    try:
        return operator.index(number)
    except TypeError:
        raise TypeError(f"matches are numbered from 0, and {number!r} is no number") from None
