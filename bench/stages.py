"""Where the time goes: the stages of a run, each with the time that is its own.

The functions that do the work are replaced by ones that look at the clock and call them; what a
stage calls of another stage counts there. There is a warning about functions that are no
longer found under their names, which then count for their callers.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any

from bench.lab import Lab
from bench.processes import FailedError
from bench.queries import OPERATORS, WINDOW, by_account, sequence, unfiltered
from bench.sequences import MILLION
from bench.streams import BUSY, DENSE, Source
from bench.tables import Column, Group, Row

_STAGES = {
    "read": [
        "ensue.stream.conform:Conformer.read",
        "ensue.engine.pipeline:ReorderBuffer.check",
        "ensue.engine.pipeline:ReorderBuffer.add",
        "ensue.engine.execution:EventStore.add",
    ],
    "bind": [
        "ensue.engine.query:bind",
        "ensue.engine.instances:result_schema",
        "ensue.engine.instances:make_plan",
    ],
    "symbols": ["ensue.predicates.symbols:Alphabet.read", "ensue.operators.match:read_streams"],
    "keys": ["ensue.stream.keys:Keys.read", "ensue.stream.keys:Keys.settle"],
    "automaton": [
        "ensue.kernels.match.driver:Table.fill",
        "ensue.kernels.match.driver:Table.arrays",
    ],
    "kernel": ["ensue.kernels.match.driver:evaluate"],
    "compact": [
        "ensue.kernels.match.driver:MatchDriver.compact",
        "ensue.kernels.graph.arena:Arena.resize",
    ],
    "hits": ["ensue.kernels.match.driver:MatchDriver._harvest"],
    "list": [
        "ensue.kernels.graph.segment:list_matches",
        "ensue.kernels.graph.segment:new_found",
        "ensue.kernels.graph.segment:new_walk",
        "ensue.kernels.graph.segment:_listing",
    ],
    "columns": ["ensue.kernels.graph.segment:Listing.by_variable"],
    "Arrow": ["ensue.results.matches:Matches.to_arrow"],
}
REST = "rest"


class Clock:
    """Gives every moment to the stage that was entered last."""

    def __init__(self) -> None:
        self.spent = dict.fromkeys([*_STAGES, REST], 0.0)
        self.missing: list[str] = []
        self._inside = [REST]
        self._since = time.perf_counter()

    def _turn(self) -> None:
        now = time.perf_counter()
        self.spent[self._inside[-1]] += now - self._since
        self._since = now

    def watch(self) -> None:
        """Put the clock in front of every stage's functions."""
        for stage, names in _STAGES.items():
            for name in names:
                module, path = name.split(":")
                try:
                    owner: Any = importlib.import_module(module)
                    *classes, attribute = path.split(".")
                    for each in classes:
                        owner = getattr(owner, each)
                    setattr(owner, attribute, self._watched(stage, getattr(owner, attribute)))
                except (AttributeError, ImportError):
                    self.missing.append(path)

    def _watched(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            self._turn()
            self._inside.append(stage)
            try:
                return function(*args, **kwargs)
            finally:
                self._turn()
                self._inside.pop()

        return watched

    def take(self) -> dict[str, float]:
        """Return what was spent since the last time."""
        self._turn()
        spent, self.spent = self.spent, dict.fromkeys(self.spent, 0.0)
        return spent


def profile_here(query: str, path: str, listed: bool, repetitions: int) -> dict[str, Any]:
    """Run a query some times; return the stages of the fastest run."""
    import ensue
    from bench.streams import read

    table = read(path)
    compiled = ensue.compile(query)

    def once(events: Any) -> None:
        matches = compiled.run(events, threads=1)
        if listed:
            matches.to_arrow()

    once(table.slice(0, 5000))
    clock = Clock()
    clock.watch()
    runs = []
    for _ in range(repetitions):
        clock.take()
        once(table)
        runs.append(clock.take())
    best = min(runs, key=lambda run: sum(run.values()))
    return {"spent": best, "missing": clock.missing}


def _measure(lab: Lab) -> list[Row]:
    size = MILLION if lab.quick else 4 * MILLION
    busy, dense = Source(size, BUSY), Source(size // 4, DENSE)
    rows = []
    for name, query, source, listed in (
        ("S3'", sequence(3, never=True), busy, False),
        ("S3', plain strings", sequence(3, never=True), Source(size, BUSY, plain=True), False),
        ("S24'", sequence(24, never=True), busy, False),
        ("S3", sequence(3), busy, False),
        ("Q2", OPERATORS["Q2"], busy, False),
        ("Q7", OPERATORS["Q7"], busy, False),
        ("SELL;(BUY OR SELL)+;SELL", unfiltered(), busy, False),
        ("S3' by 1M keys", by_account(never=True), Source(size, BUSY, keys=MILLION), False),
        (
            "SELL;BUY;SELL by 1M keys",
            by_account(never=False),
            Source(size, BUSY, keys=MILLION),
            False,
        ),
        (
            "SELL;BUY;SELL by 10k keys, 400 s",
            by_account(never=False, window=40 * WINDOW),
            Source(size, BUSY, keys=10_000),
            False,
        ),
        ("S3, to_arrow()", sequence(3), dense, True),
    ):
        path = lab.make(source)
        lab.say(f"profile of {name}")
        begin: Row = {"query": name, "events": source.events}
        try:
            found = lab.call(profile_here, query=query, path=path, listed=listed, repetitions=5)
        except FailedError as error:
            rows.append({**begin, "failed": str(error)})
            continue
        each = {stage: spent / source.events * 1e9 for stage, spent in found["spent"].items()}
        if found["missing"]:
            lab.warn(f"{name}: the profile does not find {', '.join(found['missing'])}")
        rows.append({**begin, **each, "sum": sum(each.values()), "missing": found["missing"]})
    return rows


GROUP = Group(
    "profile",
    "Where the time goes: nanoseconds per event of the stream, stage by stage",
    (
        Column("query", "query", "text"),
        Column("events", "events", "size"),
        *(Column(stage, stage) for stage in [*_STAGES, REST]),
        Column("sum", "sum"),
    ),
    _measure,
)
