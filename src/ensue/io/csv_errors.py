"""What is wrong with a CSV file, and on which line.

Arrow reads CSV fast, but tells no lines, closes quotes that were left open, and makes doubles of
long integers. Whatever looks wrong is looked up with Python's reader: slow, but for errors only.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from ensue.errors import EventError
from ensue.io.columns import Types
from ensue.io.files import UNREADABLE, open_binary
from ensue.io.kinds import kind_of_type
from ensue.io.places import show

_LONG_INTEGER = re.compile(r"[+-]?\d{19,}")
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


def csv_error(path: Path, columns: Types, block: int, error: Exception) -> EventError:
    """Say in our words what Arrow found wrong with a CSV file that it reads in blocks."""
    text = str(error)
    if found := re.search(r"column #(\d+): .*: invalid value '(.*)'", text, re.DOTALL):
        at = int(found[1])
        name = list(columns)[at]
        return misfit(path, at, name, columns[name], found[2])
    if found := re.search(r"Expected (\d+) columns, got (\d+)", text):
        width = int(found[1])
        place = _find(path, lambda record: len(record) != width) or path
        return EventError(
            f"{place}: the header names {width} columns, and here are {found[2]}; quote values "
            "that contain commas"
        )
    if "UTF8" in text or isinstance(error, UnicodeDecodeError):
        return not_utf8(path)
    if "straddling" in text:
        problem = f"a row is longer than {block >> 20} MB; a quote may have been left open"
        return EventError(f"{path}: {problem}")
    if "Empty CSV" in text:
        return EventError(f"{path}: a CSV file starts with a line of column names, then a newline")
    return EventError(f"{path}: not a CSV file: {text}")


def misfit(path: Path, at: int, name: str, arrow: pa.DataType, text: str) -> EventError:
    """Say that a text is not of the type of its column."""
    place = _find(path, lambda record: len(record) > at and record[at] == text) or path
    return EventError(
        f"{place}, column {name!r}: {show(text)} is not of type {kind_of_type(arrow)}, as the "
        "column is; declare a type that holds all of its values"
    )


def not_utf8(path: Path) -> EventError:
    """Say that a file is in another encoding."""
    place = _find(path, lambda record: any(map(_NOT_UTF8.search, record))) or path
    return EventError(f"{place}: not UTF-8; convert the file first")


def refuse_long_integers(batch: pa.RecordBatch, unsure: set[str], path: Path) -> None:
    """Stop at integers of more than 64 bits, of which Arrow would make inexact doubles.

    Columns whose large values turn out to be no integers are taken off the unsure ones.
    """
    from pyarrow import compute

    for name in sorted(unsure):
        bounds: Any = compute.min_max(batch.column(name)).as_py()
        if max(abs(bounds["min"] or 0), abs(bounds["max"] or 0)) < 2**63:
            continue
        unsure.discard(name)
        if place := _find(path, partial(_is_long_integer, batch.schema.get_field_index(name))):
            raise EventError(
                f"{place}, column {name!r}: an integer does not fit into 64 bits; "
                "declare the column as string or double"
            )


def _is_long_integer(at: int, record: list[str]) -> bool:
    text = record[at] if at < len(record) else ""
    if not _LONG_INTEGER.fullmatch(text):
        return False
    return len(text.lstrip("+-0")) > 19 or not -(2**63) <= int(text) < 2**63


def refuse_open_quote(last: pa.RecordBatch, path: Path) -> None:
    """Stop when the last row swallowed the rest of the file: Arrow closes a quote left open."""
    row = [column[-1].as_py() for column in last.columns]
    if any(isinstance(value, str) and "\n" in value for value in row):
        with _records(path, strict=True) as records:
            start = 1
            try:
                for _ in records:
                    start = records.line_num + 1
            except csv.Error as error:
                if "end of data" in str(error):
                    problem = "a quote is opened and never closed"
                    raise EventError(f"{path}, line {start}: {problem}") from error


def _find(path: Path, wrong: Callable[[list[str]], bool]) -> str | None:
    """Look for the line of the first wrong record."""
    with _records(path) as records:
        try:
            next(records, None)
            start = records.line_num + 1
            for record in records:
                if record and wrong(record):
                    return f"{path}, line {start}"
                start = records.line_num + 1
        except (*UNREADABLE, csv.Error):
            pass
    return None


@contextmanager
def _records(path: Path, *, strict: bool = False) -> Iterator[Any]:
    with (
        open_binary(path) as binary,
        io.TextIOWrapper(binary, "utf-8-sig", errors="surrogateescape", newline="") as text,
    ):
        yield csv.reader(text, strict=strict)
