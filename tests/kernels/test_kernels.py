"""The kernels against themselves: compiled and not, checked and not, before and after."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import ensue
from ensue.engine.run import find_matches
from ensue.kernels.graph.segment import Segment
from ensue.kernels.layout import HITS, NODES, STARTS, Graph, Hits
from ensue.kernels.match import driver
from ensue.kernels.match.driver import MatchDriver
from ensue.options import ReadOptions
from tests import seams
from tests.kernels.digest import Question, digest
from tests.pairs import Pair, collected, pairs, related_pairs

Listed = list[tuple[int, int, list[int], list[int]]]


# --- compiled, interpreted, checked ----------------------------------------------------------


@pytest.fixture(scope="module")
def questions() -> list[Question]:
    """A hundred pairs, and a stream that is long enough to fill something."""
    rows = [
        {"type": "ABC"[i % 3], "v": i % 4, "w": 0.5, "k": "pq"[i % 2], "ts": i} for i in range(90)
    ]
    long = "SELECT * FROM S WHERE A ; (B OR C AS x)+ ; A PARTITION BY [k] WITHIN 14 [ts]"
    drawn = [*collected(70, 7), *collected(30, 7, drawn=related_pairs())]
    related = "SELECT * FROM S WHERE (A AS a ; B+ AS b) FILTER a.v = b.v WITHIN 20 EVENTS"
    return [(long, rows), (related, rows), *((pair.text, pair.rows) for pair in drawn)]


@pytest.fixture(scope="module")
def expected(questions: list[Question]) -> str:
    return digest(questions)


def digest_elsewhere(questions: list[Question], folder: Path, **environment: str) -> str:
    """Compute the digest in a process of its own."""
    file = folder / "questions.json"
    file.write_text(json.dumps(questions))
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.kernels.digest", str(file)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_jit_eq_nojit(questions: list[Question], expected: str, tmp_path: Path) -> None:
    assert len(questions) >= 70
    assert digest_elsewhere(questions, tmp_path, NUMBA_DISABLE_JIT="1") == expected


@pytest.mark.pipelines
def test_bounds_checked_eq_unchecked(
    questions: list[Question], expected: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    kernels = pytestconfig.cache.mkdir("checked-kernels")  # type: ignore[union-attr]
    found = digest_elsewhere(
        questions, tmp_path, ENSUE_CHECK_BOUNDS="1", ENSUE_CACHE_DIR=str(kernels)
    )
    assert found == expected


@pytest.mark.pipelines
def test_numbas_own_pipeline_gives_the_same(
    questions: list[Question], tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """As with versions of Numba whose internals are not known; of one query, since it is slow."""
    kernels = pytestconfig.cache.mkdir("plain-kernels")  # type: ignore[union-attr]
    found = digest_elsewhere(
        questions[:1], tmp_path, ENSUE_PLAIN_NUMBA="1", ENSUE_CACHE_DIR=str(kernels)
    )
    assert found == digest(questions[:1])


# --- stopping and growing --------------------------------------------------------------------


def found(query: ensue.Query, rows: list[dict[str, Any]], **how: Any) -> list[tuple[Any, ...]]:
    matches = find_matches(query, rows, ReadOptions(), positions_only=False, **how)
    return [(m.start, m.end, tuple(m.bindings.items())) for m in matches]


def test_arrays_that_are_soon_full_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [(ensue.compile(pair.text), pair.rows) for pair in collected(100, 7)]
    whole = [sorted(map(str, found(*case))) for case in cases]
    seams.FIRST_NODES.put(monkeypatch, 4)
    original = driver.new_hits
    monkeypatch.setattr(driver, "new_hits", lambda _: original(1))
    assert [sorted(map(str, found(*case))) for case in cases] == whole


# --- compaction ------------------------------------------------------------------------------


def listed(of: Segment, at_once: int = 1 << 10) -> Listed:
    """Return the matches of a segment in their order."""
    return [
        (
            int(listing.start[i]),
            int(listing.end[i]),
            listing.position[listing.offset[i] : listing.offset[i + 1]].tolist(),
            listing.label[listing.offset[i] : listing.offset[i + 1]].tolist(),
        )
        for listing in of.listings(at_once)
        for i in range(len(listing.start))
    ]


def harvests(pair: Pair, **how: Any) -> Iterator[tuple[Segment, Segment]]:
    """Give what the evaluation has of a segment before and after it is extracted."""
    harvest = seams.HARVEST.original
    seen: list[tuple[Segment, Segment]] = []

    def watched(self: MatchDriver) -> Iterator[Segment]:
        nodes, starts = int(self.counters[NODES]), int(self.counters[STARTS])
        cuts = (nodes,) * 5 + (starts,) * 2
        graph = Graph(*(each[:cut].copy() for each, cut in zip(self.graph, cuts, strict=True)))
        hits = Hits(*(each[: int(self.counters[HITS])].copy() for each in self.hits))
        for after in harvest(self):
            # What SELECT chooses is less than what was there before.
            if self.chooser is None:
                seen.append((Segment(graph, hits, self.limit), after))
            yield after

    with pytest.MonkeyPatch.context() as patch:
        seams.HARVEST.put(patch, watched)
        found(ensue.compile(pair.text), pair.rows, **how)
    return iter(seen)


@given(pairs())
def test_extracted_eq_whole(pair: Pair) -> None:
    for before, after in harvests(pair):
        assert listed(after) == listed(before)
        assert len(after.graph.label) <= len(before.graph.label)
        assert before.count() == after.count() == len(listed(after))


@given(pairs())
def test_listed_bit_by_bit_eq_listed_at_once(pair: Pair) -> None:
    for _, each in harvests(pair):
        assert listed(each, 1) == listed(each, 3) == listed(each)


# --- counting --------------------------------------------------------------------------------


@given(pairs())
def test_counted_eq_listed_without_patience(pair: Pair) -> None:
    for _, each in harvests(pair):
        for limit in (-1, 1, 2):
            limited = Segment(each.graph, each.hits, limit)
            with pytest.MonkeyPatch.context() as patch:
                seams.COUNTING_PATIENCE.put(patch, 0)
                assert limited.count() == len(listed(limited))
            assert limited.count() == len(listed(limited))


@given(pairs())
def test_counted_exactly_eq_listed(pair: Pair) -> None:
    for _, each in harvests(pair):
        counts = [each._count_exactly(hit) for hit in range(len(each.hits.end))]
        assert sum(counts) == len(listed(each))


@pytest.mark.parametrize("events", [1, 15, 16, 62, 63, 64, 65, 80, 200])
def test_counts_beyond_64_bits_are_exact(events: int) -> None:
    rows = [{"type": "A"}] * events
    assert ensue.run("SELECT * FROM S WHERE A+", rows).count == 2**events - 1
    assert ensue.run("SELECT * FROM S WHERE A+ ; A", rows).count == 2**events - 1 - events


def test_counts_beyond_64_bits_respect_windows_and_limits() -> None:
    rows = [{"type": "A"}] * 100
    within = ensue.run("SELECT * FROM S WHERE A+ WITHIN 70 EVENTS", rows).count
    assert within == 2**71 - 1 + 29 * 2**70
    assert ensue.run("SELECT * FROM S WHERE A+ LIMIT 3", rows).count == 1 + 2 + 98 * 3


def test_a_match_beyond_counting_is_found_at_once() -> None:
    matches = ensue.run("SELECT * FROM S WHERE A+", [{"type": "A"}] * 200)
    first = next(iter(matches))
    assert (first.start, first.end) == (0, 0)
    assert np.array_equal(first.positions, [0])
