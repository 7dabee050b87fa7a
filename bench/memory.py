"""Memory: for each event in the window, and over a stream that never ends."""

from __future__ import annotations

from typing import Any

from bench.lab import Lab
from bench.processes import FailedError
from bench.queries import WINDOW, sequence, unfiltered
from bench.sequences import MILLION
from bench.streams import BUSY, Source
from bench.tables import Column, Group, Row

_LONG = 40 * WINDOW


def state_size(query: str, path: str) -> dict[str, Any]:
    """Return how large the evaluator's arrays are after a run, and how much of them is in use."""
    import ensue
    from bench.streams import read
    from ensue.kernels.layout import NODES, STARTS
    from ensue.kernels.match.driver import MatchDriver

    made: list[Any] = []
    initialise: Any = MatchDriver.__post_init__

    def remember(evaluator: Any) -> None:
        initialise(evaluator)
        made.append(evaluator)

    MatchDriver.__post_init__ = remember  # type: ignore[assignment, method-assign]
    ensue.compile(query).run(read(path), threads=1)
    (evaluator,) = made
    arrays = [*evaluator.graph, *evaluator.configurations.slots]
    used = evaluator.counters
    of_nodes = [each for each in evaluator.graph if len(each) == len(evaluator.graph.label)]
    node = sum(each.itemsize for each in of_nodes)
    start = sum(each.itemsize for each in evaluator.graph) - node
    return {
        "held": sum(each.nbytes for each in arrays),
        "used": int(used[NODES]) * node + int(used[STARTS]) * start,
    }


def _measure_window(lab: Lab) -> list[Row]:
    events = 2 * MILLION
    in_window = min(int(_LONG / 1000 * BUSY), events)
    path = lab.make(Source(events, BUSY))
    rows = []
    for name, query in (
        ("S3'", sequence(3, never=True, window=_LONG)),
        ("S24'", sequence(24, never=True, window=_LONG)),
        ("SELL;(BUY OR SELL)+;SELL", unfiltered(_LONG)),
    ):
        lab.say(f"memory of {name}")
        begin: Row = {"query": name, "events": events, "in_window": in_window}
        try:
            sizes = lab.call(state_size, query=query, path=path)
        except FailedError as error:
            rows.append({**begin, "failed": str(error)})
            continue
        per_event = {f"{key}_each": size / in_window for key, size in sizes.items()}
        rows.append({**begin, **sizes, **per_event})
    return rows


WINDOW_GROUP = Group(
    "memory",
    "Memory for each event in a window of 400 seconds; the table itself has 40 bytes an event",
    (
        Column("query", "query", "text"),
        Column("events", "events", "size"),
        Column("in_window", "in the window", "size"),
        Column("held", "arrays", "bytes"),
        Column("held_each", "arrays, each", "bytes"),
        Column("used", "in use", "bytes"),
        Column("used_each", "in use, each", "bytes"),
    ),
    _measure_window,
)
