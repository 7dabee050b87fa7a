"""The arrays of the match graph: matches stay what they were, whether lent these or a copy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest

import ensue
from ensue.engine.run import find_matches
from ensue.kernels.graph.segment import Segment
from ensue.kernels.match.driver import MatchDriver
from ensue.options import ReadOptions
from ensue.results.matches import Matches
from tests import seams
from tests.pairs import Row, collected, related_pairs

EQUAL = "SELECT * FROM S WHERE (A AS a ; B AS b) FILTER a.v = b.v WITHIN 8 EVENTS"
QUERIES = [
    EQUAL,
    EQUAL + " LIMIT 1",
    "SELECT * FROM S WHERE A ; B+ ; C WITHIN 9 [ts]",
    "SELECT * FROM S WHERE A ; B+ ; C PARTITION BY [k] WITHIN 7 EVENTS",
    "SELECT * FROM S WHERE A ; B ; C WITHIN 9 [ts] CONSUME BY ANY",
    "SELECT * FROM S WHERE (A ; (B AS b)+ ; C) AGGREGATE Y[n = sum(b.v)] FILTER Y[n <= 2] "
    "WITHIN 9 [ts]",
    "SELECT count(*) AS n, sum(b.v) AS s FROM S WHERE (A AS a ; B+ AS b) FILTER a.v = b.v "
    "WITHIN 9 [ts]",
]


@contextmanager
def lending(first_nodes: int = 1 << 16) -> Iterator[None]:
    """Lend the arrays to all matches, however few they are, with room for some nodes at first."""
    with pytest.MonkeyPatch.context() as patch:
        seams.WORTH_LENDING.put(patch, lambda *_: True)
        seams.NODES_A_HIT.put(patch, 1 << 20)
        seams.FIRST_NODES.put(patch, first_nodes)
        yield


def stream(count: int) -> list[Row]:
    return [
        {"type": "ABBC"[i % 4], "v": i * i % 3, "k": "pq"[i % 5 % 2], "ts": i} for i in range(count)
    ]


def described(found: list[Matches]) -> list[str]:
    return [str(row) for each in found for row in each.to_arrow().to_pylist()]


def test_lent_eq_copied() -> None:
    drawn = [*collected(60, 7), *collected(40, 7, drawn=related_pairs())]
    cases = [(ensue.compile(pair.text), pair.rows) for pair in drawn]

    def found(*, compact_always: bool) -> list[list[str]]:
        return [
            sorted(
                str((each.start, each.end, each.bindings))
                for each in find_matches(
                    query, rows, ReadOptions(), positions_only=False, compact_always=compact_always
                )
            )
            for query, rows in cases
        ]

    copied = found(compact_always=False)
    assert sum(map(bool, copied)) > len(cases) / 2
    with lending():
        assert found(compact_always=True) == copied
    with lending(4):
        assert found(compact_always=False) == copied


@pytest.mark.parametrize("query", QUERIES)
def test_matches_that_are_kept_stay_what_they_were(query: str) -> None:
    rows = pa.Table.from_pylist(stream(120))
    ready = ensue.compile(query)
    expected = described([ready.run(rows)])
    assert len(expected) > 20
    with lending(16):
        session, kept = ready.open(), []
        for first in range(0, 120, 3):
            kept.append(session.push(rows.slice(first, 3)))
            if first % 60 == 30:
                session = ready.resume(session.snapshot())
        kept.append(session.finish())
        assert described(kept) == expected


@pytest.fixture
def handed_out(monkeypatch: pytest.MonkeyPatch) -> list[Segment]:
    """Watch what evaluators hand out."""
    seen: list[Segment] = []
    harvest = seams.HARVEST.original

    def watched(self: MatchDriver) -> Iterator[Segment]:
        for segment in harvest(self):
            seen.append(segment)
            yield segment

    seams.HARVEST.put(monkeypatch, watched)
    return seen


def dense(count: int, values: int = 5) -> pa.Table:
    """Let every other event complete matches of EQUAL."""
    numbers = range(count)
    columns = {"type": ["AB"[i % 2] for i in numbers], "v": [i // 2 % values for i in numbers]}
    return pa.table(columns)


def test_many_hits_get_the_arrays_themselves(handed_out: list[Segment]) -> None:
    matches = ensue.compile(EQUAL).run(dense(120_000, 3))
    full = handed_out[1:-1]
    assert len(full) >= 2
    assert all(each.lent and len(each.graph.label) > 60_000 for each in full)
    assert matches.count == 2 * 60_000 - 3
    trimmed = full[0].trimmed()
    assert trimmed.count() == full[0].count()
    assert len(trimmed.graph.label) < len(full[0].graph.label)


def test_few_hits_get_a_copy(handed_out: list[Segment]) -> None:
    apart = pa.table({"type": ["A"] * 30_000, "v": range(30_000)})
    end = pa.table({"type": ["B"], "v": [29_999]})
    ensue.compile(EQUAL).run(pa.concat_tables([dense(120_000), apart, apart, end]))
    few = handed_out[-1]
    assert len(few.hits.end) == 1
    assert not few.lent
    assert len(few.graph.label) == 3


def test_arrays_that_follow_lent_ones_keep_to_the_budget() -> None:
    wide = ensue.compile(EQUAL.replace("8 EVENTS", "9000 EVENTS"))
    rows = dense(60_000, 3000)
    assert wide.run(rows, max_bytes=65536 * 40).count == wide.run(rows).count


def test_the_first_match_of_each_hit_is_copied_alone() -> None:
    sizes: list[tuple[int, int]] = []
    harvest = seams.HARVEST.original

    def watched(self: MatchDriver) -> Iterator[Segment]:
        for segment in harvest(self):
            sizes.append((len(segment.graph.label), len(segment.hits.end)))
            assert not self.arena.lent
            yield segment

    text = "SELECT * FROM S WHERE A ; B ; C WITHIN 900 [ts]"
    rows = [{"type": "AB"[i % 2], "ts": i} for i in range(300)]
    table = pa.Table.from_pylist([*rows, {"type": "C", "ts": 300}, {"type": "C", "ts": 301}])
    # Latest start first.
    every = sorted(ensue.run(text, table), key=lambda match: match.start)
    latest = {match.end: match.bindings for match in every}
    with pytest.MonkeyPatch.context() as patch:
        seams.HARVEST.put(patch, watched)
        limited = {match.end: match.bindings for match in ensue.run(text + " LIMIT 1", table)}
    assert limited == latest
    # Three events of each, and the node where the run starts.
    assert sizes == [(8, 2)]
