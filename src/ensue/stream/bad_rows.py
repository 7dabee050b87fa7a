"""Rows that do not go with the others, told apart one by one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ensue.errors import EventError
from ensue.io.columns import TextOptions
from ensue.io.rejected import Rejected
from ensue.messages import message_of
from ensue.stream.batch import read_table


def without_bad_rows(
    rows: list[object],
    first: int,
    stream: str | None,
    columns: TextOptions,
    rejected: list[Rejected],
) -> tuple[pa.Table, np.ndarray]:
    """Read rows; reject each that does not go with those before it; return the others' numbers."""
    numbers = np.arange(first, first + len(rows))
    while True:
        try:
            return read_table(rows, stream, columns)[0], numbers
        except EventError as error:
            if error.row is None:
                raise
            row = int(numbers[error.row])
            rejected.append(Rejected(rows[error.row], message_of(error), row=row))
            rows = rows[: error.row] + rows[error.row + 1 :]
            numbers = np.delete(numbers, error.row)
