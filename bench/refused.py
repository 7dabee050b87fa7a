"""Queries that refuse what they list: LIMIT 1 and n events in the window that nothing is made of.

Every choice of the events in the window is a match that only listing can refuse, so there are 2^n.
What bounds the listing, and LIMIT where something passes, keep the work small; all else stops at
the budget `max_matches`, a million unless it is said otherwise.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

from bench.lab import Lab
from bench.processes import FailedError
from bench.tables import Column, Group, Row, Target, at_most

SIZES = (10, 20, 30, 40, 60)

QUERIES = {
    "sum > 3, which bounds": "(O ; (A AS x)+ ; B) AGGREGATE Y[s = sum(x.v)] FILTER Y[s > 3]",
    "sum > 10^6, which bounds": "(O ; (A AS x)+ ; B) AGGREGATE Y[s = sum(x.v)]"
    " FILTER Y[s > 1000000]",
    "a sum of doubles that none has": "(O ; (A AS x)+ ; B) AGGREGATE Y[s = sum(x.w)]"
    " FILTER Y[s = 20.05]",
    "avg that some have": "(O ; (A AS x)+ ; B) AGGREGATE Y[m = avg(x.v)] FILTER Y[m > 1]",
    "avg that none has": "(O ; (A AS x)+ ; B) AGGREGATE Y[m = avg(x.v)] FILTER Y[m > 1000]",
    "avg inside the pattern": "O ; ((A AS x)+ AGGREGATE Y[m = avg(x.v)] FILTER Y[m > 1000]) ; B",
    "median of aggregates": "(O ; ((A AS x) AGGREGATE Z[m = max(x.v)])+ ; B)"
    " AGGREGATE Y[m = median(Z.m)] FILTER Y[m > 1000]",
    "does not separate": "(O AS o ; (A AS x)+ ; B AS b) FILTER o.v * x.v + b.v > 1000",
    "!=": "(O ; (A AS x)+ ; B AS b) FILTER x.k != b.k",
    "MAX over !=": "MAX((O ; (A AS x)+ ; B AS b) FILTER x.k != b.k)",
    "UNLESS with a condition": "(O ; (A AS x)+ ; B) UNLESS (A AS c ; B AS d FILTER c.k = d.k)",
}


def answer(where: str, between: int) -> dict[str, Any]:
    """List the matches of one event in a session, or meet the budget, with warm kernels."""
    import ensue

    def events(count: int) -> list[dict[str, Any]]:
        rows = [{"type": "A", "v": at % 5, "w": at % 7 * 0.5, "k": 3} for at in range(count)]
        end: dict[str, Any] = {"v": None, "w": None}
        return [{"type": "O", "k": 0, **end, "v": 0}, *rows, {"type": "B", **end, "v": 1, "k": 3}]

    warnings.simplefilter("ignore")
    query = ensue.compile(f"SELECT * FROM S WHERE {where} WITHIN 100 EVENTS LIMIT 1")
    list(query.run(events(4)))
    session = query.open()
    before = time.perf_counter(), time.process_time()
    found = session.push(events(between))
    try:
        what = f"{len(list(found))} match"
    except ensue.BudgetError:
        what = "BudgetError"
    listed = time.perf_counter() - before[0], time.process_time() - before[1]
    query.resume(session.snapshot())
    return {"answer": what, "seconds": listed[0], "cpu": listed[1]}


def _measure(lab: Lab) -> list[Row]:
    rows: list[Row] = []
    for name, where in QUERIES.items():
        lab.say(name)
        for between in SIZES[1::2] if lab.quick else SIZES:
            row: Row = {"query": name, "between": between}
            try:
                rows.append({**row, **lab.call(answer, where=where, between=between)})
            except FailedError as error:
                rows.append({**row, "answer": f"**{error}**"})
    return rows


def _targets(rows: Sequence[Row]) -> list[Target]:
    known = [row.get("cpu") for row in rows]
    slowest = None if None in known else max(each for each in known if each is not None)
    return [at_most("the slowest answer or error, CPU", 10, slowest, "seconds", "")]


GROUP = Group(
    "refused",
    "Matches that are refused as they are listed: LIMIT 1, n events in the window",
    (
        Column("query", "query", "text"),
        Column("between", "n", "size"),
        Column("answer", "answer", "text"),
        Column("seconds", "time", "seconds"),
        Column("cpu", "CPU", "seconds"),
    ),
    _measure,
    _targets,
)
