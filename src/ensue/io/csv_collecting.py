"""CSV with on_error="collect": read the records that can be read, collect the others.

Arrow parses many records at once and stops at the first error. So a block that cannot be parsed is
split in halves, down to single records: a wrong one costs about as much as parsing its block twice
more, and all values are those that Arrow parses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.errors import EventError
from ensue.io.columns import ReadBatch
from ensue.io.csv_errors import odd_values
from ensue.io.csv_records import Records, records_of
from ensue.io.rejected import Rejected
from ensue.io.text import Text, as_text

Parse = Callable[[bytes, int | None], pa.RecordBatch]
"""Parses records; the line is given for a single one, for its error."""


def collected(data: bytes, lines: int, text: Text, parse: Parse) -> ReadBatch:
    """Parse records after `lines` lines; the caller fills in the position."""
    records = records_of(data, text.delimiter.encode())
    name = text.name
    if not records.broken:
        try:
            batch = parse(data, None)
            if batch.num_rows == len(records.starts):
                return ReadBatch(batch, {}, locate=_locate(name, lines + 1 + records.lines))
        except EventError:
            pass
    rejected: list[Rejected] = []
    batches: list[pa.RecordBatch] = []
    kept: list[int] = []

    def reject(at: int, reason: str) -> None:
        line = lines + 1 + int(records.lines[at])
        rejected.append(Rejected(as_text(_bytes(data, records, at, at + 1)), reason, name, line))

    def read(first: int, end: int) -> None:
        """Parse records first to end - 1."""
        single = end - first == 1
        line = lines + 1 + int(records.lines[first])
        if single and first in records.broken:
            reject(first, f"{name}, line {line}: a quote is opened and never closed")
            return
        problem = f"{name}, line {line}: this is not one record"
        if not any(first <= at < end for at in records.broken):
            try:
                batch = parse(_bytes(data, records, first, end), line if single else None)
                if batch.num_rows == end - first:
                    batches.append(batch)
                    kept.extend(range(first, end))
                    return
            except EventError as error:
                problem = str(error)
                if single and not _is_utf8(_bytes(data, records, first, end)):
                    problem = f"{name}, line {line}: not UTF-8; convert the file first"
        if single:
            reject(first, problem)
            return
        middle = (first + end) // 2
        read(first, middle)
        read(middle, end)

    read(0, len(records.starts))
    if not batches:
        return ReadBatch(pa.RecordBatch.from_pylist([], pa.schema([])), {}, tuple(rejected))
    whole = pa.concat_tables(
        [pa.Table.from_batches([each]) for each in batches], promote_options="permissive"
    ).combine_chunks()
    numbers = lines + 1 + records.lines[np.array(kept, np.int64)]
    return ReadBatch(whole.to_batches()[0], {}, tuple(rejected), _locate(name, numbers))


def _bytes(data: bytes, records: Records, first: int, end: int) -> bytes:
    return data[int(records.starts[first]) : int(records.ends[end - 1])]


def _locate(name: str, lines: np.ndarray) -> Callable[[int], tuple[str, int]]:
    return lambda row: (name, int(lines[row]))


def readable(data: bytes, text: Text) -> bytes:
    """Return the records that are valid UTF-8 and complete, to infer types from."""
    records = records_of(data, text.delimiter.encode())
    good = []
    for at in range(len(records.starts)):
        record = _bytes(data, records, at, at + 1)
        if at not in records.broken and _is_utf8(record):
            good.append(record)
    return b"".join(good)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def types_of_most(
    sample: pa.RecordBatch, read_as: Callable[[dict[str, pa.DataType]], pa.RecordBatch]
) -> dict[str, pa.DataType]:
    """Return number types of columns nearly all of whose values are numbers.

    `read_as` reads the same sample with other types of some columns.
    """
    from pyarrow import compute

    types: dict[str, pa.DataType] = {}
    for name, column in zip(sample.schema.names, sample.columns, strict=True):
        odd = odd_values(column)
        if odd is not None:
            strange = set(odd.to_pylist())
            numbers = [each for each in column.to_pylist() if each not in strange]
            types[name] = _number_type(pa.array(numbers, pa.string()))
        elif column.type == pa.float64():
            bounds: Any = compute.min_max(column).as_py()
            if max(abs(bounds["min"] or 0), abs(bounds["max"] or 0)) >= 2**63:
                # With an integer of more than 64 bits, Arrow infers doubles.
                texts = read_as({name: pa.string()}).column(name)
                if compute.all(compute.match_substring_regex(texts, r"^[+-]?\d+$")).as_py():
                    types[name] = pa.int64()
    return types


def _number_type(texts: pa.Array[Any]) -> pa.DataType:
    try:
        texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return pa.float64()
    return pa.int64()
