"""Predicates a column at a time against predicates one by one."""

from __future__ import annotations

from functools import cache

import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import ensue
from ensue.analysis.context import Clock
from ensue.analysis.expressions import Expression, paths_of
from ensue.analysis.schema import from_arrow_schema
from ensue.automata.build import compile_formula
from ensue.automata.compiled import AtStart, Compiled, TypeTest
from ensue.automata.machine import One
from ensue.logic.build import to_formula
from ensue.logic.complex_event import Event
from ensue.predicates.evaluate import Batch
from ensue.predicates.symbols import Alphabet
from ensue.predicates.values import python_values
from ensue.predicates.vectors import Strings, vector_of
from tests import seams
from tests.automata.slow_twin import symbol_of
from tests.effort import broad, heavy
from tests.predicates.columns import COLUMNS, SCHEMA
from tests.predicates.expressions import predicates
from tests.predicates.simple import SIMPLE
from tests.predicates.tables import tables

OPEN_SCHEMA = from_arrow_schema(SCHEMA, closed=False)


def machine_of(pattern: str) -> Compiled:
    """Bind a pattern to the columns, the way queries are bound, and return its machine."""
    query = ensue.compile(f"SELECT * FROM S WHERE {pattern}")
    return compile_formula(to_formula(query.bind(OPEN_SCHEMA, Clock(None, None, known=True))))


def predicate_of(text: str) -> Expression:
    (predicate,) = machine_of(f"ANY AS X FILTER X[{text}]").predicates
    assert not isinstance(predicate, TypeTest | AtStart)
    return predicate


def columns_of(*predicates: object) -> list[str]:
    """Return the columns that predicates read, in a fixed order."""
    read = {
        path[0]
        for each in predicates
        if not isinstance(each, TypeTest | AtStart)
        for path in paths_of(each)  # type: ignore[arg-type]
    }
    return [name for name in COLUMNS if name in read]


def events_of(table: pa.Table, types: pa.Array) -> list[Event]:
    columns = {name: python_values(table.column(name)) for name in table.column_names}
    return [
        Event(kind, {name: values[row] for name, values in columns.items()})
        for row, kind in enumerate(types.to_pylist())
    ]


def strings_of(types: pa.Array) -> Strings:
    strings = vector_of(pa.chunked_array([types]))
    assert isinstance(strings, Strings)
    return strings


def check(text: str, predicate: Expression, table: pa.Table, types: pa.Array) -> None:
    """Compare what holds for all events at once with what holds for each."""
    compiled = Compiled(One((0,), 1), ("X",), (predicate,))
    expected = [symbol_of(compiled, event, 0) == 1 for event in events_of(table, types)]
    assert Batch(table, strings_of(types)).holds(predicate).tolist() == expected, text


@broad
@given(predicates(2), st.data())
def test_predicate_vectorised_eq_scalar(text: str, data: st.DataObject) -> None:
    predicate = predicate_of(text)
    table, types = data.draw(tables(columns_of(predicate)))
    check(text, predicate, table, types)


@cache
def simple(column: str) -> dict[str, Expression]:
    return {text: predicate_of(text) for text in SIMPLE[column]}


@pytest.mark.parametrize("column", SIMPLE)
@heavy
@given(st.data())
def test_every_operator_vectorised_eq_scalar(column: str, data: st.DataObject) -> None:
    asked = simple(column)
    table, types = data.draw(tables(columns_of(*asked.values())))
    for text, predicate in asked.items():
        check(text, predicate, table, types)


def several() -> st.SearchStrategy[list[str]]:
    """Few predicates, or more than a word has bits."""
    few = st.lists(predicates(1), min_size=1, max_size=6)
    many = st.tuples(few, st.integers(65, 80)).map(
        lambda drawn: [*drawn[0], *(f"i > {number}" for number in range(drawn[1]))]
    )
    return st.one_of(few, few, few, many)


@given(several(), st.data())
def test_symbols_eq_predicates_one_by_one(texts: list[str], data: st.DataObject) -> None:
    asked = " AND ".join(f"X[{text}]" for text in texts)
    compiled = machine_of(f"(START(A) OR B OR ANY) AS X FILTER {asked}")
    alphabet = Alphabet(compiled.predicates)
    names = columns_of(*compiled.predicates)
    seen = 0
    for _ in range(data.draw(st.integers(1, 3))):
        table, types = data.draw(tables(names))
        note(str(table.to_pydict()))
        first = (pa.array(range(seen, seen + len(types)), pa.int64()).to_numpy()) == 0
        with pytest.MonkeyPatch.context() as patch:
            # A few events at a time are read in another way than many.
            seams.SMALL_ALPHABET.put(patch, data.draw(st.sampled_from((0, 100))))
            seams.RARE_SYMBOL.put(patch, data.draw(st.sampled_from((0, 100))))
            symbols = alphabet.read(Batch(table, strings_of(types)), None, first)
        expected = [
            symbol_of(compiled, event, seen + row)
            for row, event in enumerate(events_of(table, types))
        ]
        assert [alphabet.bits[symbol] for symbol in symbols.tolist()] == expected
        seen += len(types)
    assert len(set(alphabet.bits)) == len(alphabet.bits)
