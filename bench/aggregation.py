"""Totals of matches that nobody lists, and values computed from those that are listed."""

from __future__ import annotations

from collections.abc import Sequence

from bench.lab import Lab
from bench.measure import Case, row
from bench.queries import sequence, unfiltered
from bench.sequences import MILLION, SPEED
from bench.streams import BUSY, DENSE, Source
from bench.tables import Column, Group, Row, Target, at_least, at_most

_TOTALS = {"S3": sequence, "SELL;(BUY OR SELL)+;SELL": unfiltered}
_SECONDS = (10, 100, 400)
_TRENDS, _PLAIN, _COMPUTED = "Q16", "S3, listed", "S3, listed, with two computed columns"
_FILTERED, _PRUNED = "volumes of 8,000, listed", "a least volume of 8,000, listed"


def _counted(query: str) -> str:
    return query.replace("SELECT *", "SELECT count(*)", 1)


def total(name: str, seconds: int) -> str:
    """Return a query that counts what completes at each event."""
    window = 1000 * seconds
    return _counted(sequence(3, window=window) if name == "S3" else unfiltered(window))


def trends(window: int = 10_000) -> str:
    """Return Q16 of [ACEL]: falling prices of one company, here of one account."""
    return (
        "SELECT count(*) FROM S\n"
        "WHERE (SELL+ AS x)\n"
        "FILTER x[same(account)] AND x[decreasing(price)]\n"
        f"WITHIN {window} EVENTS"
    )


def computed() -> str:
    """Return S3 with two values computed from each match."""
    return sequence(3).replace("SELECT *", "SELECT *, max(BUY.price) AS top, count(BUY) AS n", 1)


def large(*, computed: bool) -> str:
    """Return a query for runs of large trades, told event by event or by a computed minimum.

    Without its filter it has more matches than anybody could list: 2^300 in a window.
    """
    made = "AGGREGATE Y[low = min(b.volume)] FILTER Y[low >= 8000]"
    return (
        "SELECT * FROM S\n"
        "WHERE (SELL ; ((BUY OR SELL) AS b)+ ; SELL)\n"
        f"{made if computed else 'FILTER b[volume >= 8000]'}\n"
        "WITHIN 10000 [stock_time]"
    )


def _measure(lab: Lab) -> list[Row]:
    events = MILLION // 5 if lab.quick else MILLION
    rows: list[Row] = []
    for name in _TOTALS:
        cases = [
            Case(name, total(name, seconds), Source(events, BUSY), "count") for seconds in _SECONDS
        ]
        measured = lab.compare(cases)
        for seconds, each in zip(_SECONDS, measured, strict=True):
            slower = None if each.failed else each.total / measured[0].total
            rows.append({**row(each, window=f"{seconds} s"), "slower": slower})
    accounts = Source(events // 5, BUSY, keys=500)
    rows.append(row(lab.measure(Case(_TRENDS, trends(), accounts, "count")), window="10k events"))
    dense = Source(MILLION // 4, DENSE)
    listed = [
        Case(_PLAIN, sequence(3), dense, "arrow"),
        Case(_COMPUTED, computed(), dense, "arrow"),
    ]
    plain, with_values = lab.compare(listed)
    rows.append(row(plain, window="10 s"))
    slower = None if with_values.failed else with_values.total / plain.total
    rows.append({**row(with_values, window="10 s"), "slower": slower})
    rows += _nested(lab)
    few = Source(MILLION // 50, DENSE)
    large_ones = [
        Case(_FILTERED, large(computed=False), few, "arrow"),
        Case(_PRUNED, large(computed=True), few, "arrow"),
    ]
    by_event, pruned = lab.compare(large_ones)
    rows.append(row(by_event, window="10 s"))
    slower = None if pruned.failed else pruned.total / by_event.total
    rows.append({**row(pruned, window="10 s"), "slower": slower})
    return rows


_LISTED, _INSIDE, _ROUNDS = (
    "runs, listed",
    "AGGREGATE inside",
    "AGGREGATE in each round, and of all",
)


def nested(inner: str, outer: str = "") -> str:
    """Return a query for runs of trades, perhaps with values computed inside of the pattern."""
    return f"SELECT * FROM S\nWHERE (SELL ; {inner} ; SELL){outer}\nWITHIN 9 EVENTS"


def _nested(lab: Lab) -> list[Row]:
    """Compare listing with computed events inside of a pattern to plain listing, ids included."""
    source = Source(MILLION // 50, DENSE)
    made = "AGGREGATE Y[s = sum(b.volume)]"
    texts = {
        _LISTED: nested("(BUY AS b)+"),
        _INSIDE: nested(f"((BUY AS b)+ {made})"),
        _ROUNDS: nested(f"((BUY AS b) {made})+", " AGGREGATE Z[t = max(Y.s), n = count(Y)]"),
    }
    measured = lab.compare([Case(name, text, source, "ids") for name, text in texts.items()])
    plain, *others = measured
    rows: list[Row] = [row(plain, window="9 events")]
    for each in others:
        slower = None if each.failed or plain.failed else each.total / plain.total
        rows.append({**row(each, window="9 events"), "slower": slower})
    return rows


def _targets(rows: Sequence[Row]) -> list[Target]:
    found = {(each["query"], each["window"]): each for each in rows}
    targets = []
    for name in _TOTALS:
        slowest = [found[name, f"{seconds} s"].get("rate") for seconds in _SECONDS]
        known = [rate for rate in slowest if rate is not None]
        least = min(known) if len(known) == len(_SECONDS) else None
        longest = found[name, f"{_SECONDS[-1]} s"].get("slower")
        targets.append(at_least(f"count(*) of {name}", 1e6, least, "rate", "events/s"))
        targets.append(
            at_most(f"count(*) of {name}, 400 s to 10 s", 1.5, longest, "number", "times")
        )
    falling = found[_TRENDS, "10k events"].get("rate")
    targets.append(at_least("Q16 in windows of 10,000 events", 1e5, falling, "rate", "events/s"))
    beside = found[_COMPUTED, "10 s"].get("slower")
    targets.append(at_most("computed columns to none", 2, beside, "number", "times"))
    for name in (_INSIDE, _ROUNDS):
        slower = found[name, "9 events"].get("slower")
        targets.append(at_most(f"{name}, to plain listing", 3, slower, "number", "times"))
    return targets


GROUP = Group(
    "aggregation",
    "Totals of all matches that complete at an event, none listed; computed columns",
    (
        Column("query", "query", "text"),
        Column("window", "window", "text"),
        Column("events", "events", "size"),
        Column("found", "rows", "count"),
        Column("slower", "time to the first"),
        *SPEED,
    ),
    _measure,
    _targets,
)
