"""Random tables of the columns that expressions read."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests.predicates.columns import COLUMNS

TYPES = ("A", "B", "C", None)


@st.composite
def tables(draw: st.DrawFn, names: Collection[str], most: int = 6) -> tuple[pa.Table, pa.Array]:
    """Some columns in several chunks, sliced or not, and the type of every event."""
    rows = draw(st.sampled_from((3, 1, 2, most, 0)))
    before, after = draw(st.sampled_from(((0, 0), (0, 0), (1, 0), (2, 1))))
    columns: dict[str, pa.ChunkedArray] = {}
    for name in names:
        kind, values = COLUMNS[name]
        alone = draw(st.integers(0, 9)) == 9
        every = st.none() if alone else st.one_of(values, values, values, st.none())
        # What stands before and after in a chunk is sliced away.
        chunks = []
        for length in _pieces(draw, rows):
            size = before + length + after
            drawn = draw(st.lists(every, min_size=size, max_size=size))
            chunks.append(_column(draw, drawn, kind).slice(before, length))
        columns[name] = pa.chunked_array(chunks, kind)
    columns[_FILLER] = pa.chunked_array([pa.array([0] * rows, pa.int64())])
    types = draw(st.lists(st.sampled_from(TYPES), min_size=rows, max_size=rows))
    return pa.table(columns), pa.array(types, pa.string())


_FILLER = "\0rows"
"""A table without columns would have no rows."""


def _pieces(draw: st.DrawFn, rows: int) -> list[int]:
    cut = draw(st.integers(0, rows))
    return draw(st.sampled_from(([rows], [cut, rows - cut], [cut, 0, rows - cut])))


def _column(draw: st.DrawFn, values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return _dictionary(draw, values, kind)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return pa.array(values, pa.int64()).cast(kind)
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32()).cast(kind)
    return pa.array(values, kind)


def _dictionary(draw: st.DrawFn, values: list[Any], kind: pa.DataType) -> pa.Array:
    """Encode values by a dictionary that may hold NULLs, twins, and what nobody uses."""
    entries = [*values, *reversed(values)]
    if not draw(st.booleans()):
        entries = [each for each in entries if each is not None]
    places = [
        draw(
            st.sampled_from(
                [at for at, each in enumerate(entries) if each == value] + [None] * (value is None)
            )
        )
        for value in values
    ]
    return pa.DictionaryArray.from_arrays(
        pa.array(places, kind.index_type), pa.array(entries, kind.value_type)
    )
