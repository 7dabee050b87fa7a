"""Memory in the long run: of a reader of very many events, and of a session they are pushed to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bench.lab import Lab
from bench.processes import FailedError, resident_memory
from bench.queries import by_account, sequence
from bench.sequences import MILLION
from bench.streams import BUSY, Source
from bench.tables import Column, Group, Row, Target, at_most


def reader_growth(query: str, path: str, events: int) -> dict[str, Any]:
    """Run a query on a reader; return resident memory after a tenth of the events and then."""
    import ensue

    resident: list[int] = []
    schema, batches = _endless(path, events, 65536, resident)
    reader = pa.RecordBatchReader.from_batches(schema, batches)
    found = sum(1 for _ in ensue.compile(query).run(reader))
    return {"found": found, "early": resident[0], "late": resident_memory()}


def session_growth(query: str, path: str, events: int) -> dict[str, Any]:
    """Push events; return resident memory after a tenth of them and then."""
    import ensue

    resident: list[int] = []
    session = ensue.compile(query).open()
    _, batches = _endless(path, events, 10_000, resident)
    found = sum(session.push(batch).count for batch in batches)
    return {"found": found, "early": resident[0], "late": resident_memory()}


RATE = 200
"""Events a second of a log whose times are whole seconds."""

SPAN = 60
"""Seconds: the window over it."""

TIED = f"SELECT * FROM S WHERE A ; B WITHIN {SPAN} SECONDS [t]"


def tied_growth(events: int) -> dict[str, Any]:
    """Push a log with times in seconds, no push of which ends with a second.

    Returns besides the memory how many rows are kept and how large a snapshot is, each to that
    of a window.
    """
    import ensue

    resident: list[int] = []
    session = ensue.compile(TIED).open(time="t", time_unit="s")
    window, size, found, rows = SPAN * RATE, 0, 0, 0
    for first in range(0, events, 997):
        found += session.push(_log(first, 997)).count
        if not size and first >= window:
            size = len(session.snapshot())
        if not resident and first >= events // 10:
            resident.append(resident_memory())
        if first >= window:
            rows = max(rows, session.stats["rows"])
    late = resident_memory()
    snapshot = len(session.snapshot())
    return {
        "found": found,
        "early": resident[0],
        "late": late,
        "rows": rows / window,
        "snapshot": snapshot,
        "swells": snapshot / size,
    }


def _log(first: int, count: int) -> pa.Table:
    """Make events of which some concern the query."""
    import numpy as np

    numbers = np.arange(first, first + count)
    types = np.where(numbers % 101 == 0, "A", np.where(numbers % 1009 == 0, "B", "C"))
    return pa.table({"type": types, "t": numbers // RATE, "host": numbers % 50, "size": numbers})


def _endless(
    path: str, events: int, rows: int, resident: list[int]
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Give a stream again and again, later each time; note the memory after a tenth of it."""
    from bench.streams import read

    table = read(path)
    batches = table.to_batches(max_chunksize=rows)
    clock = table.column("stock_time")
    lasted = clock[-1].as_py() - clock[0].as_py() + 1
    for batch in batches:  # the file is mapped: what was never looked at would come as growth
        _later(batch, 0, 0)

    def given() -> Iterator[pa.RecordBatch]:
        count = 0
        while count < events:
            lap = count // table.num_rows
            for batch in batches:
                yield _later(batch, lap * lasted, lap * table.num_rows)
                count += batch.num_rows
                if not resident and count >= events // 10:
                    resident.append(resident_memory())

    return table.schema, given()


def _later(batch: pa.RecordBatch, milliseconds: int, accounts: int) -> pa.RecordBatch:
    """Shift a batch in time; accounts that are numbered through go on with new numbers."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    columns["stock_time"] = pc.add(columns["stock_time"], milliseconds)
    if "account" in columns:
        columns["account"] = pc.add(columns["account"], accounts)
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=batch.schema)


def _measure(lab: Lab, *, pushed: bool) -> list[Row]:
    events = (2 if lab.quick else 50) * MILLION
    once = MILLION // 2
    consumed = sequence(6) + "\nCONSUME BY ANY\nLIMIT 1"
    rows: list[Row] = []
    for name, query, source in (
        ("S6, consumed", consumed, Source(once, BUSY)),
        ("SELL;BUY;SELL, each key once", by_account(never=False), Source(once, BUSY, keys=-1)),
    ):
        path = lab.make(source)
        lab.say(f"{name}, {events:,} events {'pushed' if pushed else 'read'}")
        begin: Row = {"query": name, "events": events}
        growth = session_growth if pushed else reader_growth
        try:
            found = lab.call(growth, query=query, path=path, events=events)
        except FailedError as error:
            rows.append({**begin, "failed": str(error)})
            continue
        rows.append({**begin, **found, "grows": found["late"] / found["early"]})
    if pushed:
        rows.append(_measure_tied(lab, events // 10))
    return rows


def _measure_tied(lab: Lab, events: int) -> Row:
    begin: Row = {"query": f"A;B in {SPAN} s, times in seconds", "events": events}
    lab.say(f"{begin['query']}, {events:,} events pushed")
    try:
        found = lab.call(tied_growth, events=events)
    except FailedError as error:
        return {**begin, "failed": str(error)}
    return {**begin, **found, "grows": found["late"] / found["early"]}


def _targets(rows: Sequence[Row], *, pushed: bool) -> list[Target]:
    what = "pushed events" if pushed else "events"
    of_window = [
        target
        for row in rows
        if "rows" in row
        for target in (
            at_most(f"rows kept ({row['query']})", 2, row["rows"], "number", "windows"),
            at_most(f"snapshot ({row['query']})", 1.5, row["swells"], "number", "times the first"),
        )
    ]
    return of_window + [
        at_most(
            f"resident memory after {row['events'] / MILLION:g}M {what} ({row['query']}) "
            "to that after a tenth of them",
            1.1,
            row.get("grows"),
            "number",
            "times",
        )
        for row in rows
    ]


_COLUMNS = (
    Column("query", "query", "text"),
    Column("events", "events", "size"),
    Column("found", "matches", "count"),
    Column("early", "after a tenth", "bytes"),
    Column("late", "in the end", "bytes"),
    Column("grows", "grows", "number"),
)

READER_GROUP = Group(
    "readers",
    "Readers: resident memory after a tenth of the events, and in the end",
    _COLUMNS,
    partial(_measure, pushed=False),
    partial(_targets, pushed=False),
)

SESSION_GROUP = Group(
    "growth",
    "Sessions in the long run: resident memory after a tenth of the events, and in the end",
    (
        *_COLUMNS,
        Column("rows", "rows kept, in windows", "number"),
        Column("snapshot", "snapshot", "bytes"),
        Column("swells", "to the first", "number"),
    ),
    partial(_measure, pushed=True),
    partial(_targets, pushed=True),
)
