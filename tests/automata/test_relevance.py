"""Events that cannot matter may be left out: no query can tell."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
from hypothesis import event, example, given
from hypothesis import strategies as st

import ensue
from ensue.analysis.context import Clock
from ensue.analysis.schema import from_arrow_schema
from ensue.automata.relevance import needed
from ensue.errors import CeqlError
from ensue.language.parser import parse
from ensue.plan.physical import make_plan
from ensue.predicates.evaluate import Batch
from ensue.predicates.symbols import Alphabet
from ensue.predicates.vectors import Strings, vector_of
from tests.equivalence.suite import stream
from tests.equivalence.test_aggregates import aggregated
from tests.pairs import Pair, pairs
from tests.strategies import Language

SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "type": pa.string(),
        "v": pa.int64(),
        "w": pa.float64(),
        "k": pa.string(),
        "ts": pa.int64(),
    }
)


def found(query: ensue.Query, table: pa.Table) -> Counter[str]:
    return Counter(match.id for match in query.run(table, time="ts", tiebreak="id"))


STRICT_COMPUTED = "SELECT STRICT x, y, max(x.v) AS top FROM S WHERE A AS x ; B AS y"

LANGUAGES = (
    Language(),
    Language(contiguous=False, full=False),
    Language(contiguous=False, full=False, conditions=True),
)


ANY_PAIRS = st.one_of(
    *(pairs(language, 8) for language in LANGUAGES), aggregated(), aggregated(strict=True)
)


@given(ANY_PAIRS)
@example(Pair(parse(STRICT_COMPUTED), stream("A1 C2 B3")))
def test_without_irrelevant_events_eq_with_them(pair: Pair) -> None:
    try:
        query = ensue.compile(pair.text)
        bound = query.bind(from_arrow_schema(SCHEMA), Clock(("ts",), None, known=True))
    except CeqlError:
        return
    automaton = make_plan(bound).compiled if bound.totals is None else None
    counts = bound.window is not None and bound.window.kind == "events"
    sets = None if automaton is None or counts else needed(automaton)
    if automaton is None or sets is None or not pair.rows:
        event("nothing can be left out")
        return
    rows: list[dict[str, Any]] = [{"id": at, **row} for at, row in enumerate(pair.rows)]
    table = pa.Table.from_pylist(rows, SCHEMA)
    types = vector_of(table.column("type"))
    assert isinstance(types, Strings)
    alphabet = Alphabet(automaton.predicates)
    symbols = alphabet.read(Batch(table, types), None, None)
    holding = [
        {n for n in range(len(alphabet.predicates)) if alphabet.bits[symbol] >> n & 1}
        for symbol in symbols
    ]
    matters = [any(each <= answers for each in sets) for answers in holding]
    event(f"left out: {'some' if not all(matters) else 'none'}")
    assert found(query, table.filter(pa.array(matters, pa.bool_()))) == found(query, table)
