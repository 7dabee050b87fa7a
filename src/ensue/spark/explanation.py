"""What a query becomes on Spark, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Unpack

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from ensue.automata.words import predicate_text
from ensue.options import DEFAULT_LIMITS, ReadArguments, ReadOptions, SchemaLike, chosen, takes
from ensue.spark.batch import SharedScan, column_of, shared_scans
from ensue.spark.distribution import timed_distribution
from ensue.spark.pushdown import Pushed, pushed
from ensue.spark.recognition import Queries, programs_of
from ensue.spark.skew import HALF
from ensue.spark.types import plain_strings

_HOW_EVENTS_MEET = {
    "keys": "by key: events of one key meet in one task, many keys in each",
    "slices": "by slices of time: each task reads one, and the window before it",
    "one": "in one task",
}
_SHOWN = 5


@takes(ReadOptions)
def explain(
    events: DataFrame,
    query: Queries,
    *,
    schema: SchemaLike = None,
    params: Mapping[str, object] | None = None,
    skew: bool = False,
    **options: Unpack[ReadArguments],
) -> str:
    """Tell how Spark would recognize queries: how events meet, what it evaluates and leaves out.

    With `skew` a job counts the events of every key, and the answer names the largest.
    """
    events = plain_strings(events)
    read = replace(chosen(ReadOptions, options), lateness=None)
    programs = programs_of(events, query, read, "bindings", schema, params, DEFAULT_LIMITS)
    every = shared_scans([(timed_distribution(program), program) for program in programs])
    lines = []
    if len(every) > 1:
        lines.append(
            f"{len(every)} passes over the events, one for each way they meet; a pass reads, sorts "
            "and keeps them once for all its queries"
        )
    for each in every:
        lines.append(_described(each, pushed(each.programs), read.tiebreak, events.isStreaming))
        if skew and each.distribution.kind == "keys":
            lines.append(_skew(events, each))
    return "\n".join(lines)


def _described(each: SharedScan, push: Pushed, tiebreak: str | None, streaming: bool) -> str:
    names = ", ".join(program.name for program in each.programs)
    distribution = each.distribution
    spread = _HOW_EVENTS_MEET[distribution.kind]
    if streaming and distribution.kind != "keys":
        spread = "in one task: a stream is spread by key only"
    read = {name for program in each.programs for name in push.columns_read(program)}
    columns = [name for name in each.programs[0].columns.names if name in read]
    lines = [
        f"{names}: {spread}",
        f"  because: {distribution.why}",
        f"  order: {'.'.join(distribution.time)}, "
        f"{tiebreak or 'no tiebreak; ties in a stable order'}",
        f"  columns for Python: {', '.join(columns)}",
    ]
    for predicate, text in push.texts.items():
        lines.append(f"  evaluated by Spark: {predicate_text(predicate)} as {text}")
    for predicate, why in push.left.items():
        lines.append(f"  evaluated by Python: {predicate_text(predicate)} ({why})")
    if push.keep is None:
        lines.append("  events: all of them may matter")
    else:
        lines.append(f"  events: only those with {push.keep}")
    lines += [
        f"  {program.name} is evaluated by definition, which is slow"
        for program in each.programs
        if program.plan.operator == "reference"
    ]
    return "\n".join(lines)


def _skew(events: DataFrame, each: SharedScan) -> str:
    keys = [column_of(path).alias(".".join(path)) for path in each.distribution.keys]
    counted = events.groupBy(*keys).count().orderBy(F.desc("count"))
    every = events.count()
    lines = []
    for row in counted.limit(_SHOWN).collect():
        share = row["count"] / max(every, 1)
        key = ", ".join(str(value) for value in row[:-1])
        remark = "; its task takes longest, whatever the cluster" if share >= HALF else ""
        lines.append(f"  key {key}: {row['count']:,} events, {share:.0%}{remark}")
    return "\n".join(lines)
