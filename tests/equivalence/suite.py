"""A small, fixed suite of query-stream pairs, and what the meaning by definition says of them.

The pairs are drawn by the strategies of the equivalence tests from one seed; a few are written by
hand where random ones seldom tread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any

import ensue
from ensue.engine.run import find_matches
from ensue.options import ReadOptions
from tests.pairs import collected, related_pairs

Row = dict[str, Any]
Bag = Counter[tuple[Any, ...]]

DRAWN, SEED = 100, 20


class MiscountedError(Exception):
    """What is counted is not what is listed."""


@dataclass(frozen=True)
class Case:
    """A query, a stream, and the complex events that it must find there."""

    query: ensue.Query
    rows: list[Row]
    limit: int | None
    expected: Bag
    """All of them, LIMIT left aside."""

    def found(self, *, compact_always: bool) -> list[tuple[Any, ...]]:
        """Run the fast path, as it is now: with nothing kept from an earlier run."""
        return _found(replace(self.query), self.rows, compact_always=compact_always)

    def agrees(self) -> bool:
        """Tell whether the fast path finds what it must, compacting or not."""
        try:
            return all(self._accepts(self.found(compact_always=each)) for each in (False, True))
        except MiscountedError:
            return False

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
    matches = find_matches(query, rows, ReadOptions(), positions_only=False, **how)
    found = [
        (m.start, m.end, tuple((name, tuple(at)) for name, at in m.bindings.items()))
        for m in matches
    ]
    if matches.count != len(found):
        raise MiscountedError
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


RELATED = (
    ("(A AS a ; B AS b) FILTER a.v = b.v", "A1 A2 A1 B1 B2 B3 A3 B"),
    ("(A AS a ; B AS b ; C AS c) FILTER a.v = b.v AND b.k = c.k", "A1p A2q B1p B2q B1q Cp Cq C"),
    ("((A AS a OR B AS b) ; C AS c) FILTER a.v = c.v", "A1 B2 A2 C1 C2 C"),
    ("(A AS a ALL B AS b ALL C AS c) FILTER a.v = b.v AND a.k = c.k", "A1p C1p B1p A1q B2p Cq"),
    ("(A AS a ; B AS b) FILTER a.v < b.v", "A1 A2 A3 A4 B5 A1 A2 A3 A4 B5 A3 A2 B4"),
    ("(A AS a ; B AS b) FILTER a.v < b.v", "A5 A3 A7 A4 A6 B9 A1 B9 A2 B5 A8 B9 A0 B7 B9"),
    ("(A AS a ; B AS b) FILTER a.v != b.v WITHIN 9 EVENTS", "A3 A1 A4 A2 B2 A2 A3 B4 A1 A4 B1 B5"),
    ("(A AS a ; B AS b) FILTER a.v < b.v WITHIN 3 EVENTS", "A1 A2 A3 B2 B3 B1 A1 B4"),
    ("(A AS a ; B+ AS b ; C AS c) FILTER b.v > a.v AND c.v <= b.v", "A1 B2 B3 B1 C2 C3 C1"),
    ("A+ AS a FILTER a[increasing(v)]", "A1 A3 A2 A4 A A5"),
    ("A+ AS a FILTER a[same(k)] AND a[nondecreasing(v)]", "A1p A2q A1p A0q A3p"),
    ("(A AS a ; B AS b FILTER a.v = b.v)+ ; C", "A1 B1 A2 B1 B2 C A1 B1 C"),
    ("((A+ AS a ; B AS b) FILTER b.v > a.v)+ ; C", "A5 B6 A1 B2 C"),
    ("(A ; B) PARTITION BY [A.v, B.v]", "A1 A2 B2 B1 A B"),
    ("(A AS a ; B AS b) FILTER a.v = b.v CONSUME BY ANY", "A1 A1 B2 B1 B1 A1 B1"),
    (
        "(A AS a ; B AS b) FILTER a.v = b.v PARTITION BY [k] CONSUME BY PARTITION",
        "A1p A1q B1p B1p B1q",
    ),
    ("(A AS a : B AS b : C AS c) FILTER a.v = c.v", "A1 B1 C1 A1 B2 C2 A2 B C2"),
    ("(A AS a ; B AS b ; C AS c) FILTER a.v + b.v = c.v", "A1 B1 C2 C3 B2 C3"),
    ("(A AS a ; B AS b ; C AS c) FILTER a.v + b.v = c.v CONSUME BY ANY", "A1 B1 C1 C2 C2 A1 B1 C2"),
    ("(A+ AS a ; B AS b) FILTER a.v != b.v", "A1 A2 B1 B3 A3 B2"),
    ("(A AS a ; B AS b ; D AS d FILTER a.v + b.v = d.v)+ ; C", "A1 B1 D1 A1 B1 D2 C A1 B2 D3 C"),
    ("(A AS a ; B AS b) FILTER a.k < b.k", "Ap Bq Bp Ao Bp B"),
    ("(A AS a ; B ; C AS c) FILTER a.v = c.v", "A1 B A2 B A1 C1 C2 B C1 C3 C"),
    ("(A AS a ; B ; C AS c) FILTER a.v = c.v WITHIN 3 EVENTS", "A1 B A2 C1 B A1 C2 B C1 A1 C1"),
    ("(A AS a ; B ; D+ ; C AS c) FILTER a.v = c.v", "A1 B D A2 C1 B D C1 D C2 A2 C2"),
    ("(A AS a ; B : C AS c) FILTER a.v = c.v", "A1 B C1 A2 B D C2 B C2 C1"),
    (
        "(A AS a ; B ; C AS c) FILTER a.v = c.v PARTITION BY [k] CONSUME BY PARTITION",
        "A1p Bp A1q C1q Bq C1p C1p A1p C1p Bp C1p C1q",
    ),
    ("(A AS a ; B ; C AS c) FILTER a.v < c.v", "A1 B C2 A3 B A2 C4 B C2 A1 C3 C9 B A1 C9"),
    (
        "(A AS a ; B ; (C AS c OR D AS d)) FILTER a.v < c.v AND a.v = d.v",
        "A1 A3 A2 B C2 D1 C4 B C9 D2 A1 C9 D1 C5",
    ),
    ("(A ; D) UNLESS (B AS b ; C AS c FILTER b.v = c.v)", "A B1 A C1 D A B1 D C2 D"),
    ("(A ; (B ; E UNLESS (C AS c ; D AS d FILTER c.v = d.v)))+", "A B C1 D2 E A B C1 D1 E"),
    ("(A ; D) UNLESS (B AS b ; C AS c FILTER b.v != c.v)", "A B1 C1 D A B1 C2 D A B1 C1 C2 B D"),
    (
        "(A ; D) UNLESS ((B AS b ; C AS c FILTER b.v * c.v + b.v + c.v = b.v + c.v + 2) "
        "UNLESS (E AS e ; E AS f FILTER e.v < f.v))",
        "A B1 C2 D A B1 E1 E2 C2 D A B2 C2 D",
    ),
    ("NEXT((A AS a ; B+ AS b) FILTER a.v < b.v)", "A1 B2 B1 B3 A2 B3"),
)
"""Conditions between events, each with a stream in which it matters."""


@cache
def related_suite() -> tuple[Case, ...]:
    """All cases of conditions between events; the same in every run."""
    cases = [
        case(f"SELECT * FROM S WHERE {text}", stream(words), limit)
        for text, words in RELATED
        for limit in (None, 1)
    ]
    cases += [case(pair.text, pair.rows) for pair in collected(60, SEED, drawn=related_pairs())]
    return tuple(cases)


CHOSEN = (
    ("A ; B ; C", "A A B C B C A B C"),
    ("A ; B ; C WITHIN 3 EVENTS", "A A B C B C A B C"),
    ("A+ ; B", "A A B A B"),
    ("A ; B+ ; C", "A B A B B C A C B C"),
    ("((A ; B) OR (B ; A)) ; C", "A B A B C C"),
    ("A ; B? ; C WITHIN 4 EVENTS", "A B A C B A C C"),
    ("(A AS x OR A AS y) ; B", "A A B B"),
    ("NOT(A) ; B ; C", "B A B B C C"),
    ("(A ; B ; C) FILTER A.v < C.v", "A1 A2 B2 B1 C2 C3 A1 C3"),
)
"""Patterns that SELECT chooses among the matches of, each with a stream in which it matters."""


@cache
def choice_suite() -> tuple[Case, ...]:
    """All cases of strategies that choose on the match graph; the same in every run.

    Half of the streams are random.
    """
    some = Random(SEED)
    return tuple(
        case(f"SELECT {choice} * FROM S WHERE {text}", stream(words))
        for text, written in CHOSEN
        for choice in ("NEXT", "LAST", "FIRST")
        for words in (_random_words(some), written)
    )


def _random_words(some: Random) -> str:
    """Spell a stream of three types with values."""
    return " ".join(f"{some.choice('AABBC')}{some.randint(1, 3)}" for _ in range(12))


def first_failure(cases: Callable[[], tuple[Case, ...]] = suite) -> Case | None:
    """Return a case that the engine, as it is now, gets wrong."""
    return next((each for each in cases() if not each.agrees()), None)
