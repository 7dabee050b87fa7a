"""The classes of events are those that predicates give, however they are found."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ensue.analysis.expressions import Attribute, Constant, Operation
from ensue.analysis.types import Type
from ensue.automata.compiled import Predicate, TypeTest
from ensue.predicates.comparisons import searched
from ensue.predicates.evaluate import Batch
from ensue.predicates.symbols import Classifier

SIGNS = ["=", "!=", "<", "<=", ">", ">="]
MANY = 1024
"""In batches of so many events, many comparisons of one column are found by a search."""


def compared(sign: str, attribute: Attribute, constant: float, mirrored: bool) -> Operation:
    kind = Type.INT if isinstance(constant, int) else Type.DOUBLE
    sides = (attribute, Constant(constant, kind))
    return Operation(sign, sides[::-1] if mirrored else sides, Type.BOOLEAN)


WHOLE = st.integers(0, 5) | st.sampled_from([-(2**63), 2**63 - 1, 2**53 + 1])
REAL = st.sampled_from([0.0, -0.0, 0.5, 1.5, 1e300, float("inf")])
PREDICATES = st.lists(
    st.builds(
        compared,
        st.sampled_from(SIGNS),
        st.sampled_from([Attribute(("v",), Type.INT), Attribute(("w",), Type.DOUBLE)]),
        WHOLE | REAL,
        st.booleans(),
    ),
    min_size=1,
    max_size=24,
)
ROWS = st.lists(
    st.tuples(st.sampled_from("AB"), st.none() | WHOLE, st.none() | REAL | st.just(float("nan"))),
    min_size=5,
    max_size=20,
)


@given(PREDICATES, ROWS, st.booleans())
def test_classes_eq_predicates(
    asked: list[Operation], rows: list[tuple[str, int | None, float | None]], many: bool
) -> None:
    predicates: tuple[Predicate, ...] = (TypeTest("A", None), *asked)
    every = rows * (MANY // len(rows) + 1 if many else 1)
    kinds, whole, real = zip(*every, strict=True)
    table = pa.table({"v": pa.array(whole, pa.int64()), "w": pa.array(real, pa.float64())})
    types = pa.chunked_array([pa.array(kinds).dictionary_encode()])
    found = Classifier(predicates).classes(Batch(table, types), None)
    assert found is not None
    alone = Batch(table.slice(0, len(rows)), types.slice(0, len(rows)))
    masks = [alone.holds(each).tolist() for each in asked]
    for row, (kind, _, _) in enumerate(rows):
        expected = int(kind == "A")
        for number, mask in enumerate(masks, 1):
            expected |= mask[row] << number
        assert {found.bits[each] for each in found.numbers[row :: len(rows)]} == {expected}


def test_many_comparisons_of_a_column_are_found_by_a_search() -> None:
    price = Attribute(("price",), Type.DOUBLE)
    several = [compared(SIGNS[n % 6], price, float(n), mirrored=n > 4) for n in range(9)]
    (found,) = searched(enumerate(several))
    assert [each.number for each in found.asked] == list(range(9))
    assert not searched(enumerate(several[:5]))
