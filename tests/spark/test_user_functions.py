"""Functions of the user in Spark's workers: the same matches and columns as locally."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import ensue
from ensue.spark import recognize
from tests.spark.frames import frame_of
from tests.spark.test_totals import BY_KEY, table


def functions() -> dict[str, ensue.UserFunction]:
    """Return functions that close over values, as those of notebooks do."""
    factor = 2

    def twice(v: Any) -> Any:
        return pc.multiply(v, factor)

    def total(v: np.ndarray, w: np.ndarray) -> np.ndarray:
        return v + w

    return {
        "twice": ensue.function(twice, args=["int"], returns="int"),
        "total": ensue.function(total, args=["double", "double"], returns="double", arrays="numpy"),
    }


QUERIES = {
    "predicate": f"SELECT x FROM S WHERE A ; (B AS x) FILTER x[twice(v) > 4] {BY_KEY}",
    "condition": f"SELECT x FROM S WHERE A AS a ; B AS x FILTER twice(a.v) < x.v {BY_KEY}",
    "columns": f"SELECT x, max(total(x.v, x.w)) AS m FROM S WHERE A ; (B AS x) {BY_KEY}",
    "totals": f"SELECT count(*) AS n, sum(twice(x.v)) AS s FROM S WHERE A ; (B AS x) {BY_KEY}",
}


def aggregates() -> dict[str, ensue.UserAggregate]:
    """Return one aggregate of Python's objects, and one that Numba compiles in the workers."""
    modulus = 7
    return {
        "kinds": ensue.aggregate(
            frozenset(), lambda v: {v % modulus}, lambda a, b: a | b, len, returns="int"
        ),
        "modular": ensue.aggregate(
            0,
            lambda v: v % modulus,
            lambda a, b: (a + b) % modulus,
            returns="int",
            compiled=True,
        ),
    }


TOTALS = (
    f"SELECT count(*) AS n, kinds(x.v) AS k, modular(x.v) AS m FROM S WHERE A ; (B AS x)+ {BY_KEY}"
)


def test_aggregates_of_the_user_over_all_matches_on_spark_eq_local(spark: SparkSession) -> None:
    events = table()
    query = ensue.compile(TOTALS, aggregates=aggregates())
    found = recognize(frame_of(spark, events), query, time="ts", tasks=2).toArrow()
    here = query.run(events, time="ts").to_arrow()
    assert here.num_rows > 0
    assert sorted(map(repr, found.select(here.column_names).to_pylist())) == sorted(
        map(repr, here.to_pylist())
    )


def test_refused_matches_have_a_budget_on_spark(spark: SparkSession) -> None:
    never = "a.v * x.v > 10000000 + a.v - x.v"
    query = f"SELECT x FROM S WHERE (A AS a ; (B AS x)+) FILTER {never} {BY_KEY}"
    frame = frame_of(spark, table())
    with pytest.raises(Exception, match=r"more than 3 matches by \(B AS x\)\+.*max_matches"):
        recognize(frame, query, time="ts", tasks=2, max_matches=3).toArrow()


@pytest.mark.parametrize("name", QUERIES)
def test_functions_of_the_user_on_spark_eq_local(spark: SparkSession, name: str) -> None:
    events = table()
    query = ensue.compile(QUERIES[name], functions=functions())
    found = recognize(frame_of(spark, events), query, time="ts", tasks=2).toArrow()
    here = query.run(events, time="ts").to_arrow()
    shared = [each for each in here.column_names if each in found.column_names and each != "x"]
    assert here.num_rows > 0
    assert sorted(map(repr, found.select(shared).to_pylist())) == sorted(
        map(repr, here.select(shared).to_pylist())
    )
