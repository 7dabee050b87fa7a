"""What a micro-batch counts, and how the counts reach the progress of a streaming query.

Workers count; Spark adds up over the buckets of a pass and shows the sums as observed metrics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

COUNTS = "ensue_counts"
"""The column of numbers that a processor gives with the first of its rows."""


class Counts(NamedTuple):
    """The numbers of one bucket in one micro-batch."""

    events: int
    """Events that were on time and that may matter to a query."""
    late: int
    nulls: int
    """Values that arithmetic did not have, as far as workers evaluate it."""
    state: int
    """Bytes in the state store."""
    matches: tuple[int, ...]
    """Rows of matches, query by query."""

    def row(self) -> list[int]:
        """Return all numbers in the order that `observed` takes them."""
        return [*self[:-1], *self.matches]


def observed(queries: Sequence[str] | None) -> list[Column]:
    """Return the metrics of a pass: sums of all counts, and `matches` of all queries.

    With names of queries there is also one `matches_<name>` for each.
    """
    fixed = Counts._fields[:-1]
    every = [_sum(number).alias(name) for number, name in enumerate(fixed)]
    own = [_sum(len(fixed) + number) for number in range(len(queries or [""]))]
    every.append(sum(own[1:], own[0]).alias("matches"))
    named = zip(queries or (), own, strict=False)
    return every + [each.alias(f"matches_{name}") for name, each in named]


def _sum(number: int) -> Column:
    return F.coalesce(F.sum(F.get(COUNTS, F.lit(number))), F.lit(0))


def metric_names(kinds: Sequence[str]) -> list[str]:
    """Name the metrics of each pass by how its events meet; a name must not come twice.

    >>> metric_names(["keys", "one", "keys"])
    ['ensue-keys', 'ensue-one', 'ensue-keys-2']
    """
    seen = Counter[str]()
    names = []
    for kind in kinds:
        seen[kind] += 1
        names.append(f"ensue-{kind}" if seen[kind] == 1 else f"ensue-{kind}-{seen[kind]}")
    return names
