"""Events on the page: as a table, from files, and generated."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.schema import from_arrow_schema
from ensue.datasets.stock import stock_table
from ensue.errors import EventError
from ensue.io.columns import TextOptions
from ensue.io.events import EventSource, open_events
from ensue.play.asking import Asked, RequestError, open_text
from ensue.play.bounds import MOST_EVENTS, MOST_TEXT
from ensue.predicates.vectors import path_column
from ensue.results.display import cell

_MOST_ROWS, _MOST_COLUMNS, _MOST_TYPES = 2_000, 60, 200
"""What of the events is shown as a table."""

_MOST_GENERATED = 5_000


def read(request: dict[str, Any]) -> dict[str, Any]:
    """Read events without a query: a table to show, and names and types for completion."""
    asked = Asked.of(request)
    if not asked.events.strip():
        return {"columns": [], "attributes": [], "rows": [], "count": 0, "types": []}
    options = TextOptions(delimiter=asked.read.delimiter, nulls=tuple(asked.read.nulls))
    names = open_text(asked.events, options).schema.names
    # Columns that a query uses are looked at for times.
    options = replace(options, used=frozenset(names))
    table = _whole(open_text(asked.events, options), MOST_EVENTS + 1)
    if table.num_rows > MOST_EVENTS:
        raise RequestError(f"the playground takes {MOST_EVENTS:,} events; use `ensue run` for more")
    shown = table.slice(0, _MOST_ROWS).select(table.column_names[:_MOST_COLUMNS])
    known = from_arrow_schema(table.schema).common
    return {
        "columns": [{"name": each.name, "type": _type(known, each)} for each in shown.schema],
        "attributes": [{"name": ".".join(path), "type": str(kind)} for path, kind in known.items()],
        "rows": [
            [None if value is None else cell(value) for value in row.values()]
            for row in shown.to_pylist()
        ],
        "count": table.num_rows,
        "types": _types(table, asked.read.type),
    }


def _type(known: Any, field: pa.Field) -> str:
    return str(known.get((field.name,), "struct" if pa.types.is_struct(field.type) else field.type))


def _types(table: pa.Table, name: str) -> list[str]:
    """Return the types of events, by the column that says them."""
    column = path_column(table, (name,)) or path_column(table, tuple(name.split(".")))
    if column is None or pa.types.is_nested(column.type):
        return []
    values = pc.unique(column).cast(pa.string()).to_pylist()
    return sorted(each for each in values if each)[:_MOST_TYPES]


def _whole(source: EventSource, most: int) -> pa.Table:
    """Read the first events of a source."""
    tables, rows = [source.schema.empty_table()], 0
    for batch in source.batches:
        tables.append(pa.Table.from_batches([batch]))
        rows += batch.num_rows
        if rows >= most:
            break
    return pa.concat_tables(tables, promote_options="permissive").slice(0, most)


# From files


def upload(request: dict[str, Any]) -> dict[str, Any]:
    """Take a file that was opened on the page: its name tells the format, as everywhere."""
    name = Path(str(request.get("name", ""))).name
    data: bytes = request["data"]
    if name.lower().endswith((".csv", ".tsv", ".jsonl", ".ndjson", ".json")):
        text = data.decode("utf-8-sig", "replace")
        if len(data) <= MOST_TEXT and (text.count("\n") <= MOST_EVENTS):
            return {"text": text, "name": name, "note": ""}
    with TemporaryDirectory(prefix="ensue-play-") as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        try:
            return {"name": name, **as_text(open_events(path))}
        except EventError as error:
            raise EventError(str(error).replace(str(path), name)) from error


def as_text(source: EventSource, most: int = MOST_EVENTS) -> dict[str, str]:
    """Write events as the page holds them, as many as it takes."""
    table = _whole(source, most + 1)
    note = f"the first {most:,} events" if table.num_rows > most else ""
    table = table.slice(0, most)
    while True:
        text = table_text(table)
        size = len(text.encode(errors="replace"))
        if size <= MOST_TEXT:
            return {"text": text, "note": note}
        table = table.slice(0, int(table.num_rows * 0.9 * MOST_TEXT / size))
        note = f"the first {table.num_rows:,} events, {MOST_TEXT >> 20} MB of text"


def table_text(table: pa.Table) -> str:
    """Write a table as CSV, or as JSON lines where CSV would not do."""
    if any(pa.types.is_nested(each.type) or pa.types.is_binary(each.type) for each in table.schema):
        return "".join(
            json.dumps(_without_nulls(row), default=_plain, ensure_ascii=False) + "\n"
            for row in table.to_pylist()
        )
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.column_names)
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        writer.writerow(["" if value is None else _text(value) for value in row])
    return out.getvalue()


def _text(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).replace("+00:00", "Z") if isinstance(value, datetime) else value


def _without_nulls(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def _plain(value: object) -> object:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    return str(value)


def generate(request: dict[str, Any]) -> dict[str, Any]:
    """Generate trades at a stock exchange."""
    try:
        events, seed = int(request.get("count", 200)), int(request.get("seed", 0))
    except (TypeError, ValueError) as error:
        raise RequestError("the number of trades and the seed are whole numbers") from error
    if not 0 < events <= _MOST_GENERATED or seed < 0:
        raise RequestError(f"between 1 and {_MOST_GENERATED:,} trades can be generated here")
    return {"text": table_text(stock_table(events, seed=seed)), "name": "trades.csv", "note": ""}
