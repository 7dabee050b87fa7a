"""recognize(TABLE(events), 'query', …): a table function whose columns follow from the query.

Spark calls `analyze` with the columns of the table and the constant arguments while it plans. The
answer says what rows the function gives, and how Spark is to partition and sort the table and what
to send of it: keys in buckets, sorted by time, predicates evaluated by Spark as in batch jobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Unpack

import pyarrow as pa
from pyspark.sql.types import Row, StringType, StructType
from pyspark.sql.udtf import (
    AnalyzeArgument,
    AnalyzeResult,
    OrderingColumn,
    PartitioningColumn,
    SelectedColumn,
)

from ensue.errors import CeqlError, EnsueError, EventError
from ensue.messages import Parameter, Setting, message_of, spelled
from ensue.options import (
    Limits,
    Output,
    ReadOptions,
    RecognizeArguments,
    chosen,
    refuse_text_options,
    takes,
)
from ensue.predicates.spark_literals import column, string
from ensue.predicates.vectors import path_column
from ensue.spark.batch import SharedScan, task_of
from ensue.spark.columns import joined
from ensue.spark.distribution import timed_distribution
from ensue.spark.partitioner import labels
from ensue.spark.program import Program, arrow_type_at, refuse_deadlines
from ensue.spark.pushdown import NOTHING_PUSHED, pushed
from ensue.spark.recognition import bound_programs
from ensue.spark.rows import schema_of
from ensue.spark.sql.events import columns_sent, event_text, table_of
from ensue.spark.sql.sorted_run import SortedRun
from ensue.spark.types import arrow_schema, spark_schema
from ensue.spark.worker import Task

NAME = "recognize"
DEFAULT_TASKS = 64
"""Spark does not tell `analyze` how many tasks there will be; it puts small buckets together."""

_EVENT = "ensue_event"
_CHUNK = 50_000

_STREAMS = "recognize in SQL reads tables; for a stream call ensue.spark.recognize(df, query)"
"""A constant that Spark sorts by, at no cost: it refuses to sort streams, and shows what it was
to sort by. Nothing else in a plan can say so, and analyze is not told what the table is."""


@dataclass
class Plan(AnalyzeResult):
    """What `analyze` found out, for the workers."""

    task: Task | None = None
    columns: pa.Schema | None = None


class CallError(EnsueError, ValueError):
    """A call that is wrong, said to who wrote it: Spark shows the text and where it was raised."""


class Recognize:
    """The table function: one instance for each bucket of keys."""

    def __init__(self, plan: Plan) -> None:
        assert plan.task is not None
        assert plan.columns is not None
        self._run, self._columns = SortedRun(plan.task), plan.columns
        self._rows: list[tuple[Any, ...]] = []

    @staticmethod
    def analyze(
        events: AnalyzeArgument, query: AnalyzeArgument, **options: AnalyzeArgument
    ) -> Plan:
        """Plan a call."""
        try:
            if not isinstance(events.dataType, StructType) or not events.isTable:
                raise EventError("the first argument is the table of events: TABLE(events)")
            values = {name: _constant(name, each) for name, each in options.items()}
            return recognize(events.dataType, _constant("query", query), **values)
        except CeqlError as error:
            raise CallError(error.render(spelling=as_sql)) from None
        except (EnsueError, TypeError, ValueError) as error:
            raise CallError(spelled(message_of(error), as_sql)) from None

    def eval(self, events: Row, query: object, **options: object) -> Iterator[Any] | None:
        """Take in an event; give rows now and then."""
        event = events[0]
        if event is not None:
            self._rows.append(event)
            if len(self._rows) >= _CHUNK:
                return self._taken()
        return None

    def terminate(self) -> Iterator[Any]:
        """Give the rest."""
        yield from self._taken()
        yield from _tuples(self._run.finish())

    def _taken(self) -> Iterator[Any]:
        rows, self._rows = self._rows, []
        if rows:
            yield from _tuples(self._run.push(table_of(rows, self._columns)))


def _tuples(tables: Iterator[pa.Table]) -> Iterator[tuple[Any, ...]]:
    for table in tables:
        for row in table.to_pylist(maps_as_pydicts="strict"):
            yield tuple(row.values())


def as_sql(setting: Setting) -> str:
    """Spell an option as a named argument of SQL.

    >>> from ensue.messages import Option
    >>> as_sql(Option("time")), as_sql(Option("time_unit", "ms")), as_sql(Parameter("low"))
    ('time => …', "time_unit => 'ms'", "params => map('low', …)")
    """
    if isinstance(setting, Parameter):
        value = "…" if setting.value is ... else repr(setting.value)
        return f"params => map({setting.name!r}, {value})"
    return f"{setting.name} => {'…' if setting.value is None else repr(setting.value)}"


def _constant(name: str, argument: AnalyzeArgument) -> Any:
    if argument.isTable or not argument.isConstantExpression:
        raise EventError(f"{name} must be a constant, known before events are read")
    value = argument.value
    return value.asDict() if isinstance(value, Row) else value


@takes(ReadOptions, Limits)
def recognize(
    table: StructType,
    query: str | Mapping[str, str],
    *,
    schema: Mapping[str, str] | None = None,
    params: Mapping[str, object] | None = None,
    tasks: int | None = None,
    pushdown: bool = True,
    output: Output = "bindings",
    **options: Unpack[RecognizeArguments],
) -> Plan:
    """Plan a call of the table function."""
    if not isinstance(query, str | Mapping):
        raise TypeError(f"the query is a text, or a map of names and texts, not {query!r}")
    _check_collations(table)
    read = chosen(ReadOptions, options)
    refuse_text_options(read)
    names = isinstance(query, Mapping)
    programs = bound_programs(
        arrow_schema(table),
        query,
        read,
        output,
        schema,
        # SQL writes 1.5 as a decimal.
        {name: _number(value) for name, value in (params or {}).items()},
        chosen(Limits, options),
    )
    refuse_deadlines(programs)
    each = _one_scan(programs)
    push = pushed(each.programs) if pushdown else NOTHING_PUSHED
    rows = [schema_of(program) for program in programs]
    columns = joined(rows) if names else rows[0]
    sent = columns_sent(each, push)
    count = tasks or DEFAULT_TASKS
    bucket = _spread(bucket_text(each, count), count)
    return Plan(
        schema=spark_schema(columns),
        withSinglePartition=not each.distribution.keys,
        partitionBy=[PartitioningColumn(bucket)] if each.distribution.keys else [],
        orderBy=[OrderingColumn(string(_STREAMS)), OrderingColumn(column(each.distribution.time))],
        select=[SelectedColumn(event_text(each, push, sent), _EVENT)],
        task=task_of(each, push, columns, names),
        columns=sent,
    )


def _one_scan(programs: list[Program]) -> SharedScan:
    distributions = {program.name: timed_distribution(program) for program in programs}
    first = distributions[programs[0].name]
    for program in programs:
        distribution = distributions[program.name]
        alike = (distribution.keys, distribution.time) == (first.keys, first.time)
        if not alike or program.options != programs[0].options:
            raise EventError(
                f"the queries {programs[0].name} and {program.name} have different PARTITION BY or "
                "times, and one call reads the table in one way: call recognize for each of them"
            )
    return SharedScan(first, tuple(programs))


def bucket_text(each: SharedScan, count: int) -> str:
    """Write the bucket of an event's key, a number from 0 on: equal keys have equal buckets."""
    columns = each.programs[0].columns
    keys = []
    for path in each.distribution.keys:
        if path_column(columns.empty_table(), path) is None:
            keys.append("NULL")
        elif pa.types.is_floating(arrow_type_at(columns, path)):
            keys.append(f"{column(path)} + 0.0D")  # so that 0.0 and -0.0 are one
        else:
            keys.append(column(path))
    return f"pmod(hash({', '.join(keys)}), {count})"


def _spread(bucket: str, count: int) -> str:
    """Write a bucket so that Spark puts alike many of them into each partition."""
    return f"array({', '.join(map(str, labels(count)))})[{bucket}]"


def _number(value: object) -> object:
    return float(value) if isinstance(value, Decimal) else value


def _check_collations(table: StructType) -> None:
    for each in table:
        if isinstance(each.dataType, StringType) and " collate " in each.dataType.simpleString():
            name = column((each.name,))
            raise EventError(
                f"the column {name} has a collation, and queries compare strings by their bytes: "
                f"read TABLE(SELECT …, collate({name}, 'UTF8_BINARY') AS {name} FROM …)"
            )
