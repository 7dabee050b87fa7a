"""recognize: a DataFrame of events to a DataFrame of matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import reduce
from typing import Unpack

import pyarrow as pa
from pyspark.sql import DataFrame

from ensue.engine.query import Query, compile
from ensue.errors import CeqlWarning, EnsueError, warn
from ensue.messages import Message, Option
from ensue.options import (
    Limits,
    Output,
    ReadOptions,
    RecognizeArguments,
    ResultOptions,
    SchemaLike,
    chosen,
    refuse_text_options,
    takes,
    with_settings,
)
from ensue.spark import batch
from ensue.spark.columns import joined, with_late
from ensue.spark.distribution import TimedDistribution, timed_distribution
from ensue.spark.kernels import ship
from ensue.spark.program import Program
from ensue.spark.pushdown import NOTHING_PUSHED, pushed
from ensue.spark.rows import schema_of
from ensue.spark.rules.looking import RulesLike
from ensue.spark.rules.recipe import Recipe
from ensue.spark.rules.recognize import RuleJob
from ensue.spark.streaming import job as streaming
from ensue.spark.streaming.bucket import DEFAULT_BUCKETS
from ensue.spark.streaming.idle import milliseconds
from ensue.spark.streaming.metrics import metric_names
from ensue.spark.types import arrow_schema, plain_strings
from ensue.spark.watching import Watch, keep, report
from ensue.spark.workers import check_workers

Queries = str | Query | Mapping[str, str | Query]


@takes(ReadOptions, Limits)
def recognize(
    events: DataFrame,
    query: Queries | None = None,
    *,
    rules: RulesLike | None = None,
    key: str | Sequence[str] | None = None,
    schema: SchemaLike = None,
    params: Mapping[str, object] | None = None,
    tasks: int | None = None,
    late: str | None = None,
    flush: str | None = None,
    idle_timeout: str | timedelta | None = None,
    pushdown: bool = True,
    output: Output = "bindings",
    until: int | datetime | date | None = None,
    **options: Unpack[RecognizeArguments],
) -> DataFrame:
    """Find all matches of a query, or of several in one pass, in a DataFrame of events.

    A query that is wrong, or asks for columns that are not there, is an error at once. Without a
    `tiebreak` the order of events of one time is stable, but unspecified. `lateness` matters on a
    stream; else all events are there to be sorted. Limits hold for each task.

    Args:
        events: one row an event.
        query: the text, a compiled query, or {name: either}: then a column `query` has the names.
        rules: in place of a query, rules that may change while a stream runs: a folder of rule
            files, a table with the columns `name` and `query` or its name, or a function that
            returns {name: text}. They are looked at when a micro-batch begins. Rows have the same
            columns whatever the rules are.
        key: with rules, columns that all of them are partitioned by: events are spread by these.
            Without it one task reads all events of a stream.
        schema: types of attributes, as for ensue.compile.
        params: values for the parameters $name.
        tasks: into how many tasks to cut the work, instead of spark.sql.shuffle.partitions; on a
            stream, into how many buckets keys are hashed (16). A checkpoint keeps the number.
        late: on a stream, a name for one more column. An event that comes too late is a row then,
            a struct in that column and NULL in all others.
        flush: the checkpointLocation of a stream of this query that is over. The answer is a
            finite DataFrame of the matches whose events still wait there for the watermark.
        idle_timeout: on a stream, such as '30 seconds': when for so long no event has come that is
            later than all before, the watermark moves on by processing time. Events that lie
            before it then are late. Without it the watermark stands still until events come.
        pushdown: let Spark evaluate predicates and leave out events that cannot matter.
        output: 'positions' forgets which variable an event is bound to.
        until: of a finite DataFrame, the time that has come after its last event, which may decide
            what NOT FOLLOWED BY waits for; on a stream the watermark says it.
    """
    report()
    events = plain_strings(events)
    read = chosen(ReadOptions, options)
    refuse_text_options(read)
    lateness, in_order = read.lateness, replace(read, lateness=None)
    limits = chosen(Limits, options)
    timeout = None if idle_timeout is None else milliseconds(idle_timeout)
    if rules is not None:
        if query is not None:
            raise TypeError("recognize() takes a query or rules=, not both")
        names_of_key = (key,) if isinstance(key, str) else tuple(key or ())
        positions_only = ResultOptions(output=output).positions_only
        columns = arrow_schema(events.schema)
        recipe = Recipe(columns, in_order, limits, schema, params, positions_only, names_of_key)
        ruled = RuleJob(recipe, tasks, late, flush, lateness, timeout, pushdown)
        return ruled.run(events, rules)
    if query is None:
        raise TypeError("recognize() needs a query, or rules=")
    if key is not None:
        raise TypeError(
            Message(Option("key"), " goes with rules=; a query has its own in PARTITION BY")
        )
    programs = programs_of(events, query, in_order, output, schema, params, limits)
    distributions = [(timed_distribution(program), program) for program in programs]
    for distribution, program in distributions:
        if events.isStreaming and program.is_derived and distribution.kind != "keys":
            raise EnsueError(
                f"{program.name}: derived streams run on a stream of Spark where all their queries "
                f"have a key of PARTITION BY in common, but {distribution.why}; on a finite "
                "DataFrame, and locally, they run as they are"
            )
        _warn(distribution, program)
    if until is not None and events.isStreaming:
        raise ValueError(
            Message(
                Option("until"),
                " is for finite DataFrames; on a stream, the watermark says how far time has come",
            )
        )
    check_workers(events.sparkSession)
    names = isinstance(query, Mapping)
    schemas = [schema_of(program) for program in programs]
    columns = joined(schemas) if names else schemas[0]
    if late is not None:
        columns = with_late(columns, late, programs[0].columns)
    every = batch.shared_scans(distributions, ship(events.sparkSession))
    if flush is not None:
        own = [pushed(each.programs) if pushdown else NOTHING_PUSHED for each in every]
        buckets = [
            streaming.bucket_of(each, push, columns, names, late, tasks or DEFAULT_BUCKETS)
            for each, push in zip(every, own, strict=True)
        ]
        return streaming.rest(events, buckets, columns, flush)
    found: list[DataFrame] = []
    watches: list[Watch | None] = []
    for each, metrics in zip(
        every, metric_names([each.distribution.kind for each in every]), strict=True
    ):
        push = pushed(each.programs) if pushdown else NOTHING_PUSHED
        filtered = push.keep is not None and not events.isStreaming
        watch = Watch.of(each.programs, metrics, names=names, filtered=filtered)
        watches.append(watch)
        if events.isStreaming:
            streamed = streaming.run(
                events if watch is None else watch.count(events, batch.columns_of(each, late)),
                each,
                columns,
                name=metrics,
                names=names,
                late=late,
                lateness=each.programs[0].options.lateness if lateness is None else lateness,
                idle_timeout=timeout,
                buckets=tasks or DEFAULT_BUCKETS,
                push=push,
            )
            found.append(streamed)
        else:
            found.append(
                batch.run(
                    events,
                    each,
                    columns,
                    names=names,
                    tasks=tasks,
                    push=push,
                    watch=watch,
                    until=until,
                )
            )
    matches = reduce(DataFrame.unionByName, found)
    keep(matches, watches)
    return matches


def programs_of(
    events: DataFrame,
    query: Queries,
    options: ReadOptions,
    output: Output,
    schema: SchemaLike,
    params: Mapping[str, object] | None,
    limits: Limits,
) -> list[Program]:
    """Compile queries and bind them to the columns of a DataFrame."""
    columns = arrow_schema(events.schema)
    return bound_programs(columns, query, options, output, schema, params, limits)


def bound_programs(
    columns: pa.Schema,
    query: Queries,
    options: ReadOptions,
    output: Output,
    schema: SchemaLike,
    params: Mapping[str, object] | None,
    limits: Limits,
) -> list[Program]:
    """Compile queries and bind them to columns."""
    positions_only = ResultOptions(output=output).positions_only
    named = query if isinstance(query, Mapping) else {"query": query}
    if not named:
        raise ValueError("there is no query to recognize")
    programs = []
    for name, each in named.items():
        ready = each if isinstance(each, Query) else compile(each, schema, params, name=name)
        own = with_settings(options, ready.settings)
        program = Program(name, ready, columns, own, positions_only, limits)
        schema_of(program)  # errors are raised now, not by a job
        programs.append(program)
    return programs


def _warn(distribution: TimedDistribution, program: Program) -> None:
    warnings = []
    if distribution.kind == "one":
        warnings.append(f"one task reads all events: {distribution.why}")
    if program.plan.operator == "reference":
        warnings.append("this query is evaluated by definition, which is slow; explain() says why")
    for sentence in warnings:
        warn(f"{program.name}: {sentence}", CeqlWarning)
