"""Compiling all kernels at once: every kind of query runs on a few events."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import NamedTuple

from ensue.engine.query import Query
from ensue.engine.query import compile as compile_query
from ensue.errors import CeqlWarning

_EVENTS = [
    {"type": kind, "v": value, "w": value + 0.5, "k": value % 2, "t": time}
    for time, (kind, value) in enumerate(
        zip("ABABBACBAB", (1, 1, 2, 2, 1, 3, 3, 3, 2, 3), strict=True)
    )
]


class Step(NamedTuple):
    """A kind of query."""

    name: str
    text: str


STEPS = (
    Step("patterns", "SELECT * FROM S WHERE A AS a ; B+ AS b WITHIN 9 EVENTS"),
    Step("partitions", "SELECT * FROM S WHERE A AS a ; B AS b PARTITION BY [k] WITHIN 4 EVENTS"),
    Step("FIRST", "SELECT FIRST * FROM S WHERE A AS a ; B+ AS b WITHIN 9 EVENTS"),
    Step("NEXT", "SELECT NEXT * FROM S WHERE A AS a ; B+ AS b WITHIN 9 EVENTS"),
    Step("LAST", "SELECT LAST * FROM S WHERE A AS a ; B+ AS b WITHIN 9 EVENTS"),
    Step(
        "aggregates",
        "SELECT * FROM S WHERE ((A AS a ; B+ AS b) AGGREGATE Y[s = sum(b.v), d = stddev(b.w)]) "
        "FILTER Y[s < 6] WITHIN 9 EVENTS",
    ),
    Step(
        "count(*)",
        "SELECT count(*), sum(b.v) AS s FROM S WHERE A AS a ; B AS b PARTITION BY [k] WITHIN 4 [t]",
    ),
    Step("equalities", "SELECT * FROM S WHERE A AS a ; B AS b FILTER a.v = b.v WITHIN 9 EVENTS"),
    Step(
        "equalities over steps",
        "SELECT * FROM S WHERE A AS a ; B ; C AS c FILTER a.v = c.v WITHIN 9 EVENTS",
    ),
    Step("comparisons", "SELECT * FROM S WHERE A AS a ; B AS b FILTER a.v < b.v WITHIN 9 EVENTS"),
    Step(
        "count(*) with conditions",
        "SELECT count(*), sum(b.v) AS s FROM S WHERE A AS a ; B AS b FILTER a.v = b.v "
        "WITHIN 9 EVENTS",
    ),
    Step(
        "absence",
        "SELECT * FROM S WHERE (A AS a ; C AS c) UNLESS ((B AS b ; A AS d) FILTER b.v = d.v) "
        "PARTITION BY [k] WITHIN 9 EVENTS",
    ),
    Step("deadlines", "SELECT * FROM S WHERE A NOT FOLLOWED BY B WITHIN 1 [t] PARTITION BY [k]"),
)


def steps() -> Iterator[str]:
    """Compile everything; yield the name of each part before it is compiled."""
    for step in STEPS:
        yield step.name
        take(step)
    yield "very many partitions"
    _number_keys()


def _number_keys() -> None:
    """Number a key of each kind, as is done where there are very many."""
    import numpy as np

    from ensue.stream.key_table import KeyTable, askable, plain_array

    for values in ([1], ["a"]):
        asked = askable(plain_array(values))
        assert asked is not None
        table = KeyTable(len(asked.offsets) > 0)
        table.put(asked, np.zeros(1, np.int64), np.zeros(1, np.int64))
        assert table.find(asked)[0] == 0


def take(step: Step) -> None:
    """Compile what a kind of query needs, or load it."""
    # Warnings about these queries do not concern the caller.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CeqlWarning)
        _run(compile_query(step.text))


def _run(query: Query) -> None:
    """Run a query as a whole and event by event."""
    found = query.run(_EVENTS)
    assert found.count >= 0
    found.to_arrow()
    session = query.open()
    for event in _EVENTS:
        session.push([event])
    session.snapshot()


def warm() -> None:
    """Compile all kernels now, or see that they are compiled, and not in the first queries.

    They are kept on disk (in ~/.cache/ensue, or where ENSUE_CACHE_DIR says), so this is worth while
    once for each version of Ensue on a machine: when an image is built, or before a service starts.
    """
    for _ in steps():
        pass
