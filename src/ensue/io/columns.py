"""What readers share: options of text formats, batches with their position, readers."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from ensue.errors import EventError
from ensue.io.rejected import Rejected

Types = Mapping[str, pa.DataType]

Position = dict[str, Any]
"""Where reading continues, as a JSON object private to its format."""


@dataclass(frozen=True, slots=True)
class TextOptions:
    """How text formats, which carry no types, are read."""

    types: Types = field(default_factory=dict)
    """Declared types of columns."""
    collect: bool = False
    """Collect rows that cannot be read, and continue, instead of raising."""
    used: frozenset[str] | None = None
    """Columns that the query uses; in others, which are only shown, mixed types are no error. None:
    all columns."""
    strings: frozenset[str] = frozenset()
    """Columns that are compared with strings and stay strings."""
    times: frozenset[str] = frozenset()
    """Columns with the times of events."""
    time_format: str | None = None
    """The strptime format of these columns; None: ISO 8601."""
    nulls: tuple[str, ...] = ()
    """Texts that mean NULL."""
    delimiter: str | None = None
    """The delimiter of CSV; None: by the suffix of the file."""

    def format_of(self, name: str) -> str | None:
        """Return the format of the times in a column, if it has one."""
        return self.time_format if name in self.times else None

    def is_used(self, name: str) -> bool:
        """Return whether the query uses a column."""
        return self.used is None or name in self.used

    def finds_times(self, name: str) -> bool:
        """Return whether strings of a column that look like times are parsed as times."""
        return self.used is not None and name in self.used and name not in self.strings


Locate = Callable[[int], tuple[str, int | None]]
"""Returns the file and the line of a row of a batch."""


class ReadBatch(NamedTuple):
    """A batch, and the position after it."""

    batch: pa.RecordBatch
    position: Position
    rejected: tuple[Rejected, ...] = ()
    """Rows since the previous batch that could not be read."""
    locate: Locate | None = None


class FixedColumns(NamedTuple):
    """Batches of an input with a fixed schema, and the number of rows if known."""

    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]
    rows: int | None = None


class Reader(NamedTuple):
    """An open file: its schema is known, the columns to read are chosen later."""

    schema: pa.Schema
    closed: bool
    """Whether the format fixes the columns, so that any other name is an error."""
    read_batches: Callable[[Collection[str] | None], Iterator[ReadBatch]]
    """Reads the columns of these names (None: all) to the end, once."""
    rows: int | None = None
    """The number of rows, if known in advance."""


def refuse_same_names(schema: pa.Schema, where: str) -> None:
    """Raise EventError if two columns have the same name."""
    for name, count in Counter(schema.names).items():
        if count > 1:
            raise EventError(f"{where}: two columns are named {name!r}; rename one of them")


def schema_to_text(schema: pa.Schema) -> str:
    """Serialize a schema for a position."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def schema_from_text(text: str) -> pa.Schema:
    """Deserialize a schema written by `schema_to_text`."""
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))
