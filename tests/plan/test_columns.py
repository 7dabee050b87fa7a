"""Which columns a query reads: without the others it finds the same."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import assume, given

import ensue
from ensue.engine.binding import bind_to
from ensue.options import ReadOptions
from ensue.plan.columns import columns_read
from ensue.plan.physical import make_plan
from ensue.plan.result_schema import result_schema
from ensue.stream.conform import Conformer
from tests.pairs import Pair, pairs
from tests.strategies import Language

TABLE = pa.table(
    {"type": ["A"], "ts": [1], "k": ["x"], "v": [1.5], "w": [2], "r": [{"a": 1, "b": 2}], "no": [0]}
)


def read_by(
    query: str, options: ReadOptions | None = None, *, shown: bool = False
) -> set[str] | None:
    compiled = ensue.compile(query)
    chosen = options or ReadOptions()
    loaded = Conformer(["S"], chosen, compiled.schema).read(TABLE).batch
    bound = bind_to(compiled, loaded, chosen)
    schema = result_schema(bound, "", False) if shown else None
    names = columns_read(make_plan(bound), chosen, schema)
    return None if names is None else {name for name in names if name in TABLE.column_names}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT * FROM S WHERE A", set()),
        ("SELECT * FROM S WHERE A FILTER A[v > 1 OR abs(w) = 3]", {"v", "w"}),
        ("SELECT * FROM S WHERE A AS x ; A AS y FILTER x.v < y.w", {"v", "w"}),
        ("SELECT * FROM S WHERE A+ AS x FILTER x[same(v)] AND x[increasing(r.a)]", {"v", "r"}),
        ("SELECT * FROM S WHERE A ; NOT(A FILTER A[w = 1]) ; A", {"w"}),
        ("SELECT * FROM S WHERE A UNLESS A FILTER A[k = 'x']", {"k"}),
        ("SELECT * FROM S WHERE A AS x ; A AS y PARTITION BY [x.k, y.k]", {"k"}),
        ("SELECT * FROM S WHERE A PARTITION BY [k] WITHIN 3 [ts]", {"k", "ts"}),
        ("SELECT * FROM S WHERE A AGGREGATE Y[n = sum(A.v)] FILTER Y[n > 3]", {"v"}),
        ("SELECT x, max(x.w) FROM S WHERE A AS x", {"w"}),
        ("SELECT count(*), sum(A.w) AS s FROM S WHERE A PARTITION BY [k]", {"w", "k"}),
    ],
)
def test_the_columns_of_a_query(query: str, names: set[str]) -> None:
    assert read_by(query) == {"type", *names}


def test_the_columns_of_options() -> None:
    options = ReadOptions(type="k", time="r.a", tiebreak="w")
    assert read_by("SELECT * FROM S WHERE A", options) == {"k", "r", "w"}


def test_the_columns_that_matches_show() -> None:
    assert read_by("SELECT * FROM S WHERE A FILTER A[v > 1]", shown=True) is None
    assert read_by("SELECT A[w] FROM S WHERE A FILTER A[v > 1]", shown=True) == {"type", "v", "w"}
    assert read_by("SELECT NONE FROM S WHERE A FILTER A[v > 1]", shown=True) == {"type", "v"}
    assert read_by("SELECT count(*) FROM S WHERE A", shown=True) == {"type"}


@given(pair=pairs(Language(conditions=True, aggregates=True)))
def test_projected_eq_whole(pair: Pair) -> None:
    assume(pair.rows)
    compiled = ensue.compile(pair.text)
    table = pa.Table.from_pylist(pair.rows)
    options = ReadOptions()
    loaded = Conformer(["S"], options, compiled.schema).read(table).batch
    names = columns_read(make_plan(bind_to(compiled, loaded, options)), options)
    assert names is not None
    part = table.select([name for name in table.column_names if name in names])
    whole, found = (compiled.run(each) for each in (table, part))
    assert [repr(each) for each in found] == [repr(each) for each in whole]
