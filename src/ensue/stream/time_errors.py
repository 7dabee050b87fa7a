"""What is wrong with the times of events, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ensue.analysis.schema import AttributePath
from ensue.analysis.types import Type, from_arrow
from ensue.errors import EventError
from ensue.messages import Message, Option
from ensue.predicates.vectors import column_at
from ensue.stream.batch import InputBatch


def goes_back(
    batch: InputBatch,
    path: AttributePath,
    own: np.ndarray | None,
    wrong: int,
    first_row: int,
    source: str | None,
    latest: int | None,
) -> EventError:
    """Say that an event is earlier than one before it.

    Args:
        batch: the rows.
        path: the time column.
        own: the rows of the stream that it belongs to; None: all.
        wrong: its number among these.
        first_row: the number of the first row, as the user counts.
        source: the stream, where streams come separately.
        latest: the latest time before the batch, if any.
    """
    row = wrong if own is None else int(own[wrong])
    column = column_at(batch.table, path)
    before: Any = None
    if wrong:
        before = column[wrong - 1 if own is None else int(own[wrong - 1])]
    elif latest is not None:
        before = shown_time(latest, column.type)
    of_stream = "" if source is None else f" of {source}"
    at = row if source is None else wrong
    return EventError(
        Message(
            f"time goes back at row {first_row + at}{of_stream}: '{'.'.join(path)}' "
            f"is {column[row]} after {before}; sort the events, or pass ",
            Option("lateness"),
            " to have them put in order",
        ),
        row,
    )


def wrong_times(column: pa.ChunkedArray, name: str) -> EventError:
    """Say that a time column holds something else."""
    kind = column.type
    problem = f"the time column '{name}' must hold integers or timestamps, not {kind}"
    if from_arrow(kind) is Type.STRING and len(column):
        example = column[0].as_py()
        problem += (
            f" such as {example!r}; write times as in ISO 8601, all with a zone or none of them"
        )
    return EventError(problem)


def shown_time(time: int, kind: pa.DataType) -> Any:
    """Write a time as the time column has it."""
    if pa.types.is_integer(kind):
        return time
    return pa.scalar(time, pa.int64()).cast(pa.timestamp("ns")).cast(kind, safe=False)
