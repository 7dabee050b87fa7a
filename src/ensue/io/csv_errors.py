"""Errors of CSV texts, with their line.

Arrow reads CSV fast, but reports no lines, closes quotes that were left open, and turns long
integers into doubles. Python's reader finds the line of an error if the file can be read again:
slow, but for errors only.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pyarrow as pa

from ensue.errors import EventError, EventWarning, warn
from ensue.io.columns import Types
from ensue.io.files import UNREADABLE, open_binary
from ensue.io.kinds import kind_of_type
from ensue.io.places import show
from ensue.io.text import Text
from ensue.messages import Message, Option

_LONG_INTEGER = re.compile(r"[+-]?\d{19,}")
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_SAMPLED_VALUES = 10_000
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


def csv_error(text: Text, columns: Types, error: Exception) -> EventError:
    """Return the error for an exception of Arrow's CSV parser."""
    description = str(error)
    if found := re.search(r"column #(\d+): .*: invalid value '(.*)'", description, re.DOTALL):
        at = int(found[1])
        name = list(columns)[at]
        return misfit(text, at, name, columns[name], found[2])
    if found := re.search(r"Expected (\d+) columns, got (\d+)", description):
        width = int(found[1])
        place = _find(text, lambda record: len(record) != width)
        named = f"{width} column{'' if width == 1 else 's'}"
        return EventError(
            f"{place}: the header names {named}, and here are {found[2]}; quote values that "
            "contain commas"
        )
    if "UTF8" in description or isinstance(error, UnicodeDecodeError):
        return not_utf8(text)
    if "Empty CSV" in description:
        return no_header(text)
    return EventError(f"{text.name}: not a CSV file: {description}")


_SIGNATURES = {
    b"PAR1": "a Parquet file; let its name end in .parquet",
    b"ARROW1": "an Arrow file; let its name end in .arrow",
    b"\x1f\x8b": "compressed by gzip; let its name end in .csv.gz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; let its name end in .csv.zst",
    b"PK\x03\x04": "a zip archive, as those of Excel are; save the table in it as CSV",
    b"\xff\xfe": "text in UTF-16; save it as UTF-8",
    b"\xfe\xff": "text in UTF-16; save it as UTF-8",
}
"""The first bytes of files that are not CSV, and advice."""

_BINARY_TEST_BYTES = 1 << 12
"""The number of bytes that are searched for binary data."""


def refuse_binary(text: Text, data: bytes) -> None:
    """Raise EventError if the file is binary."""
    for signature, problem in _SIGNATURES.items():
        if data.startswith(signature):
            raise EventError(f"{text.name}: not CSV, but {problem}")
    header, begin = data.partition(b"\n")[0], data[:_BINARY_TEST_BYTES]
    # A damaged line below a header that can be read is an error of that line.
    controls = b"\0" in begin or any(byte < 32 and byte not in b"\t\r" for byte in header)
    noise = controls and "\ufffd" in header.decode(errors="replace")
    if b"\0" in header or noise or data.startswith(b"\x89PNG"):
        raise EventError(f"{text.name}: not CSV, but binary data")


def no_header(text: Text) -> EventError:
    """Return the error of a file without a header."""
    return EventError(f"{text.name}: a CSV file starts with a line of column names, then a newline")


def refuse_other_delimiter(names: list[str], text: Text) -> None:
    """Raise EventError if the only column name contains another delimiter."""
    others = [each for each in ",;\t|" if each != text.delimiter and each in names[0]]
    if len(names) == 1 and others:
        raise EventError(
            Message(
                f"{text.name}: the only column is named {show(names[0])}; where {others[0]!r} "
                "separates values, pass ",
                Option("delimiter", others[0]),
            )
        )


def too_long(text: Text, block: int) -> EventError:
    """Return the error of a record longer than a block."""
    problem = f"a row is longer than {block >> 20} MB; a quote may have been left open"
    return EventError(f"{text.name}: {problem}")


def misfit(text: Text, at: int, name: str, arrow: pa.DataType, value: str) -> EventError:
    """Return the error of a value that is not of the type of its column."""
    place = _find(text, partial(_holds, at, value))
    return EventError(
        f"{place}, column {name!r}: {show(value)} is not of type {kind_of_type(arrow)}, as the "
        "column is; declare a type that holds all of its values"
    )


