"""recognize: a DataFrame of events to a DataFrame of matches."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame

from ensue.engine.fast import Budgets
from ensue.engine.query import Output, Query, compile
from ensue.engine.stream import Options
from ensue.errors import CeqlWarning, warn
from ensue.spark import batch, streaming
from ensue.spark.columns import joined, with_late
from ensue.spark.plan import Way, way_of
from ensue.spark.program import Program
from ensue.spark.pushdown import NOTHING, pushed
from ensue.spark.rows import schema_of
from ensue.spark.types import arrow_schema, plain_strings

Queries = str | Query | Mapping[str, str | Query]


_BUCKETS = 16
"""Into so many groups the keys of a stream are hashed; Spark's cost follows their number."""


def recognize(
    events: DataFrame,
    query: Queries,
    type: str = "type",
    time: str | None = None,
    time_unit: str | None = None,
    tiebreak: str | None = None,
    lateness: int | str | timedelta | None = None,
    output: Output = "bindings",
    *,
    schema: object = None,
    params: Mapping[str, Any] | None = None,
    tasks: int | None = None,
    late: str | None = None,
    flush: str | None = None,
    pushdown: bool = True,
    max_states: int | None = None,
    max_bytes: int | None = None,
) -> DataFrame:
    """Find all matches of a query, or of several in one pass, in a DataFrame of events.

    A query that is wrong, or asks for columns that are not there, is an error at once.

    Args:
        events: one row an event.
        query: the text, a compiled query, or {name: either}: then a column `query` has the names.
        type: the column with the events' types.
        time: the column with their times; WITHIN … [attr] names its own.
        time_unit: 's', 'ms', 'us' or 'ns', where that column holds integers.
        tiebreak: a column that orders events of one time. Without one their order is stable, but
            unspecified.
        lateness: on a stream, how late an event may come; else all events are there to be sorted.
        output: 'positions' forgets which variable an event is bound to.
        schema: types of attributes, as for ensue.compile.
        params: values for the parameters $name.
        tasks: into how many tasks to cut the work, instead of spark.sql.shuffle.partitions; on a
            stream, into how many buckets keys are hashed (16). A checkpoint keeps the number.
        late: on a stream, a name for one more column. An event that comes too late is a row then,
            a struct in that column and NULL in all others.
        flush: the checkpointLocation of a stream of this query that is over. The answer is a
            finite DataFrame of the matches whose events still wait there for the watermark.
        pushdown: let Spark evaluate predicates and leave out events that cannot matter.
        max_states: how many deterministic states the automaton may have.
        max_bytes: how much memory partial matches may take in one task.
    """
    events = plain_strings(events)
    programs = programs_of(
        events,
        query,
        Options(type, time, time_unit, tiebreak),
        output,
        schema,
        params,
        Budgets.of(max_states, max_bytes),
    )
    ways = [(way_of(program), program) for program in programs]
    for way, program in ways:
        _warn(way, program)
    names = isinstance(query, Mapping)
    schemas = [schema_of(program) for program in programs]
    columns = joined(schemas) if names else schemas[0]
    if late is not None:
        columns = with_late(columns, late, programs[0].columns)
    every = batch.passes(ways)
    if flush is not None:
        push = [pushed(each.programs) if pushdown else NOTHING for each in every]
        buckets = [
            streaming.bucket_of(each, own, columns, names, late)
            for each, own in zip(every, push, strict=True)
        ]
        return streaming.rest(events, buckets, flush)
    found = []
    for each in every:
        if events.isStreaming:
            streamed = streaming.run(
                events,
                each,
                columns,
                names=names,
                late=late,
                lateness=lateness,
                buckets=tasks or _BUCKETS,
                pushdown=pushdown,
            )
            found.append(streamed)
        else:
            found.append(
                batch.run(events, each, columns, names=names, tasks=tasks, pushdown=pushdown)
            )
    return reduce(DataFrame.unionByName, found)


def programs_of(
    events: DataFrame,
    query: Queries,
    options: Options,
    output: Output,
    schema: object,
    params: Mapping[str, Any] | None,
    budgets: Budgets,
) -> list[Program]:
    """Compile queries and bind them to the columns of a DataFrame."""
    if output not in ("bindings", "positions"):
        raise ValueError(f"output must be 'bindings' or 'positions', not {output!r}")
    named = query if isinstance(query, Mapping) else {"query": query}
    if not named:
        raise ValueError("there is no query to recognize")
    columns = arrow_schema(events.schema)
    programs = []
    for name, each in named.items():
        ready = each if isinstance(each, Query) else compile(each, schema, params, name=name)
        program = Program(name, ready, columns, options, output == "positions", budgets)
        schema_of(program)  # whatever is wrong is said now, not by a job
        programs.append(program)
    return programs


def _warn(way: Way, program: Program) -> None:
    said = []
    if way.kind == "one":
        said.append(f"one task reads all events: {way.why}")
    if program.by_definition:
        said.append("this query is evaluated by definition, which is slow; explain() says why")
    for sentence in said:
        warn(f"{program.name}: {sentence}", CeqlWarning)
