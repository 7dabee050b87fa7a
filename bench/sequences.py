"""Sequences of 3, 6, 12 and 24 events, with output and (primed) without."""

from __future__ import annotations

from collections.abc import Sequence

from bench.lab import Lab
from bench.measure import Case, row
from bench.queries import LENGTHS, sequence
from bench.streams import BUSY, CALM, Source
from bench.tables import Column, Group, Row, Target, at_most

MILLION = 1_000_000

SPEED = (
    Column("rate", "events/s", "rate"),
    Column("nanoseconds", "ns/event"),
    Column("yardsticks", "yardsticks"),
    Column("peak", "peak memory", "bytes"),
)
"""The columns that every table about speed ends with."""

_ANSWERS = {"detect": "any?", "count": "count", "arrow": "all"}


def sizes(lab: Lab) -> tuple[int, ...]:
    """Return the lengths of the streams."""
    return (MILLION,) if lab.quick else (MILLION, 10 * MILLION)


def _measure(lab: Lab) -> list[Row]:
    rows = []
    for events in sizes(lab):
        busy, plain = Source(events, BUSY), Source(events, BUSY, plain=True)
        cases = [Case(f"S{n}'", sequence(n, never=True), busy) for n in LENGTHS]
        cases += [
            Case(f"S{n}'", sequence(n, never=True), plain)
            for n in LENGTHS
            if not lab.quick or n in (LENGTHS[0], LENGTHS[-1])
        ]
        cases += [Case(f"S{n}", sequence(n), busy) for n in LENGTHS]
        cases += [Case(f"S{n}", sequence(n), Source(events, CALM), "arrow") for n in LENGTHS]
        rows += [
            row(
                lab.measure(case),
                strings="plain" if case.source.plain else "coded",
                stream=f"{case.source.rate:g}/s",
                answer=_ANSWERS[case.finish],
            )
            for case in cases
        ]
    return rows


def _targets(rows: Sequence[Row]) -> list[Target]:
    reached = {(each["query"], each["strings"]): each for each in rows if each["events"] == MILLION}
    targets = []
    for query, most in (("S3'", 12.0), ("S24'", 80.0)):
        for strings, factor in (("coded", 1.0), ("plain", 2.5)):
            found = reached.get((query, strings), {}).get("yardsticks")
            words = "dictionary-encoded" if strings == "coded" else "plain"
            figure = f"{query} on 1M events with {words} strings"
            targets.append(at_most(figure, most * factor, found, "number", "yardsticks"))
    return targets


GROUP = Group(
    "sequences",
    "Sequences: primed ones are never completed",
    (
        Column("query", "query", "text"),
        Column("strings", "strings", "text"),
        Column("stream", "stream", "text"),
        Column("events", "events", "size"),
        Column("answer", "asked for", "text"),
        Column("found", "found", "count"),
        *SPEED,
    ),
    _measure,
    _targets,
)
