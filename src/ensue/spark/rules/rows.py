"""Matches of rules as rows: the same columns whatever rules there will be.

The columns of a stream are fixed when it starts, and those of a match depend on its rule. So what
belongs to the rule is JSON, with the names that the columns have when the rule is recognized as a
query.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from ensue.io.instants import with_instants_as_text
from ensue.spark.program import Program

RULE, VERSION, PARTITION, PAYLOAD = "rule", "version", "partition", "payload"


def rule_schema(time: pa.DataType) -> pa.Schema:
    """Return the columns of rows of rules on events with such times."""
    return pa.schema(
        {
            RULE: pa.string(),
            VERSION: pa.string(),
            "match_id": pa.string(),
            "start_time": time,
            "end_time": time,
            PARTITION: pa.string(),
            PAYLOAD: pa.string(),
        }
    )


def rule_rows(program: Program, version: str, table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Turn rows of one rule, as a query has them, into rows of any rule.

    A row of SELECT count(*) has a time, which is its end, and neither a start nor an id.
    """
    result, count = program.result_schema, table.num_rows
    keys = len(result.partition)
    if result.totals is None:
        start, end, match_id = table.columns[keys : keys + 3]
        first = keys + 3
    else:
        end, first = table.column(keys), keys + 1
        start, match_id = pa.nulls(count, end.type), pa.nulls(count, pa.string())
    values = {
        RULE: pa.repeat(pa.scalar(program.name), count),
        VERSION: pa.repeat(pa.scalar(version), count),
        "match_id": match_id,
        "start_time": start,
        "end_time": end,
        PARTITION: json_texts(table.select(range(keys))),
        PAYLOAD: json_texts(table.select(range(first, table.num_columns))),
    }
    columns = [
        values[each.name].cast(each.type)
        if each.name in values
        else pa.nulls(count, each.type)  # late events are rows of their own
        for each in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def json_texts(table: pa.Table) -> pa.Array:
    """Write each row as a JSON object: times as ISO 8601, decimals as text, bytes in base 64.

    What JSON has no number for is text too, as Spark's `to_json` has it.

    >>> json_texts(pa.table({"n": [1, None], "x": [0.5, math.inf]})).to_pylist()
    ['{"n":1,"x":0.5}', '{"n":null,"x":"Infinity"}']
    """
    if not table.num_columns:
        return pa.repeat(pa.scalar("{}"), table.num_rows)
    rows = with_instants_as_text(table).to_pylist()
    return pa.array([_encode(_plain(row)) for row in rows], pa.string())


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {str(key): _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case float() if not math.isfinite(value):
            # NaN reads as NULL.
            return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case date() | time():
            return value.isoformat()
        case Decimal() | timedelta():
            return str(value)
        case bytes():
            return b64encode(value).decode()
        case _:
            return value
