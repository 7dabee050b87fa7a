"""What queries ask for and no event of a DataFrame has.

A job of its own looks, when somebody asks: workers cannot know, since Spark leaves out events that
do not matter before they reach them, and a DataFrame of matches is lazy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Unpack

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from ensue.analysis.schema import AttributePath
from ensue.engine.unseen import Occurrences, sentences, silences
from ensue.logic.required import Leaf, leaves
from ensue.options import (
    DEFAULT_LIMITS,
    ReadArguments,
    ReadOptions,
    SchemaLike,
    chosen,
    takes,
)
from ensue.spark.batch import column_of
from ensue.spark.program import Program
from ensue.spark.recognition import Queries, programs_of
from ensue.spark.types import plain_strings
from ensue.spark.watching import holds, report, type_column

_MOST_VALUES = 1000


@takes(ReadOptions)
def unseen(
    events: DataFrame,
    query: Queries,
    *,
    schema: SchemaLike = None,
    params: Mapping[str, object] | None = None,
    **options: Unpack[ReadArguments],
) -> list[str]:
    """Say which types, attributes and strings queries need and no event has.

    Where `recognize` finds nothing, this tells why: "no event has type 'SEL'; there are SELL,
    BUY". One aggregation over the columns that the queries ask about, and one more for each of
    them that lacks something. Empty where every query could have a match.
    """
    report()
    events = plain_strings(events)
    read = replace(chosen(ReadOptions, options), lateness=None)
    programs = programs_of(events, query, read, "bindings", schema, params, DEFAULT_LIMITS)
    named = isinstance(query, Mapping)
    found: list[str] = []
    for of_type in dict.fromkeys(program.options.type for program in programs):
        own = [program for program in programs if program.options.type == of_type]
        found += _unseen(events, own, named=named)
    return found


def _unseen(events: DataFrame, programs: list[Program], *, named: bool) -> list[str]:
    """Look for what programs require that read types from one column."""
    one = programs[0]
    required = {program.name if named else "": program.required for program in programs}
    asked = list(dict.fromkeys(leaf for each in required.values() for leaf in leaves(each)))
    answers = [_some(leaf, one).alias(str(number)) for number, leaf in enumerate(asked)]
    row = events.agg(F.count(F.lit(1)).alias("events"), *answers).first()
    assert row is not None
    seen = Occurrences()
    if not row["events"]:
        return []
    for number, leaf in enumerate(asked):
        if not row[str(number)]:
            seen.want(leaf)
    columns: list[AttributePath | None] = [None] if seen.types else []
    for column in [*columns, *seen.values]:
        seen.note(column, _values(events, one, column))
    return sentences(silences(seen, required, one.columns.names, one.options.type))


def _some(leaf: Leaf, program: Program) -> Column:
    """Tell whether some event has what is asked for."""
    return F.coalesce(F.max(holds(leaf, program)), F.lit(False))


def _values(events: DataFrame, program: Program, path: AttributePath | None) -> list[str]:
    """Return some of the values of a column (None: types)."""
    column = type_column(program) if path is None else column_of(path)
    rows = events.select(column.alias("value")).distinct().limit(_MOST_VALUES).collect()
    return sorted(row["value"] for row in rows if row["value"] is not None)
