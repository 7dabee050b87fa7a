"""The fast path: predicates to symbols, symbols through the kernels."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.bound import BoundQuery
from ensue.automata.build import AtStart, Compiled
from ensue.automata.determine import Determined
from ensue.automata.machine import Projected
from ensue.engine.findings import Enumerated
from ensue.engine.stream import Stream, column_at
from ensue.logic.evaluate import Tally
from ensue.predicates.evaluate import Batch
from ensue.predicates.symbols import Alphabet
from ensue.predicates.vectors import Strings, vector_of
from ensue.runtime.evaluate import count_ordinals
from ensue.runtime.evaluator import Evaluator, Table


def find_fast(
    compiled: Compiled,
    bound: BoundQuery,
    stream: Stream,
    tally: Tally,
    *,
    compact_always: bool = False,
) -> Enumerated:
    """Evaluate a query whose conditions are all about one event."""
    keys, opens = partition_keys(stream, bound)
    batch = Batch(stream.table, _strings(stream.types), tally)
    alphabet = Alphabet(compiled.predicates)
    asked = any(isinstance(each, AtStart) for each in compiled.predicates)
    streams = None if stream.streams is None else _strings(stream.streams)
    symbols = alphabet.read(batch, streams, opens if asked else None)
    clocks, key_clocks = _clocks(bound, stream, keys)
    evaluator = Evaluator(
        Table(Determined(compiled)),
        window=-1 if bound.window is None else bound.window.size,
        consume=bound.consume if bound.partition or bound.consume == "NONE" else "ANY",
        limit=-1 if bound.limit is None else bound.limit,
        compact_always=compact_always,
    )
    segments = list(evaluator.push(symbols, clocks, keys, 0, alphabet.bits, key_clocks))
    return Enumerated(segments, compiled.variables, evaluator.table.labels)


def positions_only(compiled: Compiled) -> Compiled:
    """Forget which variable an event is bound to: one bit for all."""
    return Compiled(_AnyVariable(compiled.machine), ("",), compiled.predicates)


class _AnyVariable(Projected):
    """A machine whose labels only say whether an event is bound."""

    __slots__ = ()

    def __init__(self, inner: object) -> None:
        super().__init__(inner, 0)  # type: ignore[arg-type]

    def change(self, label: int, holds: object) -> int | None:
        return int(label != 0)


def _strings(values: object) -> Strings:
    column = (
        values
        if isinstance(values, pa.ChunkedArray)
        else pa.chunked_array([pa.array(values, pa.string())])
    )
    strings = vector_of(column)
    assert isinstance(strings, Strings)
    return strings


def partition_keys(stream: Stream, bound: BoundQuery) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of each event's key (-1: NULL), and which events are their key's first."""
    first = np.zeros(stream.table.num_rows, bool)
    if not bound.partition:
        first[:1] = True
        return np.zeros(0, np.int32), first
    numbers: np.ndarray | None = None
    for path in bound.partition:
        codes = _codes(column_at(stream.table, path))
        if numbers is None:
            numbers = codes
        else:
            pairs = numbers * np.int64(codes.max(initial=0) + 1) + codes
            known = (numbers >= 0) & (codes >= 0)
            numbers = np.full(len(pairs), -1, np.int64)
            numbers[known] = np.unique(pairs[known], return_inverse=True)[1]
    assert numbers is not None
    present, where = np.unique(numbers, return_index=True)
    first[where[present >= 0]] = True
    return numbers.astype(np.int32), first


def _codes(column: pa.ChunkedArray) -> np.ndarray:
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    indices = [chunk.indices.cast(pa.int64()) for chunk in column.chunks]
    if not indices:
        return np.zeros(0, np.int64)
    codes: np.ndarray = pc.fill_null(pa.chunked_array(indices), -1).to_numpy()
    return codes


def _clocks(
    bound: BoundQuery, stream: Stream, keys: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return what windows are measured on, and for numbers within keys the next of each."""
    if bound.window is None or bound.window.kind != "events":
        return np.ascontiguousarray(stream.times), None
    if not len(keys):
        return np.arange(stream.table.num_rows, dtype=np.int64), None
    ordinals = np.zeros(len(keys), np.int64)
    counts = np.zeros(int(keys.max(initial=0)) + 1, np.int64)
    count_ordinals(keys, counts, ordinals)
    return ordinals, counts
