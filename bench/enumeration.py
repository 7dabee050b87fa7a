"""Matches: listed as an Arrow table, or only counted."""

from __future__ import annotations

from collections.abc import Sequence

from bench.lab import Lab
from bench.measure import Case, Finish
from bench.queries import OPERATORS, sequence, unfiltered
from bench.sequences import MILLION, SPEED
from bench.streams import BUSY, CALM, DENSE, Source
from bench.tables import Column, Group, Row, Target, at_least, at_most

_BEGIN = (
    Column("query", "query", "text"),
    Column("stream", "stream", "text"),
    Column("events", "events", "size"),
    Column("found", "matches", "count"),
    Column("run", "Query.run", "seconds"),
)
_PEAK = Column("peak", "peak memory", "bytes")


def _row(lab: Lab, name: str, query: str, source: Source, finish: Finish) -> Row:
    measured = lab.measure(Case(name, query, source, finish))
    begin: Row = {"query": name, "stream": f"{source.rate:g}/s", "events": source.events}
    if measured.failed:
        return {**begin, "failed": measured.failed}
    some = measured.found and measured.finish
    return {
        **begin,
        "found": measured.found,
        "run": measured.run,
        "finish": measured.finish,
        "matches": measured.found / measured.finish if some else None,
        "each": measured.finish / measured.found * 1e9 if some else None,
        "rate": measured.events / measured.total,
        "nanoseconds": measured.total / measured.events * 1e9,
        "yardsticks": measured.yardsticks,
        "peak": measured.peak,
        "repetitions": measured.repetitions,
    }


def _measure_listing(lab: Lab) -> list[Row]:
    small = MILLION // 4 if lab.quick else MILLION
    cases: list[tuple[str, str, Source, Finish]] = [
        ("S3", sequence(3), Source(small, DENSE), "arrow"),
        ("S3", sequence(3), Source(4 * small, DENSE), "arrow"),
        ("S6", sequence(6), Source(MILLION // 40, DENSE), "arrow"),
        ("S3", sequence(3), Source(4 * small, CALM), "arrow"),
        ("S3 with ids", sequence(3), Source(small, DENSE), "ids"),
    ]
    return [_row(lab, name, query, source, finish) for name, query, source, finish in cases]


def _listing_targets(rows: Sequence[Row]) -> list[Target]:
    short, long = rows[0], rows[1]
    grows = None
    if not short.get("failed") and not long.get("failed"):
        grows = long["each"] / short["each"]
    return [
        at_least("S3 by to_arrow(ids=False)", 20e6, short.get("matches"), "rate", "matches/s"),
        at_most("time per match on a stream 4 times as long", 1.2, grows, "number", "times"),
    ]


LISTING = Group(
    "enumeration",
    "Enumeration: Query.run, then to_arrow(ids=False), of which the matches per second are",
    (
        *_BEGIN,
        Column("finish", "to_arrow()", "seconds"),
        Column("matches", "matches/s", "rate"),
        Column("each", "ns/match"),
        _PEAK,
    ),
    _measure_listing,
    _listing_targets,
)


def _measure_counting(lab: Lab) -> list[Row]:
    size = MILLION // 4 if lab.quick else MILLION
    cases = [
        ("S3", sequence(3), Source(size, DENSE)),
        ("S6", sequence(6), Source(size, DENSE)),
        ("S24", sequence(24), Source(size, DENSE)),
        ("Q7", OPERATORS["Q7"], Source(size, DENSE)),
        ("SELL;(BUY OR SELL)+;SELL", unfiltered(), Source(size // 10, CALM)),
        ("S3", sequence(3), Source(size // 10 if lab.quick else size, BUSY)),
    ]
    return [_row(lab, name, query, source, "count") for name, query, source in cases]


COUNTING = Group(
    "counting",
    "Count only: Query.run, then .count",
    (*_BEGIN, Column("finish", ".count", "seconds"), *SPEED),
    _measure_counting,
)
