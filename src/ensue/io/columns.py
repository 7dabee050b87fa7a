"""What is known of columns before their values are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pyarrow as pa

from ensue.errors import EventError

Types = Mapping[str, pa.DataType]


class FixedColumns(NamedTuple):
    """Batches of an input whose format fixes the columns, and how many rows, where it tells."""

    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]
    rows: int | None = None


def refuse_same_names(schema: pa.Schema, where: str) -> None:
    """Stop at columns that no name tells apart."""
    for name, count in Counter(schema.names).items():
        if count > 1:
            raise EventError(f"{where}: two columns are named {name!r}; rename one of them")
