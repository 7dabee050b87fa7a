"""Boundaries of CSV records: newlines that are not inside quotes."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

import numpy as np

from ensue.io.text import end_of_lines

_QUOTE = ord('"')
_NEWLINE = ord("\n")


@cache
def _may_open(delimiter: bytes) -> np.ndarray:
    """Return the bytes after which a quote may open a field, or double another quote."""
    return np.isin(np.arange(256), list(delimiter + b'\n\r"'))


@cache
def _quoted(delimiter: bytes) -> re.Pattern[bytes]:
    """Return the pattern of a quoted field; its group is the closing quote."""
    before = re.escape(delimiter) + rb"\n\r"
    return re.compile(rb"(?:\A|(?<=[" + before + rb']))"(?:[^"]|"")*+("?)')


def end_of_records(data: bytes, delimiter: bytes = b",") -> int:
    """Return where the last whole record ends.

    >>> end_of_records(b'1,"x\\ny"\\n2,"z\\n'), end_of_records(b'1,5" pipe\\n2')
    (8, 10)
    """
    if b'"' not in data:
        return end_of_lines(data)
    end = end_of_lines(data)
    array = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(array == _QUOTE)
    opening = quotes[::2]
    if not _may_open(delimiter)[array[opening[opening > 0] - 1]].all():
        return _end_by_scanning(data, end, delimiter)
    # All quotes delimit fields, so a newline is inside one after an odd number of them.
    while end and np.searchsorted(quotes, end) % 2:
        end = end_of_lines(data[: int(quotes[np.searchsorted(quotes, end) - 1])])
    return end


def _end_by_scanning(data: bytes, end: int, delimiter: bytes) -> int:
    """Return the same for data with quotes inside unquoted fields, which delimit nothing."""
    found = [
        (each.start(), each.end(), bool(each[1])) for each in _quoted(delimiter).finditer(data)
    ]
    for start, stop, closed in reversed(found):
        if start < end and (end <= stop or not closed):
            end = end_of_lines(data[:start])
    return end


class Records(NamedTuple):
    """The offsets of records, empty lines excluded."""

    starts: np.ndarray
    ends: np.ndarray
    lines: np.ndarray
    """The number of lines before each."""
    broken: frozenset[int]
    """Records with a quote that is never closed; they end with their line."""


def records_of(data: bytes, delimiter: bytes = b",") -> Records:
    """Find all records.

    >>> found = records_of(b'1,"x\\ny"\\n\\n2,"z\\n3,4')
    >>> found.starts.tolist(), found.lines.tolist(), found.broken
    ([0, 9, 14], [0, 3, 4], frozenset({1}))
    """
    array = np.frombuffer(data, np.uint8)
    newlines = np.flatnonzero(array == _NEWLINE)
    inside = np.zeros(len(newlines), bool)
    opened: list[int] = []
    at = 0 if b'"' in data else len(data)
    while at < len(data):
        for found in _quoted(delimiter).finditer(data, at):
            first = int(np.searchsorted(newlines, found.start()))
            if not found[1]:
                opened.append(found.start())
                at = int(newlines[first]) + 1 if first < len(newlines) else len(data)
                break
            inside[first : int(np.searchsorted(newlines, found.end()))] = True
        else:
            break
    ends = newlines[~inside] + 1
    if not len(ends) or ends[-1] < len(data):
        ends = np.append(ends, len(data))
    starts = np.concatenate([[0], ends[:-1]])
    filled = np.array(
        [bool(data[a:b].strip(b"\r\n")) for a, b in zip(starts, ends, strict=True)], bool
    )
    starts, ends = starts[filled], ends[filled]
    broken = frozenset((np.searchsorted(starts, opened, "right") - 1).tolist())
    return Records(starts, ends, np.searchsorted(newlines, starts), broken)
