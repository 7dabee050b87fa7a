"""Symbols that are looked up by the codes of strings are those that predicates give."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ensue.analysis.expressions import Attribute, Constant, Operation
from ensue.analysis.types import Type
from ensue.automata.compiled import Predicate, TypeTest
from ensue.predicates.evaluate import Batch
from ensue.predicates.symbols import Alphabet, Classifier

NAMES = ["a", "b", "c", "d"]


def is_named(name: str) -> Operation:
    sides = (Attribute(("name",), Type.STRING), Constant(name, Type.STRING))
    return Operation("=", sides, Type.BOOLEAN)


PREDICATES: tuple[Predicate, ...] = (
    TypeTest("A", None),
    TypeTest(None, None),
    is_named("a"),
    is_named("c"),
)
ROWS = st.lists(
    st.tuples(st.sampled_from([0, 1, 2, None]), st.sampled_from([0, 1, 2, 3, None])),
    min_size=5,
    max_size=12,
)
"""Of more events than are evaluated one by one."""


@given(st.lists(ROWS, min_size=1, max_size=4), st.booleans())
def test_looked_up_eq_evaluated(
    batches: list[list[tuple[int | None, int | None]]], shared: bool
) -> None:
    alphabet = Alphabet(PREDICATES)
    types, names = pa.array(["A", "B", "C"]), pa.array(NAMES)
    for rows in batches:
        if not shared:
            types, names = pa.array(["C", "A", "B"]), pa.array(NAMES[::-1])
        columns = [
            pa.DictionaryArray.from_arrays(pa.array([row[at] for row in rows], pa.int32()), values)
            for at, values in enumerate((types, names))
        ]
        table = pa.table(columns, names=["type", "name"])
        batch = Batch(table, table.column("type"))
        symbols = alphabet.read(batch, None, None)
        expected = Classifier(PREDICATES).classes(Batch(table, table.column("type")), None)
        assert expected is not None
        assert [alphabet.bits[each] for each in symbols] == [
            expected.bits[each] for each in expected.numbers
        ]
        assert symbols.dtype == np.int32
