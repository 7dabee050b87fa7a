"""How events without types of their own are read for some queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from ensue.analysis.derived import levels_of
from ensue.analysis.mentions import compared_with_strings, mentioned
from ensue.analysis.windows import all_windows
from ensue.engine.query import Query
from ensue.io.columns import TextOptions
from ensue.options import ReadOptions
from ensue.stream.batch import declared_columns


class _Mentions(NamedTuple):
    """The columns that the text of a query mentions."""

    used: frozenset[str]
    strings: frozenset[str]
    """Those that are compared with strings."""
    times: frozenset[str]
    """Those that windows are measured on."""


def _mentions(query: Query) -> _Mentions:
    windows = (each for _, level in levels_of(query.tree) for each in all_windows(level))
    return _Mentions(
        mentioned(query.tree),
        compared_with_strings(query.tree, query.params),
        # WITHIN n [attr] counts in the units of integers, so doubles there are no times.
        frozenset(
            each.attribute.parts[0].text
            for each in windows
            if each.attribute is not None and each.amount is None
        ),
    )


def text_options(
    queries: Iterable[Query], options: ReadOptions, *, collect: bool = False
) -> TextOptions:
    """Say which columns matter to queries that read the same stream, and how texts are read."""
    used: set[str] = set()
    strings: set[str] = set()
    types: dict[str, pa.DataType] = {}
    times = {options.time} if options.time is not None else set()
    for query in queries:
        own = query.plans.get("mentions", partial(_mentions, query))
        used |= own.used
        strings |= own.strings
        times |= own.times
        types |= declared_columns(query.schema)
    for name in (options.type, options.time, options.tiebreak):
        if name is not None:
            used |= {name, name.partition(".")[0]}
    return TextOptions(
        types,
        collect,
        frozenset(used),
        frozenset(strings),
        frozenset(times),
        options.time_format,
        tuple(options.nulls),
        options.delimiter,
    )


def with_query(text: TextOptions, query: Query, options: ReadOptions) -> TextOptions:
    """Return the same for one more query, without looking at the others again."""
    own = text_options([query], options, collect=text.collect)
    return replace(
        own,
        types={**text.types, **own.types},
        used=None if text.used is None or own.used is None else text.used | own.used,
        strings=text.strings | own.strings,
        times=text.times | own.times,
    )
