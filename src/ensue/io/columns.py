"""What is known of columns before their values are read, and where reading goes on after some."""

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
"""Where to go on reading, as JSON can hold it; the format that wrote it understands it."""


@dataclass(frozen=True, slots=True)
class TextOptions:
    """How texts, which have no types of their own, are read."""

    types: Types = field(default_factory=dict)
    """Declared types of columns."""
    collect: bool = False
    """Reject what cannot be read, and read on, instead of stopping."""
    used: frozenset[str] | None = None
    """Columns whose values matter; others are only shown, and mixed types there are no error. None:
    all of them."""
    strings: frozenset[str] = frozenset()
    """Columns that are compared with strings, which stay what they are."""
    times: frozenset[str] = frozenset()
    """Columns with the times of events."""
    time_format: str | None = None
    """How texts in these are written; None: as ISO says."""
    nulls: tuple[str, ...] = ()
    """Texts that mean NULL."""
    delimiter: str | None = None
    """What separates values of CSV; None: what the name of the file says."""

    def format_of(self, name: str) -> str | None:
        """Return the format of the times in a column, if it has one."""
        return self.time_format if name in self.times else None

    def is_used(self, name: str) -> bool:
        """Tell whether the values of a column matter."""
        return self.used is None or name in self.used

    def finds_times(self, name: str) -> bool:
        """Tell whether texts of a column that look like times become times."""
        return self.used is not None and name in self.used and name not in self.strings


Locate = Callable[[int], tuple[str, int | None]]
"""Tells of a row of a batch from which file it is, and on which line it starts."""


class Cut(NamedTuple):
    """A batch, and where the next one begins."""

    batch: pa.RecordBatch
    position: Position
    rejected: tuple[Rejected, ...] = ()
    """What could not be read since the batch before."""
    locate: Locate | None = None


class FixedColumns(NamedTuple):
    """Batches of an input whose format fixes the columns, and how many rows, where it tells."""

    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]
    rows: int | None = None


class Reader(NamedTuple):
    """A file that is open: its columns are known, and what is read of them is yet to be said."""

    schema: pa.Schema
    closed: bool
    """Whether the columns are fixed by the format, so that a name not among them is a mistake."""
    cuts: Callable[[Collection[str] | None], Iterator[Cut]]
    """Reads the columns of these names (None: all) to the end, once."""
    rows: int | None = None
    """How many rows there are, where that is known in advance."""


def refuse_same_names(schema: pa.Schema, where: str) -> None:
    """Stop at columns that no name tells apart."""
    for name, count in Counter(schema.names).items():
        if count > 1:
            raise EventError(f"{where}: two columns are named {name!r}; rename one of them")


def schema_to_text(schema: pa.Schema) -> str:
    """Write down the types of columns, for a position."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def schema_from_text(text: str) -> pa.Schema:
    """Read what `schema_to_text` wrote."""
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))
