"""Many random queries on one stream that has something for each of them."""

from __future__ import annotations

import os
import random
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

import pyarrow as pa

import ensue
from ensue.analysis.context import Clock
from ensue.analysis.schema import from_arrow_schema
from ensue.errors import CeqlError
from ensue.language import tree
from ensue.language.printer import format_query
from ensue.plan.physical import make_plan
from tests.conditions import word
from tests.effort import look_at
from tests.pairs import Pair, pairs
from tests.spark.frames import SCHEMA
from tests.strategies import Language

Family = Literal["keys", "slices", "one"]


def _seed() -> int:
    """Choose a seed: under CI always the same, as hypothesis does, else another in every run."""
    chance = random.Random(0) if "CI" in os.environ else random.SystemRandom()
    return int(os.environ.get("ENSUE_SPARK_SEED") or chance.randrange(10**6))


SEED = _seed()
"""A failure names it."""


_SHORT = 7
"""Where nothing bounds a match, so many events are enough."""


class Enough(BaseException):
    """No more queries are needed.

    Of an `Exception` hypothesis would make a report, which takes minutes now and then.
    """


@dataclass(frozen=True)
class Batch:
    """Queries, and a stream that has a witness for each."""

    queries: dict[str, str]
    table: pa.Table


def batch(family: Family, count: int, number: int, language: Language, longest: int = 7) -> Batch:
    """Draw queries of a family, and put the streams made for them one after the other."""
    queries: dict[str, str] = {}
    rows: list[dict[str, Any]] = []
    kept: list[Pair] = []

    def collect(pair: Pair) -> None:
        if len(kept) == count:
            raise Enough
        if pair.rows:
            query = _of_family(pair.query, family, len(kept))
            text = format_query(query)
            if text not in queries.values() and _is_usable(text, family):
                queries[f"q{len(kept)}"] = text
                kept.append(pair)

    with suppress(Enough):
        look_at(pairs(language, longest), 12 * count, SEED * 1000 + number, collect)
    after = 0
    for at, pair in enumerate(kept):
        if family != "one" or len(rows) < _SHORT:
            rows += [{**row, "ts": row["ts"] + after, "g": _group(row, at)} for row in pair.rows]
            after = rows[-1]["ts"] + at % 3
    table = pa.Table.from_pylist([{"id": at, **row} for at, row in enumerate(rows)], SCHEMA)
    return Batch(queries, table)


def _group(row: dict[str, Any], pair: int) -> str | None:
    return None if row["k"] is None else f"{row['k']}{pair // 2}"


def _of_family(query: tree.Query, family: Family, number: int) -> tree.Query:
    units = tree.Window(1 + number % 4, None, tree.Path((word("ts"),)))
    if family == "keys":
        consume = "PARTITION" if query.consume == "PARTITION" else None
        return replace(query, partition=(word("g"),), consume=consume)
    if family == "slices":
        return replace(query, partition=(), consume=None, window=units)
    if number % 3 == 0:
        return replace(query, consume="ANY")
    return replace(query, partition=())


def _is_usable(text: str, family: Family) -> bool:
    """Leave out what the language refuses, and on long streams what takes for ever."""
    try:
        query = ensue.compile(text)
        bound = query.bind(from_arrow_schema(SCHEMA), Clock(("ts",), None, known=True))
    except CeqlError:
        return False
    from ensue.logic import formula as f
    from ensue.logic.build import to_formula

    starts = any(
        isinstance(each, f.Select) and each.strategy == "START"
        for each in f.subformulas(to_formula(bound))
    )
    if family == "slices" and starts:
        return False
    return family == "one" or make_plan(bound).operator == "match"
