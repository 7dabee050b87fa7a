"""Memory: for each event in the window, and over a stream that never ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bench.lab import Lab
from bench.processes import FailedError, resident_memory
from bench.queries import WINDOW, by_account, sequence, unfiltered
from bench.sequences import MILLION
from bench.streams import BUSY, Source
from bench.tables import Column, Group, Row, Target, at_most

_LONG = 40 * WINDOW


def state_size(query: str, path: str) -> dict[str, Any]:
    """Return how large the evaluator's arrays are after a run, and how much of them is in use."""
    import ensue
    from bench.streams import read
    from ensue.runtime.evaluator import Evaluator
    from ensue.runtime.layout import NODES, STARTS

    made: list[Any] = []
    initialise: Any = Evaluator.__post_init__

    def remember(evaluator: Any) -> None:
        initialise(evaluator)
        made.append(evaluator)

    Evaluator.__post_init__ = remember  # type: ignore[assignment, method-assign]
    ensue.compile(query).run(read(path))
    (evaluator,) = made
    arrays = [*evaluator.graph, *evaluator.slots]
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


def reader_growth(query: str, path: str, events: int, marks: Sequence[int]) -> dict[str, Any]:
    """Run a query on a reader of very many events; return resident memory on the way and then."""
    import ensue
    from bench.streams import read

    table = read(path)
    batches = table.to_batches(max_chunksize=65536)
    lasted = table.column("stock_time")[-1].as_py() - table.column("stock_time")[0].as_py() + 1
    for batch in batches:  # the file is mapped: what was never looked at would come as growth
        later(batch, 0, 0)
    resident: dict[int, int] = {}

    def endless() -> Iterator[pa.RecordBatch]:
        given = 0
        while given < events:
            lap = given // table.num_rows
            for batch in batches:
                yield later(batch, lap * lasted, lap * table.num_rows)
                given += batch.num_rows
                for mark in marks:
                    if given >= mark and mark not in resident:
                        resident[mark] = resident_memory()

    reader = pa.RecordBatchReader.from_batches(table.schema, endless())
    found = sum(1 for _ in ensue.compile(query).run(reader))
    return {"found": found, "early": resident[marks[0]], "late": resident_memory()}


def later(batch: pa.RecordBatch, milliseconds: int, accounts: int) -> pa.RecordBatch:
    """Shift a batch in time; accounts that are numbered through go on with new numbers."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    columns["stock_time"] = pc.add(columns["stock_time"], milliseconds)
    if "account" in columns:
        columns["account"] = pc.add(columns["account"], accounts)
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=batch.schema)


def _measure_reader(lab: Lab) -> list[Row]:
    events = (2 if lab.quick else 50) * MILLION
    once = MILLION // 2
    consumed = sequence(6) + "\nCONSUME BY ANY\nLIMIT 1"
    rows = []
    for name, query, source in (
        ("S6, consumed", consumed, Source(once, BUSY)),
        ("SELL;BUY;SELL, each key once", by_account(never=False), Source(once, BUSY, keys=-1)),
    ):
        path = lab.make(source)
        lab.say(f"{name} on a reader of {events:,} events")
        begin: Row = {"query": name, "events": events}
        try:
            found = lab.call(
                reader_growth, query=query, path=path, events=events, marks=[events // 10]
            )
        except FailedError as error:
            rows.append({**begin, "failed": str(error)})
            continue
        rows.append({**begin, **found, "grows": found["late"] / found["early"]})
    return rows


def _reader_targets(rows: Sequence[Row]) -> list[Target]:
    return [
        at_most(
            f"resident memory after {row['events'] // MILLION}M events ({row['query']}) "
            "to that after a tenth of them",
            1.1,
            row.get("grows"),
            "number",
            "times",
        )
        for row in rows
    ]


READER_GROUP = Group(
    "readers",
    "Readers: resident memory after a tenth of the events, and in the end",
    (
        Column("query", "query", "text"),
        Column("events", "events", "size"),
        Column("found", "matches", "count"),
        Column("early", "after a tenth", "bytes"),
        Column("late", "in the end", "bytes"),
        Column("grows", "grows", "number"),
    ),
    _measure_reader,
    _reader_targets,
)
