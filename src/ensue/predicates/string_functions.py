"""Functions of strings on whole columns: computed once for each distinct string.

Arrow computes the common ones; the others are computed by their definitions in logic/functions.py,
once for each distinct combination of arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.expressions import Value
from ensue.analysis.types import Type
from ensue.logic.evaluate import OPERATIONS
from ensue.logic.functions import substring_bounds
from ensue.predicates.three_valued import expand
from ensue.predicates.vectors import Lists, Numbers, Strings, UnsupportedError, Vector, vector_of

Argument = Vector | Value
"""A column, or a constant."""


def repeated(text: str | None, length: int) -> Strings:
    """Return a column that has one string, or NULL, in all rows."""
    texts = [None] if text is None else [text, None]
    return Strings(np.zeros(length, np.int8), pa.array(texts, pa.string()))


def mapped(strings: Strings, distinct: pa.Array) -> Strings:
    """Return strings with other values for the distinct ones, some of them perhaps NULL."""
    last = len(distinct) - 1
    if distinct.null_count == 1:
        return Strings(strings.codes, distinct)
    codes = np.where(distinct.is_valid().to_numpy(zero_copy_only=False), np.arange(last + 1), last)
    return Strings(codes[strings.codes], distinct)


def chosen(choices: list[np.ndarray], columns: list[Strings]) -> Strings:
    """Return, for each row, the string of the first column that is chosen there, or NULL."""
    distinct, shifted, null = _together(columns)
    return Strings(np.select(choices, shifted, null), distinct)


def _together(columns: list[Strings]) -> tuple[pa.Array, list[np.ndarray], int]:
    """Return the distinct strings of all columns, codes of each for them, and the code of NULL."""
    parts = [each.distinct.slice(0, len(each.distinct) - 1).cast(pa.string()) for each in columns]
    distinct = pa.concat_arrays([*parts, pa.array([None], pa.string())])
    null = len(distinct) - 1
    shifted, start = [], 0
    for each, part in zip(columns, parts, strict=True):
        own = each.codes.astype(np.int64)
        shifted.append(np.where(own == len(part), null, own + start))
        start += len(part)
    return distinct, shifted, null


def extreme(name: str, columns: list[Strings]) -> Strings:
    """Return the greatest or least string of each row, NULLs left out."""
    distinct, shifted, null = _together(columns)
    order = pc.sort_indices(distinct).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    best = shifted[0]
    for codes in shifted[1:]:
        better = rank[codes] > rank[best] if name == "greatest" else rank[codes] < rank[best]
        best = np.where((codes != null) & ((best == null) | better), codes, best)
    return Strings(best, distinct)


def concatenated(arguments: list[Strings | str]) -> Strings:
    """Join strings row by row; NULL where one is NULL."""
    columns = [each for each in arguments if isinstance(each, Strings)]
    alone = columns[0] if len(columns) == 1 else None
    parts: list[Any] = []
    for each in arguments:
        if isinstance(each, str):
            parts.append(pa.scalar(each))
        elif alone is not None:
            parts.append(each.distinct)
        else:
            parts.append(each.distinct.take(pa.array(each.codes)))
    joined = pc.binary_join_element_wise(*parts, "", null_handling="emit_null")
    if alone is not None:
        return mapped(alone, joined)
    found = vector_of(pa.chunked_array([joined]))
    assert isinstance(found, Strings)
    return found


def applied(name: str, arguments: list[Argument], kind: Type) -> tuple[Vector, int]:
    """Apply a function of strings; return its values, and how many of them do not exist."""
    first, *rest = arguments
    if isinstance(first, Strings) and not any(isinstance(each, Numbers | Strings) for each in rest):
        quick = _ON_DISTINCT.get(name)
        if quick is not None:
            return _expanded(first, quick(first.distinct, *rest)), 0
    return _by_definition(name, arguments, kind)


def _expanded(strings: Strings, found: pa.Array) -> Vector:
    if pa.types.is_boolean(found.type) or pa.types.is_integer(found.type):
        return expand(strings, found, np.bool_ if pa.types.is_boolean(found.type) else np.int64)
    return mapped(strings, found)


def _by_definition(name: str, arguments: list[Argument], kind: Type) -> tuple[Vector, int]:
    """Compute each distinct combination of arguments once."""
    columns = [_distinct(each) for each in arguments]
    length = len(columns[0][0])
    table = np.stack([np.broadcast_to(codes, length) for codes, _ in columns], axis=1)
    rows, inverse = np.unique(table, axis=0, return_inverse=True)
    codes = inverse.reshape(-1)
    results: list[Any] = []
    lost = np.zeros(len(rows), bool)
    for at, row in enumerate(rows.tolist()):
        given = [values[code] for (_, values), code in zip(columns, row, strict=True)]
        complete = all(each is not None for each in given)
        results.append(OPERATIONS[name](*given) if complete else None)
        lost[at] = complete and results[-1] is None
    counts = kind is not Type.BOOLEAN and name != "regexp_extract"
    found = pa.array([*results, None], _ARROW[kind])
    strings = Strings(codes, pa.nulls(len(found), pa.string()))
    return _expanded(strings, found), int(np.count_nonzero(lost[codes])) if counts else 0


_ARROW = {Type.STRING: pa.string(), Type.BOOLEAN: pa.bool_(), Type.INT: pa.int64()}


def _distinct(argument: Argument) -> tuple[np.ndarray, list[Any]]:
    """Return codes of an argument and the values that they stand for."""
    match argument:
        case Strings(codes=codes, distinct=distinct):
            return codes.astype(np.int64), distinct.to_pylist()
        case Numbers(values=values):
            known, codes = np.unique(values, return_inverse=True)
            codes = np.where(argument.is_valid(), codes.reshape(-1), len(known))
            return codes, [*known.tolist(), None]
        case Lists():
            raise UnsupportedError("a list among strings")
        case _:
            return np.zeros(1, np.int64), [argument]


def _substring(texts: pa.Array, start: int, length: int | None = None) -> pa.Array:
    start, size = _clipped(start), None if length is None else max(_clipped(length), 0)
    if start >= 0:
        first, _ = substring_bounds(start, None, 0)
        return pc.utf8_slice_codeunits(texts, first, None if size is None else first + size)
    if size is None or start + size >= 0:
        return pc.utf8_slice_codeunits(texts, start)
    return pc.utf8_slice_codeunits(texts, start, start + size)


def _clipped(number: int) -> int:
    """Bring a number into a range in which it can be added to; no string is that long."""
    return max(-(2**40), min(number, 2**40))


def _replace(texts: pa.Array, old: str, new: str) -> pa.Array:
    return pc.replace_substring(texts, old, new) if old else texts


def _extract(texts: pa.Array, pattern: str, group: str) -> pa.Array:
    return pc.struct_field(pc.extract_regex(texts, pattern=pattern), group)


_ON_DISTINCT: dict[str, Callable[..., pa.Array]] = {
    "lower": pc.utf8_lower,
    "upper": pc.utf8_upper,
    "length": pc.utf8_length,
    "starts_with": pc.starts_with,
    "ends_with": pc.ends_with,
    "contains": pc.match_substring,
    "trim": lambda texts: pc.utf8_trim(texts, " "),
    "substring": _substring,
    "replace": _replace,
    "regexp_extract": _extract,
}
"""Functions of a column of strings and constants, in Arrow."""

STRING_FUNCTIONS = frozenset({*_ON_DISTINCT, "split_part", "cidr_match"})
