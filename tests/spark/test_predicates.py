"""A predicate means the same in Spark as here, or is not given to Spark."""

from __future__ import annotations

import math
import random
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import ensue
from ensue.analysis.context import Clock
from ensue.analysis.expressions import Expression
from ensue.analysis.schema import from_arrow_schema
from ensue.automata.build import compile_formula
from ensue.automata.compiled import AtStart, TypeTest
from ensue.errors import CeqlError
from ensue.logic.build import to_formula
from ensue.predicates.evaluate import Batch
from ensue.predicates.regex import to_java
from ensue.predicates.spark_sql import Writer
from ensue.predicates.vectors import Strings, UnsupportedError, path_column, vector_of
from tests.effort import drawn
from tests.predicates.expressions import predicates
from tests.predicates.simple import SIMPLE
from tests.spark.frames import frame_of
from tests.spark.random_queries import SEED

ROWS = 150
INTEGERS = [
    0,
    1,
    -1,
    2,
    7,
    -7,
    2**31,
    2**53,
    2**53 + 1,
    -(2**53) - 1,
    3_037_000_500,
    -3_037_000_499,
]
INTEGERS += [-(2**63), -(2**63) + 1, 2**63 - 1, 2**63 - 2]
DOUBLES = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    7.0,
    0.49999999999999994,
    1e-300,
    math.nan,
    math.inf,
]
DOUBLES += [
    -math.inf,
    1e308,
    -1e308,
    5e-324,
    2.0**53,
    2.0**63,
    4503599627370497.5,
    1e22,
    -(2.0**63),
]
STRINGS = [
    "",
    "a",
    "A",
    "ab",
    "aB",
    "Ab",
    "b",
    "a%",
    "a_b",
    "\\",
    "é",
    "É",
    "ß",
    "x\ny",
    "a\r",
    "\n",
]
STRINGS += [
    "ﬁ",
    "İ",
    "日本",
    "🦊",
    "a🦊b",
    "e\u0301",
    "Σς",
    "a\0b",
    " a",
    "a'b",
    "a.b",
    "2026-01-31",
    " a b ",
    "a,b,,c",
    "10.1.2.3",
    "fd00::1",
]
SECONDS = [0, 1, -1, 59, 60, 3599, 3600, 86_399, 86_400, -86_400, -86_401, 951_782_400, 951_868_799]
SECONDS += [1_769_850_600, 1_798_761_599, -2_208_988_801, 9_000_000_000, -9_000_000_000]
DAYS = [0, 1, -1, 11_016, 20_484, -25_568, 99_999]
DECIMALS = [Decimal(text) for text in ("0.000", "1.500", "0.100", "-7.000", "9007199254740993.000")]


def table_of_odd_values(source: random.Random) -> pa.Table:
    """Return a table in which odd values meet in all combinations that chance makes."""

    def some(values: list[Any]) -> list[Any]:
        return [source.choice([*values, None]) for _ in range(ROWS)]

    def several(values: list[Any]) -> list[Any]:
        lists = [some(values)[: source.randrange(4)] for _ in range(ROWS)]
        return [None if source.random() < 0.2 else each for each in lists]

    def moments() -> list[Any]:
        start = datetime(1970, 1, 1, tzinfo=UTC)
        return [
            None
            if second is None
            else start + timedelta(seconds=second, microseconds=source.choice([0, 1, 999_999]))
            for second in some(SECONDS)
        ]

    zoned, plain = pa.timestamp("us", "UTC"), pa.timestamp("us")
    days = [None if day is None else date(1970, 1, 1) + timedelta(day) for day in some(DAYS)]
    nested = [
        {"x": x, "y": None if z is None else {"z": z, "d": d}}
        for x, z, d in zip(some(INTEGERS), some(STRINGS), some(DOUBLES), strict=True)
    ]
    inner = pa.struct([("z", pa.string()), ("d", pa.float64())])
    small = [None if i is None else i % 1000 - 500 for i in some(INTEGERS)]
    columns = {
        "i": pa.array(some(INTEGERS), pa.int64()),
        "j": pa.array(some([*range(-9, 10), *INTEGERS]), pa.int64()),
        "short": pa.array(small, pa.int16()),
        "unsigned": pa.array([None if i is None else i + 500 for i in small], pa.uint32()),
        "d": pa.array(some(DOUBLES), pa.float64()),
        "e": pa.array(some([0.0, -0.0, 0.5, 1.0, 2.0, 7.0, -3.5]), pa.float64()),
        "single": pa.array(some([0.0, 0.5, 1.5, math.nan, 3.0e38, 0.1]), pa.float32()),
        "b": pa.array(some([True, False]), pa.bool_()),
        "c": pa.array(some([True, False]), pa.bool_()),
        "s": pa.array(some(STRINGS), pa.string()),
        "t": pa.array(some(STRINGS), pa.string()),
        "u": pa.array(some(STRINGS), pa.string()),
        "at_s": pa.array(moments(), zoned),
        "at_us": pa.array(moments(), zoned),
        "at_ms": pa.array([m and m.replace(tzinfo=None) for m in moments()], plain),
        "at_ns": pa.array([m and m.replace(tzinfo=None) for m in moments()], plain),
        "day": pa.array(days, pa.date32()),
        "m": pa.array(some(DECIMALS), pa.decimal128(20, 3)),
        "n": pa.array(nested, pa.struct([("x", pa.int64()), ("y", inner)])),
        "strings": pa.array(several(STRINGS), pa.list_(pa.string())),
        "ints": pa.array(several(INTEGERS), pa.list_(pa.int64())),
        "doubles": pa.array(several(DOUBLES), pa.list_(pa.float64())),
        "flags": pa.array(several([True, False]), pa.list_(pa.bool_())),
        "type": pa.array(some(["A", "B", "C"]), pa.string()),
        "row": pa.array(range(ROWS)),
    }
    return pa.table(columns)


