"""A small, fixed suite of query-stream pairs, and what the meaning by definition says of them.

The pairs are drawn by the strategies of the equivalence tests from one seed; a few are written by
hand where random ones seldom tread.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

import ensue
from ensue.engine.evaluation import find_matches
from ensue.engine.stream import Options
from tests.pairs import collected

Row = dict[str, Any]
Bag = Counter[tuple[Any, ...]]

DRAWN, SEED = 150, 20


@dataclass(frozen=True)
class Case:
    """A query, a stream, and the complex events that it must find there."""

    query: ensue.Query
    rows: list[Row]
    limit: int | None
    expected: Bag
    """All of them, LIMIT left aside."""

    def found(self, *, compact_always: bool) -> list[tuple[Any, ...]]:
        """Run the fast path."""
        return _found(self.query, self.rows, compact_always=compact_always)

    def agrees(self) -> bool:
        """Tell whether the fast path finds what it must, compacting or not."""
        return all(self._accepts(self.found(compact_always=each)) for each in (False, True))

    def _accepts(self, found: list[tuple[Any, ...]]) -> bool:
        ends = [match[1] for match in found]
        if ends != sorted(ends):
            return False
        if self.limit is None:
            return Counter(found) == self.expected
        due = {end: min(self.limit, n) for end, n in _ends(self.expected).items()}
        first = {match[1]: match[0] for match in reversed(found)}
        latest: dict[int, int] = {}
        for start, end, *_ in self.expected:
            latest[end] = max(start, latest.get(end, start))
        return Counter(found) <= self.expected and Counter(ends) == due and first == latest


def _ends(found: Bag) -> Counter[int]:
    return Counter(match[1] for match in found.elements())


def _found(query: ensue.Query, rows: list[Row], **how: Any) -> list[tuple[Any, ...]]:
    matches = find_matches(query, rows, Options(), positions_only=False, **how)
    found = [
        (m.start, m.end, tuple((name, tuple(at)) for name, at in m.bindings.items()))
        for m in matches
    ]
    assert matches.count == len(found), "what is counted is not what is listed"
    return found


def case(text: str, rows: list[Row], limit: int | None = None) -> Case:
    """Prepare a case; the reference says what is to be found."""
    whole = ensue.compile(text)
    expected = Counter(_found(whole, rows, by_definition=True))
    query = whole if limit is None else ensue.compile(f"{text}\nLIMIT {limit}")
    return Case(query, rows, limit, expected)


def stream(words: str) -> list[Row]:
    """Spell a stream: stream("Ap B2q") is an A of key p and then a B of key q with v = 2."""
    rows = []
    for time, word in enumerate(words.split()):
        kind, rest = word[0], word[1:]
        digits = "".join(filter(str.isdigit, rest))
        key = "".join(filter(str.isalpha, rest)) or None
        row = {"type": kind, "v": int(digits) if digits else None, "w": 0.5, "k": key, "ts": time}
        rows.append(row)
    return rows


WRITTEN = (
    ("(A ; B) ALL (C ; D)", "A C B D A D"),
    ("(A AS x OR (A AS y ; B AS y)) ; C", "A B C"),
    ("NEXT(((A AS x ; B AS x) OR (A AS y ; C AS y)) ; D)", "A B C D"),
    ("LAST(((A AS x ; B AS x) OR (A AS y ; C AS y)) ; D)", "A B C D"),
    ("MAX(A ; B? ; (C AS x OR C AS y ; D)) ; E", "A B C D E"),
    ("MAX(A+ ; B)", "A A A B"),
    ("MAX(A ; (B OR C) ; D)", "A B C D"),
    ("(A ; D) UNLESS (B ; C)", "A B C D A D"),
    ("(A ; D) UNLESS C", "A C D A D"),
    ("START(A ; B)", "A A B"),
    ("START(A) PARTITION BY [k]", "Ap Aq Ap A"),
    ("STRICT(A+)", "A A B A"),
    ("NOT(A) : B", "A B C B"),
    ("A+ WITHIN 2 EVENTS", "A A A A"),
    ("A ; B WITHIN 3 [ts]", "A A B B B"),
    ("A ; B PARTITION BY [k] WITHIN 1 EVENTS", "Ap Aq Bp Bq A B Ap Ap Aq"),
    ("A ; B PARTITION BY [k] CONSUME BY ANY", "Ap Aq Bp Bq Ap Bp"),
    ("A ; B PARTITION BY [k] CONSUME BY PARTITION", "Ap Aq Bp Bq Ap Bp"),
    ("A ; B CONSUME BY PARTITION", "Ap Aq Bp Bq Ap Bp"),
    ("(A FILTER A[v > 1]) ; B", "A1 A2 A B"),
    ("(A ; B) AS x PROJECT [x]", "A C B"),
    ("A:{2} ; (B ; C)?", "A A B C A"),
    ("A:+ ; B", "A C A A B"),
    ("A+ AND A{2,3}", "A A A A"),
    ("(A OR B) AND (B OR C)", "A B C"),
    ("(A AS x ; B AS x) AND ((A AS x ; B AS x) FILTER x[v = 1])", "A1 B1 A2 B1"),
)


@cache
def suite() -> tuple[Case, ...]:
    """All cases; the same in every run."""
    cases = [
        case(f"SELECT * FROM S WHERE {text}", stream(words), limit)
        for text, words in WRITTEN
        for limit in (None, 1)
    ]
    for number, pair in enumerate(collected(DRAWN, SEED)):
        cases.append(case(pair.text, pair.rows))
        if number % 5 == 0:
            cases.append(case(pair.text, pair.rows, limit=1 + number % 2))
    return tuple(cases)


def first_failure() -> Case | None:
    """Return a case that the engine, as it is now, gets wrong."""
    return next((each for each in suite() if not each.agrees()), None)
