"""PARTITION BY over columns of every kind, the fast path against the meaning by definition."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensue
from ensue.engine.run import find_matches
from ensue.options import ReadOptions
from tests.effort import heavy
from tests.predicates.columns import COLUMNS
from tests.predicates.tables import tables

PATTERNS = (
    "(ANY AS x ; ANY AS y) PARTITION BY {}",
    "START(ANY AS x) PARTITION BY {}",
    "(A : ANY AS x) PARTITION BY {} WITHIN 1 EVENTS CONSUME BY PARTITION",
)
PLAIN = (name for name, (kind, _) in COLUMNS.items() if not pa.types.is_nested(kind))
KINDS = [*PLAIN, "n.x", "n.y.z", "n.y.d", "type"]


def found(query: ensue.Query, events: object, **how: Any) -> Counter[str]:
    return Counter(
        map(str, find_matches(query, events, ReadOptions(), positions_only=False, **how))
    )


def check(keys: list[str], data: st.DataObject) -> None:
    columns = {key.split(".")[0] for key in keys} - {"type"}
    table, types = data.draw(tables(sorted(columns)))
    events = table.append_column("type", types)
    written = ", ".join(f"[`{key}`]" for key in keys)
    for pattern in PATTERNS:
        query = ensue.compile(f"SELECT * FROM S WHERE {pattern.format(written)}")
        assert found(query, events) == found(query, events, by_definition=True), pattern


@pytest.mark.parametrize("key", KINDS)
@heavy
@given(data=st.data())
def test_partitions_by_one_column_eq_reference(key: str, data: st.DataObject) -> None:
    check([key], data)


@given(st.lists(st.sampled_from(KINDS), min_size=2, max_size=3, unique=True), st.data())
def test_partitions_by_several_columns_eq_reference(keys: list[str], data: st.DataObject) -> None:
    check(keys, data)
