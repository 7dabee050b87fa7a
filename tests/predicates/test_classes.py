"""The classes of events are those that predicates give, whether few or many events satisfy them."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ensue.analysis.expressions import Attribute, Constant, Operation
from ensue.analysis.types import Type
from ensue.automata.compiled import Predicate, TypeTest
from ensue.predicates.evaluate import Batch
from ensue.predicates.symbols import Classifier

SIGNS = ["=", "!=", "<", "<=", ">", ">="]


def compared(sign: str, constant: int) -> Operation:
    sides = (Attribute(("v",), Type.INT), Constant(constant, Type.INT))
    return Operation(sign, sides, Type.BOOLEAN)


PREDICATES = st.lists(
    st.builds(compared, st.sampled_from(SIGNS), st.integers(0, 9)), min_size=1, max_size=9
)
ROWS = st.lists(
    st.tuples(st.sampled_from("AB"), st.none() | st.integers(0, 9)), min_size=5, max_size=40
)


@given(PREDICATES, ROWS)
def test_classes_eq_predicates(asked: list[Operation], rows: list[tuple[str, int | None]]) -> None:
    predicates: tuple[Predicate, ...] = (TypeTest("A", None), *asked)
    table = pa.table({"v": pa.array([value for _, value in rows], pa.int64())})
    types = pa.chunked_array([pa.array([kind for kind, _ in rows]).dictionary_encode()])
    batch = Batch(table, types)
    found = Classifier(predicates).classes(batch, None)
    assert found is not None
    masks = [batch.holds(each).tolist() for each in asked]
    for row, (kind, _) in enumerate(rows):
        expected = int(kind == "A")
        for number, mask in enumerate(masks, 1):
            expected |= mask[row] << number
        assert found.bits[found.numbers[row]] == expected
    assert batch.types.codes.tolist() == [
        types.chunk(0).indices[row].as_py() for row in range(len(rows))
    ]