def predicate_of(text: str, table: pa.Table) -> Expression | None:
    """Bind a predicate to the columns; None where the language has something against it."""
    schema = from_arrow_schema(table.schema, closed=False)
    try:
        query = ensue.compile(f"SELECT * FROM S WHERE ANY AS X FILTER X[{text}]")
        bound = query.bind(schema, Clock(None, None, known=True))
        (predicate,) = compile_formula(to_formula(bound)).predicates
    except (CeqlError, ValueError):
        return None
    assert not isinstance(predicate, TypeTest | AtStart)
    return predicate


def compare(frame: DataFrame, texts: list[str]) -> tuple[int, int]:
    """Evaluate predicates on both sides; return how many Spark was given, and of how many."""
    table = frame.orderBy("row").toArrow()
    empty = table.slice(0, 0)

    def type_at(path: tuple[str, ...]) -> pa.DataType | None:
        column = path_column(empty, path)
        return None if column is None else column.type

    types = vector_of(table.column("type"))
    assert isinstance(types, Strings)
    writer, batch = Writer(type_at, "`type`"), Batch(table, types)
    given_, asked, written = {}, 0, []
    for text in texts:
        predicate = predicate_of(text, table)
        if predicate is None:
            continue
        asked += 1
        with suppress(UnsupportedError):
            sql = writer.holds(predicate)
            name = f"p{len(given_)}"
            given_[name] = (text, sql, batch.holds(predicate).tolist())
            written.append(F.expr(sql).alias(name))
    answers = frame.select("row", *written).orderBy("row").toArrow()
    wrong = []
    for name, (text, sql, expected) in given_.items():
        for row, (said, right) in enumerate(
            zip(answers.column(name).to_pylist(), expected, strict=True)
        ):
            if said is not right:
                wrong.append((text, sql, table.slice(row, 1).to_pylist()[0]))
                break
    assert not wrong, f"seed {SEED}: {len(wrong)} predicates differ, such as {wrong[0]}"
    return len(given_), asked


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    table = table_of_odd_values(random.Random(SEED))
    return frame_of(spark, table, 2).withColumn("nothing", F.lit(None)).cache()


def test_predicate_in_spark_eq_local_for_every_operator_and_column(frame: DataFrame) -> None:
    texts = [text for each in SIMPLE.values() for text in each]
    given_, asked = compare(frame, texts)
    assert given_ > 0.6 * asked


def test_predicate_in_spark_eq_local(frame: DataFrame) -> None:
    given_, _ = compare(frame, drawn(predicates(2), 200, SEED))
    assert given_ > 75


def test_predicate_in_spark_eq_local_in_another_time_zone_and_without_ansi(
    spark: SparkSession, frame: DataFrame
) -> None:
    changed = {
        "spark.sql.session.timeZone": "America/Santiago",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.parser.escapedStringLiterals": "true",
    }
    before = {name: spark.conf.get(name) for name in changed}
    for name, value in changed.items():
        spark.conf.set(name, value)
    try:
        texts = [
            text
            for name, each in SIMPLE.items()
            if name.split()[0] in ("i", "d", "s", "at_us", "at_ms", "day")
            for text in each
        ]
        compare(frame, texts)
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


PATTERNS = (
    *"a ^a a$ ^a$ . ^.$ a.b [a-z] ^[^a]$ a|b (a|b)+ ^(?:a|b){2}$ a{1,2} é \\. \\\\ ".split(),
    *"\\d{4}-\\d ^\\w*$ \\W a*? ^a??b x.y ^$ $ a\\r 日 ^..$".split(),
)


def test_regular_expressions_mean_the_same_to_both(frame: DataFrame) -> None:
    given_, asked = compare(frame, [f"s RLIKE '{pattern}'" for pattern in PATTERNS])
    assert given_ > asked // 2


@pytest.mark.parametrize("pattern", ["(?i)a", "\\s", "a\\b", "[[:alpha:]]", "\\pL", "\\Aa", "a**"])
def test_regular_expressions_that_may_differ_stay_here(pattern: str) -> None:
    with pytest.raises(UnsupportedError):
        to_java(pattern)
