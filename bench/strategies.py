"""The strategies of SELECT: what the choice costs on top of finding all matches.

Matches are found and chosen, not listed. The longest choice of all is measured too: of 2^60 matches
of one event.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from bench.lab import Lab
from bench.measure import Case, row
from bench.queries import LENGTHS, WINDOW, sequence
from bench.sequences import MILLION
from bench.streams import BUSY, Source, real_path
from bench.tables import Column, Group, Row, Target, at_most

STRATEGIES = ("ALL", "NEXT", "LAST", "FIRST", "MAX", "STRICT")
_CHOOSING = ("NEXT", "LAST", "FIRST")
_FACTORS = (1, 4, 40)
_GENERATED, _REAL = "generated", "real day"
_MANY = ("A+ ; B AS b", "(A+ AS a ; B AS b) FILTER a.v = b.v")


def _measure(lab: Lab) -> list[Row]:
    sources = [(_GENERATED, Source(MILLION, BUSY))]
    if not lab.quick and real_path() is not None:
        sources.append((_REAL, Source(224_473, real=True)))
    lengths = (LENGTHS[0], LENGTHS[2]) if lab.quick else LENGTHS
    rows = []
    for stream, source in sources:
        for length in lengths:
            for never in (True, False):
                rows += _compared(lab, stream, source, length, never=never)
    chosen = [_chosen_of_many(lab, f"{strategy} *") for strategy in _CHOOSING]
    return [*rows, *chosen, _chosen_of_many(lab, "b")]


def _compared(lab: Lab, stream: str, source: Source, length: int, *, never: bool) -> list[Row]:
    """Measure all strategies of a sequence in turns, in all windows."""
    name = f"S{length}{chr(39) if never else ''}"
    wanted = [(strategy, factor) for factor in _FACTORS for strategy in STRATEGIES]
    cases = []
    for strategy, factor in wanted:
        text = sequence(length, never=never, window=factor * WINDOW)
        chosen = text.replace("SELECT *", f"SELECT {strategy} *")
        cases.append(Case(f"{name} {strategy}", chosen, source))
    measured = dict(zip(wanted, lab.compare(cases, memory=False), strict=True))
    rows: list[Row] = []
    for factor in _FACTORS:
        every = measured["ALL", factor]
        found = row(every, stream=stream, window=f"x{factor}")
        found["query"] = name
        for strategy in STRATEGIES:
            each, first = measured[strategy, factor], measured[strategy, _FACTORS[0]]
            if every.cpu and first.cpu and not each.failed:
                found[strategy] = each.cpu / every.cpu
                found[f"{strategy}, slower"] = each.cpu / first.cpu
        rows.append(found)
    return rows


def _chosen_of_many(lab: Lab, select: str) -> Row:
    seconds = lab.call(choose_of_many, select=select)
    return {"query": f"{select.removesuffix(' *')} of 2^60", "events": 61, "seconds": seconds}


def choose_of_many(select: str) -> float:
    """Return the longest time that one event takes which completes 2^60 matches."""
    import ensue

    rows = [{"type": "A", "v": 1}] * 60 + [{"type": "B", "v": 1}]
    longest = 0.0
    for pattern in _MANY:
        query = ensue.compile(f"SELECT {select} FROM S WHERE {pattern} WITHIN 100 EVENTS")
        for _ in range(2):
            # The first time, kernels are loaded.
            session = query.open()
            session.push(rows[:-1])
            began = time.perf_counter()
            next(iter(session.push(rows[-1:])))
            taken = time.perf_counter() - began
        longest = max(longest, taken)
    return longest


def _targets(rows: Sequence[Row]) -> list[Target]:
    targets = []
    for strategy in _CHOOSING:
        own = [each for each in rows if strategy in each]
        most = max((each[strategy] for each in own), default=None)
        targets.append(at_most(f"{strategy}, to ALL", 2, most, "number", "times"))
        for stream in dict.fromkeys(each["stream"] for each in own):
            figure, slower = (
                f"{strategy}, a window 40 times as long, {stream}",
                f"{strategy}, slower",
            )
            longer = [each[slower] for each in own if each["stream"] == stream]
            if stream == _REAL:
                # There a longer window has more events that complete something, for ALL as well.
                real = [each for each in own if each["stream"] == stream]
                longer = [each[slower] / each["ALL, slower"] for each in real]
                figure += ", to ALL"
            targets.append(at_most(figure, 1.5, max(longer), "number", "times"))
    many = [each["seconds"] for each in rows if "2^60" in each["query"]]
    longest = max(many, default=None)
    targets.append(at_most("one event that completes 2^60 matches", 0.05, longest, "seconds", ""))
    return targets


GROUP = Group(
    "strategies",
    "Strategies of SELECT: found and chosen, none listed",
    (
        Column("query", "query", "text"),
        Column("stream", "stream", "text"),
        Column("window", "window", "text"),
        Column("events", "events", "size"),
        Column("found", "completing events", "count"),
        Column("rate", "events/s of ALL", "rate"),
        *(Column(each, f"{each} to ALL") for each in STRATEGIES[1:]),
        Column("ALL, slower", "ALL to x1"),
        Column("seconds", "time", "seconds"),
    ),
    _measure,
    _targets,
)