def not_utf8(text: Text) -> EventError:
    """Return the error of a text that is not UTF-8."""
    place = _find(text, lambda record: any(map(_NOT_UTF8.search, record)))
    return EventError(f"{place}: not UTF-8; convert the file first")


def warn_of_odd_values(sample: pa.RecordBatch, declared: set[str], text: Text) -> None:
    """Warn of string columns nearly all of whose values are numbers."""
    for at, name in enumerate(sample.schema.names):
        odd = None if name in declared else odd_values(sample.column(at))
        if odd is None:
            continue
        value = odd[0].as_py()
        place = _find(text, partial(_holds, at, value))
        warn(
            f"{place}, column {name!r}: {show(value)} is not a number, so the whole column is read "
            "as strings; declare its type to say what it is",
            EventWarning,
        )


def odd_values(column: pa.Array[Any]) -> pa.Array[Any] | None:
    """Return the values that are not numbers if nearly all are; None for other columns."""
    from pyarrow import compute

    if column.type != pa.string():
        return None
    values = column.slice(0, _SAMPLED_VALUES).drop_null()
    numbers = compute.match_substring_regex(values, _NUMBER)
    odd = values.filter(compute.invert(numbers))
    few = len(odd) <= max(1, len(values) // 10)
    return odd if len(odd) and few and len(values) - len(odd) >= 2 else None


def refuse_long_integers(
    batch: pa.RecordBatch, unsure: dict[str, int], data: bytes, text: Text
) -> None:
    """Raise EventError for integers of more than 64 bits, which Arrow reads as inexact doubles.

    `unsure` has columns and their indices; columns whose large values are not integers are removed
    from it. `data` is the text of the batch.
    """
    from pyarrow import compute

    for name, at in list(unsure.items()):
        bounds: Any = compute.min_max(batch.column(name)).as_py()
        if max(abs(bounds["min"] or 0), abs(bounds["max"] or 0)) < 2**63:
            continue
        del unsure[name]
        is_long = partial(_is_long_integer, at)
        lines = io.StringIO(data.decode(errors="replace"), newline="")
        if any(map(is_long, csv.reader(lines, delimiter=text.delimiter))):
            raise EventError(
                f"{_find(text, is_long)}, column {name!r}: an integer does not fit into 64 bits; "
                "declare the column as string or double"
            )


def _holds(at: int, value: str, record: list[str]) -> bool:
    return len(record) > at and record[at] == value


def _is_long_integer(at: int, record: list[str]) -> bool:
    text = record[at] if at < len(record) else ""
    if not _LONG_INTEGER.fullmatch(text):
        return False
    return len(text.lstrip("+-0")) > 19 or not -(2**63) <= int(text) < 2**63


def refuse_open_quote(last: bytes, text: Text) -> None:
    """Raise EventError if a quote is never closed: Arrow would close it at the end."""
    if b"\n" not in last:
        return
    problem = "a quote is opened and never closed"
    if text.path is None:
        raise EventError(f"{text.name}: {problem}")
    with _records(text, strict=True) as records:
        start = 1
        try:
            for _ in records:
                start = records.line_num + 1
        except csv.Error as error:
            if "end of data" in str(error):
                raise EventError(f"{text.name}, line {start}: {problem}") from error


def _find(text: Text, wrong: Callable[[list[str]], bool]) -> str:
    """Return file and line of the first wrong record, or the file alone if that is unknown."""
    if text.path is not None:
        with _records(text) as records:
            try:
                next(records, None)
                start = records.line_num + 1
                for record in records:
                    if record and wrong(record):
                        return f"{text.name}, line {start}"
                    start = records.line_num + 1
            except (*UNREADABLE, csv.Error):
                pass
    return text.name


@contextmanager
def _records(text: Text, *, strict: bool = False) -> Iterator[Any]:
    assert text.path is not None
    with (
        open_binary(text.path) as binary,
        io.TextIOWrapper(binary, "utf-8-sig", errors="surrogateescape", newline="") as lines,
    ):
        yield csv.reader(lines, strict=strict, delimiter=text.delimiter)
