"""register: make queries callable from Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from ensue.engine.query import Query
from ensue.messages import Message, Option
from ensue.options import (
    Limits,
    Output,
    ReadOptions,
    RecognizeArguments,
    chosen,
    refuse_text_options,
    takes,
)
from ensue.predicates.spark_literals import column
from ensue.spark.batch import SharedScan, task_of
from ensue.spark.distribution import timed_distribution
from ensue.spark.program import refuse_deadlines
from ensue.spark.pushdown import NOTHING_PUSHED
from ensue.spark.recognition import bound_programs
from ensue.spark.rows import schema_of
from ensue.spark.sql.fixed import FixedRecognize
from ensue.spark.sql.polymorphic import DEFAULT_TASKS, NAME, Recognize, bucket_text
from ensue.spark.types import arrow_schema, spark_schema
from ensue.spark.workers import check_workers


@takes(ReadOptions, Limits)
def register(
    spark: SparkSession,
    name: str = NAME,
    query: str | Query | None = None,
    schema: DataFrame | StructType | str | None = None,
    *,
    params: Mapping[str, object] | None = None,
    tasks: int | None = None,
    output: Output = "bindings",
    **options: Unpack[RecognizeArguments],
) -> str:
    """Register a table function for SQL, and return an example of its call.

    Without a query the function takes one as its argument, and the options as named arguments:
    `SELECT * FROM recognize(TABLE(events), 'SELECT * FROM …', time => 'ts')`. With a query and the
    columns of its events the function is for them alone; it reads Arrow batches, which is faster,
    and the call says how the table is partitioned and sorted, as in the example returned.

    Args:
        spark: the session; the function is known in it alone.
        name: what the function is called.
        query: the text or a compiled query.
        schema: the columns of the events: a DataFrame, its schema, or text such as
            'id long, type string, ts timestamp'.
        params: values for the parameters $name.
        tasks: into how many buckets the example hashes keys.
        output: 'positions' forgets which variable an event is bound to.
    """
    check_workers(spark)
    if query is None:
        given = [each for each in (schema, params, tasks, *options.values()) if each is not None]
        if given or output != "bindings":
            raise ValueError(
                "without a query, options are named arguments of the function in SQL: "
                f"{name}(TABLE(events), 'query', time => 'ts')"
            )
        # With Arrow in between, releases differ in the Python values that a row has.
        function: Any = F.udtf(Recognize, useArrow=False)
        spark.udtf.register(name, function)
        return f"SELECT * FROM {name}(TABLE(events), 'query', time => 'ts')"
    if schema is None:
        raise ValueError(
            Message(
                "a function for one query has fixed columns: pass ",
                Option("schema"),
                ", the DataFrame of the events or its schema",
            )
        )
    fixed, call = _fixed(name, query, _columns(schema), params, tasks, output, options)
    spark.udtf.register(name, fixed)
    return f"SELECT * FROM {call}"


def _fixed(
    name: str,
    query: str | Query,
    columns: StructType,
    params: Mapping[str, object] | None,
    tasks: int | None,
    output: Output,
    options: RecognizeArguments,
) -> tuple[Any, str]:
    arrow_udtf = getattr(F, "arrow_udtf", None)
    if arrow_udtf is None:
        raise RuntimeError(
            f"Spark {pyspark.__version__} has no table functions on Arrow, which came with 4.1: "
            "register(spark) without a query gives a function that takes it as its argument"
        )
    read = chosen(ReadOptions, options)
    refuse_text_options(read)
    limits = chosen(Limits, options)
    programs = bound_programs(arrow_schema(columns), query, read, output, None, params, limits)
    refuse_deadlines(programs)
    each = SharedScan(timed_distribution(programs[0]), tuple(programs))
    rows = schema_of(programs[0])
    cut = "WITH SINGLE PARTITION"
    if each.distribution.keys:
        cut = f"PARTITION BY {bucket_text(each, tasks or DEFAULT_TASKS)}"
    call = f"{name}(TABLE(events) {cut} ORDER BY {column(each.distribution.time)})"
    own = {"task": task_of(each, NOTHING_PUSHED, rows, False), "call": call}
    handler = type(name, (FixedRecognize,), own)
    return arrow_udtf(handler, returnType=spark_schema(rows)), call


def _columns(schema: DataFrame | StructType | str) -> StructType:
    if isinstance(schema, StructType):
        return schema
    found = StructType.fromDDL(schema) if isinstance(schema, str) else schema.schema
    if not isinstance(found, StructType):
        raise ValueError(Message(Option("schema", schema), " is no list of columns"))
    return found
