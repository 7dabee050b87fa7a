"""A batch job finds what the local engine finds, whichever way the work is spread."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from ensue.options import DEFAULT_LIMITS, ReadOptions
from ensue.spark import recognize
from ensue.spark.distribution import timed_distribution
from ensue.spark.recognition import programs_of
from tests.effort import FUZZ
from tests.spark.frames import frame_of, ids_by_query, local
from tests.spark.random_queries import SEED, Family, batch
from tests.strategies import Language

MANY, FEW = (50, 20) if FUZZ else (14, 8)
PLAIN, CONDITIONS = Language(), Language(conditions=True)


@pytest.mark.parametrize("language", [PLAIN, CONDITIONS], ids=["plain", "conditions"])
@pytest.mark.parametrize(
    ("family", "count", "pushdown"),
    [
        ("keys", MANY, True),
        ("keys", FEW, False),
        ("slices", MANY, True),
        ("slices", FEW, False),
        ("one", FEW, True),
        ("one", FEW + 1, False),
    ],
)
def test_spark_batch_eq_local(
    spark: SparkSession, family: Family, count: int, pushdown: bool, language: Language
) -> None:
    drawn = batch(family, count, 2 * count + language.conditions, language)
    assert len(drawn.queries) == count
    frame = frame_of(spark, drawn.table)
    programs = programs_of(
        frame,
        drawn.queries,
        ReadOptions(time="ts", tiebreak="id"),
        "bindings",
        None,
        None,
        DEFAULT_LIMITS,
    )
    assert family in {timed_distribution(program).kind for program in programs}
    found = ids_by_query(
        recognize(frame, drawn.queries, time="ts", tiebreak="id", tasks=3, pushdown=pushdown)
    )
    expected = local(drawn.queries, drawn.table, time="ts", tiebreak="id")
    assert len(expected) > (0 if family == "one" else count // 8)
    for name, text in drawn.queries.items():
        assert found.get(name) == expected.get(name), f"seed {SEED}: {text}"
