"""Any two features of the language together: the engine against the meaning by definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import ensue
from ensue.analysis.derived import given_streams
from ensue.engine.run import find_matches
from ensue.language.parser import parse
from ensue.options import ReadOptions
from ensue.results.matches import Matches
from tests import effort
from tests.effort import broad
from tests.equivalence.stages import by_stages, found_in
from tests.equivalence.test_aggregates import found
from tests.equivalence.test_counting import same
from tests.features import FEATURES, ILLEGAL, LEGAL, Illegal, Table
from tests.pairs import Row
from tests.wide import PARAMETERS, Case, wide_cases
from tests.wide_patterns import STREAMS

SCHEMA = pa.schema(
    {
        "type": pa.string(),
        "v": pa.int64(),
        "w": pa.float64(),
        "k": pa.string(),
        "ts": pa.int64(),
        "n": pa.int64(),
    }
)
OTHER = "SELECT * FROM {} WHERE C+ WITHIN 2 [ts]"


def sample() -> Table:
    """Draw queries, the same in every run; then more with those features that have not met."""
    table = Table()
    for case in drawn(100, wide_cases(streams=False)):
        table.add(case)
    for pair in LEGAL:
        if not table.together[pair]:
            for case in drawn(8, wide_cases(pair, streams=False)):
                table.add(case)
    return table


def drawn(count: int, cases: st.SearchStrategy[Case]) -> list[Case]:
    """Draw some legal cases, the same in every run."""
    return [case for case in effort.drawn(cases, count, count) if case.legal]


@pytest.mark.adequacy
def test_any_two_features_meet() -> None:
    table = sample()
    missing = table.missing()
    assert not missing, f"{table}\n\nthese never meet:\n" + "\n".join(missing)


@pytest.mark.parametrize("illegal", sorted(set(ILLEGAL.values())), ids=lambda each: each.query)
def test_features_that_cannot_meet_are_refused(illegal: Illegal) -> None:
    if illegal.same_as:
        assert parse(illegal.query) == parse(illegal.same_as)
        return
    with pytest.raises(ensue.CeqlError):
        ensue.compile(illegal.query)


# --- evaluation ------------------------------------------------------------------------------


def table(rows: list[Row], *, whole: bool = False) -> pa.Table:
    """Return rows as a table; where it is asked for, doubles without a fraction as integers."""
    found = pa.Table.from_pylist(rows, SCHEMA)
    if whole and all(row["w"] is None or float(row["w"]).is_integer() for row in rows):
        place = SCHEMA.get_field_index("w")
        return found.set_column(place, "w", found.column("w").cast(pa.int64()))
    return found


def events(case: Case, rows: list[Row], *, every_stream: bool = False) -> Any:
    """Return rows as a table, or as one for each stream: every one, or each that has some."""
    whole = case.whole_numbers and not every_stream
    if len(given_streams(case.whole)) == 1:
        return table(rows, whole=whole)
    of = {name: [row for row in rows if row["stream"] == name] for name in STREAMS}
    tables = {name: table(own, whole=whole) for name, own in of.items() if own or every_stream}
    return tables or table([])


def results(case: Case, query: ensue.Query) -> Iterator[Matches]:
    """Run a query in the way of its case."""
    options: dict[str, Any] = {"time": "ts", "time_unit": "s", "exact": case.exact}
    options["output"] = "positions" if case.positions else "bindings"
    rows = case.rows
    if case.lateness is not None:
        options |= {"lateness": case.lateness, "tiebreak": "n"}
        rows = [rows[at] for at in case.arrivals]
    queries = {"q": query}
    if case.beside:
        sources = ", ".join(query.streams)
        queries["other"] = ensue.compile(OTHER.format(sources))
    if case.batches is None:
        whole = events(case, rows, every_stream=True)
        yield _own(
            ensue.run(queries, whole, **options) if case.beside else query.run(whole, **options)
        )
        return
    session: Any = ensue.open(queries, **options) if case.beside else query.open(**options)
    for start, end in zip((0, *case.batches), (*case.batches, len(rows)), strict=True):
        yield _own(session.push(events(case, rows[start:end])))
        if case.snapshots:
            block = session.snapshot()
            session = ensue.resume(queries, block) if case.beside else query.resume(block)
    yield _own(session.finish())


def _own(found: Any) -> Matches:
    own: Matches = found["q"] if isinstance(found, dict) else found
    return own


def agree(case: Case) -> None:
    """Fail where the engine finds anything else than the definition does."""
    query = ensue.compile(case.text, params=_parameters(case))
    last, text = case.whole, case.text
    if last.limit is not None:
        text = text.replace(f"LIMIT {last.limit}", "")
    whole = ensue.compile(text, params=query.params)
    expected = find_matches(
        whole,
        events(case, case.rows, every_stream=True),
        ReadOptions(time="ts", time_unit="s"),
        positions_only=case.positions,
        by_definition=True,
    )
    every = list(results(case, query))
    tables = [matches.to_arrow() for matches in every]
    if not case.whole_numbers:
        assert len({str(each.schema) for each in tables}) == 1, "the columns depend on the batch"
    if any(each.counts_matches for each in last.select.columns):
        # Beside other queries, rows also have the name of theirs.
        wanted = expected.to_arrow()
        rows = [row for each in tables for row in each.select(wanted.column_names).to_pylist()]
        event(f"matches: {bool(rows)}")
        assert same(rows, wanted.to_pylist())
        return
    event(f"matches: {expected.count > 0}")
    fast = sum(map(found, every), Counter[str]())
    ends = [match.end for matches in every for match in matches]
    if last.not_followed is None:
        # Else they come in the order of their deadlines.
        assert ends == sorted(ends)
    assert len(ends) == sum(each.num_rows for each in tables) == sum(each.count for each in every)
    if last.derived and case.query.limit is None and not case.positions:
        stages = by_stages(whole, case.rows, events(case, case.rows, every_stream=True), SCHEMA)
        assert found_in(expected) == stages, "levels by batches find what they find as a whole"
    if last.limit is None:
        assert fast == found(expected)
        return
    assert fast <= found(expected)
    due = Counter(match.end for match in expected)
    assert Counter(ends) == {end: min(n, last.limit) for end, n in due.items()}
    first = {match.end: match.start for matches in every for match in reversed(list(matches))}
    assert first == {end: max(m.start for m in expected if m.end == end) for end in due}


def _parameters(case: Case) -> dict[str, Any]:
    return {name: value for name, value in PARAMETERS.items() if f"${name}" in case.text}


ANY_FEATURES = st.frozensets(st.sampled_from(list(FEATURES)), min_size=2, max_size=4)
# What asks for neighbours in a partition, beside what is done as matches are listed.
IN_PARTITIONS = st.tuples(
    st.sampled_from(
        ("SELECT STRICT", "STRICT( )", ":", ":+", "START( )", "UNLESS", "WITHIN EVENTS")
    ),
    st.sampled_from(("FILTER on an aggregate", "computed column", "condition between events")),
    st.sampled_from(("PROJECT", "SELECT x", "NEXT( )", "MAX( )", "count(*)", "positions")),
).map(lambda wished: frozenset((*wished, "PARTITION BY")))


DERIVED = st.tuples(
    st.sampled_from(("FROM a derived stream", "CREATE STREAM AS")),
    st.frozensets(st.sampled_from(list(FEATURES)), min_size=1, max_size=3),
).map(lambda wished: wished[1] | {wished[0]})


@broad
@given(st.one_of(ANY_FEATURES, IN_PARTITIONS).flatmap(wide_cases))
def test_any_features_together_eq_reference(case: Case) -> None:
    if case.legal and case.rows:
        agree(case)


@given(DERIVED.flatmap(wide_cases))
def test_any_features_of_derived_streams_eq_reference(case: Case) -> None:
    if case.legal and case.rows:
        agree(case)
