"""Conditions between events: [SRT]'s workloads, chains of equalities, increasing runs.

Sequences relate every third event to the one two before it; k_n repeats the event between them,
kn_n repeats a pair whose second event is repeated too. Windows count events, as in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.lab import Lab
from bench.measure import Case, Measured, row
from bench.sequences import MILLION, SPEED
from bench.streams import BUSY, Source, real_path
from bench.tables import Column, Group, Row, Target, at_least, at_most

_NAMES = "INTC RIMM QQQ IPIX AMAT CSCO YHOO DELL ORCL MSFT".split()
_GENERATED, _REAL = "generated", "real day"
_WINDOW = 500
_LONGEST = 8000
_CHAINED = (1_000, 10_000, 100_000, MILLION)
_ACCOUNTS = 100
"""Few, so that windows of all lengths complete the same matches and only their size differs."""


def related(length: int, size: int, middle: str, window: int) -> str:
    """Return blocks of `size` events; the last of each costs more than the first.

    `middle` writes what comes between them: {0}, {1} … are events.

    >>> print(related(3, 3, "{0}", 500))
    SELECT * FROM S
    WHERE (ANY AS e1 ; ANY AS e2 ; ANY AS e3)
    FILTER e1[name = 'INTC'] AND e2[name = 'RIMM'] AND e3[name = 'QQQ'] AND e3.price > e1.price
    WITHIN 500 EVENTS
    """
    parts, filters = [], []
    for first in range(0, length, size):
        names = [f"e{first + i + 1}" for i in range(size)]
        events = [f"ANY AS {name}" for name in names]
        between = middle.format(*events[1:-1])
        parts += [events[0], between, events[-1]]
        for i, name in enumerate(names):
            filters.append(f"{name}[name = '{_NAMES[(first + i) % len(_NAMES)]}']")
        filters.append(f"{names[-1]}.price > {names[0]}.price")
    return "\n".join(
        [
            "SELECT * FROM S",
            f"WHERE ({' ; '.join(parts)})",
            f"FILTER {' AND '.join(filters)}",
            f"WITHIN {window} EVENTS",
        ]
    )


def seq(length: int, window: int = _WINDOW) -> str:
    """Return seq_3, seq_6, …"""
    return related(length, 3, "{0}", window)


def kleene(length: int, window: int = _WINDOW) -> str:
    """Return k_3, k_6, …"""
    return related(length, 3, "({0})+", window)


def nested(length: int, window: int = _WINDOW) -> str:
    """Return kn_4, kn_8, …"""
    return related(length, 4, "({0} ; ({1})+)+", window)


_NAMED = "a[name = 'MSFT'] AND b[name = 'ORCL'] AND c[name = 'CSCO'] AND d[name = 'AMAT']"
_PRICED = _NAMED + " AND a[price > 26.0] AND b[price > 11.14] AND d[price >= 18.92]"
_FOUR = "SELL AS a ; BUY AS b ; BUY AS c ; SELL AS d"
_EITHER = "SELL AS a ; (BUY OR SELL) AS b ; (BUY OR SELL) AS c ; SELL AS d"


def _mixed(pattern: str, filters: str) -> str:
    return (
        f"SELECT * FROM S\nWHERE ({pattern})\nFILTER {filters} AND d.price < a.price\n"
        "WITHIN 1000 EVENTS"
    )


MIXED = {
    "q_1": _mixed(_FOUR, _NAMED),
    "q_2": _mixed(_FOUR, _PRICED),
    "q_3": _mixed(_EITHER, _NAMED),
    "q_4": _mixed(_EITHER, _PRICED),
    "q_5": _mixed(
        "SELL AS a ; (BUY OR SELL)+ AS q ; SELL AS d",
        "a[name = 'MSFT'] AND q[name = 'QQQ'] AND q[volume = 4000] AND d[name = 'AMAT']",
    ),
}
"""q_1 to q_5 of Section 5.7."""


def chain(window: int) -> str:
    """Return a chain of equalities."""
    return (
        "SELECT * FROM S\n"
        "WHERE (SELL AS a ; BUY AS b ; SELL AS c)\n"
        "FILTER a.account = b.account AND b.account = c.account\n"
        f"WITHIN {window} EVENTS"
    )


def increasing(window: int) -> str:
    """Return runs of rising prices of one stock."""
    return (
        "SELECT * FROM S\n"
        "WHERE (SELL AS a ; BUY+ AS b ; SELL AS c)\n"
        "FILTER a[name = 'INTC'] AND b[name = 'INTC'] AND c[name = 'INTC'] "
        "AND b[increasing(price)]\n"
        f"WITHIN {window} EVENTS"
    )


def unless(condition: str, window: int) -> str:
    """Return sales of one stock and purchases of another with no such trade of QQQ between."""
    return (
        "SELECT * FROM S\n"
        "WHERE ((SELL AS a ; BUY AS c) FILTER a[name = 'INTC'] AND c[name = 'RIMM'])\n"
        f"  UNLESS (BUY AS b FILTER b[name = 'QQQ'] AND {condition})\n"
        f"WITHIN {window} EVENTS"
    )


UNLESS = {
    "UNLESS, plain": unless("b[volume = 1000]", _WINDOW),
    "UNLESS, equality with its left": unless("b.volume = a.volume", _WINDOW),
}
"""What must not happen, for all matches alike and for each by its own value."""


def _cases(source: Source, *, quick: bool) -> list[tuple[Case, int]]:
    every = slice(None, None, 3 if quick else 1)
    found = [(Case(f"seq_{n}", seq(n), source), _WINDOW) for n in (3, 6, 9, 12)[every]]
    found += [(Case(f"k_{n}", kleene(n), source), _WINDOW) for n in (3, 6, 9, 12)[every]]
    found += [(Case(f"kn_{n}", nested(n), source), _WINDOW) for n in (4, 8, 12, 16)[every]]
    found += [(Case(name, query, source), 1000) for name, query in MIXED.items()]
    for window in (_LONGEST,) if quick else (1000, 2000, 4000, _LONGEST):
        found.append((Case("seq_3", seq(3, window), source), window))
        found.append((Case("k_3", kleene(3, window), source), window))
    found += [(Case("increasing", increasing(w), source), w) for w in (_WINDOW, _LONGEST)]
    found += [(Case(name, query, source), _WINDOW) for name, query in UNLESS.items()]
    return found


def _described(measured: Measured, stream: str, window: int) -> Row:
    return row(measured, stream=stream, window=window)


def _measure(lab: Lab) -> list[Row]:
    events = MILLION if not lab.quick else MILLION // 5
    generated = Source(events, BUSY)
    rows = [
        _described(lab.measure(case), _GENERATED, window)
        for case, window in _cases(generated, quick=lab.quick)
    ]
    if real_path() is not None:
        day = Source(224_473, real=True)
        rows += [
            _described(lab.measure(case), _REAL, window)
            for case, window in _cases(day, quick=lab.quick)
        ]
    # So many that the longest window slides over most of them.
    accounts = Source((2 if lab.quick else 5) * MILLION, BUSY, keys=_ACCOUNTS)
    windows = _CHAINED if not lab.quick else (_CHAINED[0], *_CHAINED[-2:])
    cases = [Case("chain", chain(window), accounts) for window in windows]
    measured = lab.compare(cases)
    for window, each in zip(windows, measured, strict=True):
        slower = each.total / measured[0].total if not each.failed else None
        rows.append({**_described(each, _GENERATED, window), "slower": slower})
    return rows


def _targets(rows: Sequence[Row]) -> list[Target]:
    found = {(each["query"], each["stream"], each["window"]): each for each in rows}

    def rate(query: str, window: int) -> float | None:
        return found.get((query, _GENERATED, window), {}).get("rate")

    slower = [each["slower"] for each in rows if each["query"] == "chain"]
    worst = None if None in slower else max(slower, default=None)
    return [
        at_least("seq_3 in windows of 500 events", 3e6, rate("seq_3", 500), "rate", "events/s"),
        at_least("k_3 in windows of 8,000 events", 1e5, rate("k_3", 8000), "rate", "events/s"),
        at_most(
            "a chain of equalities, the worst window of 10k to 1M events to one of 1,000",
            1.5,
            worst,
            "number",
            "times",
        ),
    ]


GROUP = Group(
    "conditions",
    "Conditions between events; 'found' are the events that complete matches",
    (
        Column("query", "query", "text"),
        Column("stream", "stream", "text"),
        Column("window", "window", "size"),
        Column("events", "events", "size"),
        Column("found", "found", "count"),
        Column("slower", "time to 1k"),
        *SPEED,
    ),
    _measure,
    _targets,
)
