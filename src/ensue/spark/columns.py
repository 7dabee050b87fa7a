"""The columns of rows that several queries give together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from ensue.errors import EventError
from ensue.results.joining import joined_fields

QUERY = "query"
"""The column that tells the query of a row."""


def joined(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """Return the columns of rows of several queries: all that any of them has."""
    every = [pa.schema({QUERY: pa.string()}), *schemas]
    fields = joined_fields(every, "recognize them one by one")
    spelt: dict[str, str] = {}
    for name in fields:
        other = spelt.setdefault(name.lower(), name)
        if other != name:
            raise EventError(
                f"the queries give the columns '{other}' and '{name}', which are one to Spark; "
                "spell them alike, or recognize the queries one by one"
            )
    return pa.schema(list(fields.items()))


def with_late(schema: pa.Schema, name: str, events: pa.Schema) -> pa.Schema:
    """Add a column for events that come too late."""
    if name in schema.names:
        raise ValueError(f"rows have a column '{name}' already; choose another name for late=")
    return schema.append(pa.field(name, pa.struct(list(events))))


def with_labels(found: DataFrame, labels: Mapping[str, Mapping[str, Any]]) -> DataFrame:
    """Add columns whose values follow from the query of a row, after its name."""
    names = found.columns
    columns = {}
    for label, of_query in labels.items():
        value = F.lit(None)
        for query, each in of_query.items():
            known = F.array(*map(F.lit, each)) if isinstance(each, tuple) else F.lit(each)
            value = F.when(F.col(QUERY) == query, known).otherwise(value)
        kind = "array<string>" if any(isinstance(e, tuple) for e in of_query.values()) else "string"
        columns[f"rule_{label}" if label in names else label] = value.cast(kind)
    return found.withColumns(columns).select(QUERY, *columns, *names[1:])
