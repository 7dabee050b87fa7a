"""Funnels: how far the events of a stream come in the pattern of a query, and what stops them.

All numbers are counted by the engine itself, on variants of the query. Starts of step k are the
events at which a match of the first k steps starts, with all conditions on their variables and
inside the window. So every start of a step is a start of the step before, and the others are
explained: without which obstacle would they go on? A start that several obstacles stop, each by
itself, counts for the first of them in this order: conditions, contiguity, UNLESS, windows,
strategies inside the pattern. A start that goes on only without all of them together is stopped by
several, and one that does not go on even then finds no further event of that kind.

Runs of a step are all the matches of the first k steps. What the clauses of the query leave of
those of the whole pattern follows in stages, the last of which is the number of matches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

import numpy as np

from ensue.engine.query import Query
from ensue.errors import BudgetError
from ensue.insight.evaluation import (
    Evaluator,
    KeptEvents,
    Sample,
    evaluator,
    plain,
)
from ensue.insight.obstacles import CLAUSES, Obstacle, ObstacleKind, obstacles_of, without
from ensue.insight.reasons import Reason, Reasons
from ensue.insight.steps import Kind, Step, kinds_of, leaves, one_of, steps_of, with_steps
from ensue.language import tree
from ensue.language.printer import format_pattern, format_query
from ensue.options import EventsLike, Limits, ReadOptions
from ensue.stream.times import Time

EndingKind = Literal[
    "condition",
    "contiguity",
    "UNLESS",
    "window",
    "strategy",
    "several",
    "no further event",
    "not known",
]

_ORDER: tuple[ObstacleKind, ...] = ("condition", "contiguity", "UNLESS", "window", "strategy")


@dataclass(frozen=True, slots=True)
class Ending:
    """What kept starts from reaching a step, and how many."""

    kind: EndingKind
    text: str
    """The condition, the window, … as it was written, or a few words."""
    starts: int
    closest: str = ""
    """Of a condition: the values that came nearest to it, among the first that were looked at."""


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """How many came to a step of the pattern; None stands for numbers that are not known."""

    number: int
    text: str
    of_type: int | None
    """How many events have its type."""
    events: int | None
    """How many of these satisfy the conditions on them alone."""
    starts: int | None
    """How many starts came so far."""
    runs: int | None
    """How many partial matches there are up to here."""
    endings: tuple[Ending, ...] = ()
    """What kept starts of the step before from coming here."""


@dataclass(frozen=True, slots=True)
class Stage:
    """How many matches are left after a clause of the query."""

    clause: str
    matches: int | None


@dataclass(frozen=True, slots=True)
class Funnel:
    """How far events come in a query, step by step; print() shows it."""

    query: str
    steps: tuple[FunnelStep, ...]
    stages: tuple[Stage, ...]
    """From all matches of the pattern to those of the query, clause by clause."""
    sample: Sample
    """How many events were looked at."""

    @property
    def matches(self) -> int | None:
        """How many matches the query has on these events."""
        return self.stages[-1].matches

    def __str__(self) -> str:
        from ensue.insight.show import funnel_text

        return funnel_text(self)

    def _repr_html_(self) -> str:
        from ensue.insight.show import funnel_html

        return funnel_html(self)


def funnel(
    query: Query,
    events: EventsLike | KeptEvents,
    options: ReadOptions,
    limits: Limits,
    until: Time | None = None,
    most_events: int | None = None,
) -> Funnel:
    """Count how far events come in a query, and what stops the others."""
    engine = evaluator(query, events, options, limits, until, most_events)
    parsed = engine.query.tree
    steps = steps_of(parsed.pattern)
    obstacles = [each for each in obstacles_of(parsed) if each.kind not in CLAUSES]
    obstacles = [each for each in obstacles if each.kind != "strategy" or each.node is not None]
    obstacles.sort(key=lambda each: _ORDER.index(each.kind))
    counted: list[FunnelStep] = []
    before: np.ndarray | None = None
    for number, step in enumerate(steps):
        upto = _Upto(parsed, step)
        reached = engine.starts(upto())
        endings: tuple[Ending, ...] = ()
        if number and before is not None and reached is not None:
            stopped = np.setdiff1d(before, reached, assume_unique=True)
            new = _applying(obstacles, _Upto(parsed, steps[number - 1]), upto)
            endings = tuple(_endings(engine, upto, new, stopped))
        kinds = [kind for at in step.leaves for kind in _kinds_at(parsed.pattern, at)]
        single = [
            replace(parsed, pattern=one_of(tuple(kinds), filtered=each)) for each in (False, True)
        ]
        counted.append(
            FunnelStep(
                step.number,
                step.text,
                engine.ends(single[0]),
                engine.ends(single[1]),
                None if reached is None else len(reached),
                engine.runs(upto()),
                endings,
            )
        )
        before = reached
    return Funnel(
        format_query(query.tree), tuple(counted), tuple(_stages(engine)), engine.events.sample
    )


@dataclass(frozen=True, slots=True)
class _Upto:
    """The query of the first steps."""

    query: tree.Query
    step: Step

    def __call__(self, removed: Sequence[Obstacle] = ()) -> tree.Query:
        """Return it without some obstacles."""
        query = without(self.query, removed)
        pattern = with_steps(query.pattern, range(self.step.leaves.stop))
        assert pattern is not None
        return replace(query, pattern=pattern)

    @property
    def has_all(self) -> Callable[[Obstacle], bool]:
        """Return whether the query is another one without an obstacle."""
        text = format_query(plain(self()))
        return lambda obstacle: format_query(plain(self([obstacle]))) != text


def _applying(obstacles: Sequence[Obstacle], before: _Upto, upto: _Upto) -> list[Obstacle]:
    """Return the obstacles between two steps: those of the second alone, and those of all steps."""
    old, now = before.has_all, upto.has_all
    return [
        each
        for each in obstacles
        if now(each) and (each.kind in ("UNLESS", "window", "strategy") or not old(each))
    ]


def _endings(
    engine: Evaluator, upto: _Upto, obstacles: Sequence[Obstacle], stopped: np.ndarray
) -> list[Ending]:
    """Say what keeps each of some starts from reaching a step."""
    found: list[Ending] = []
    unknown = False
    for obstacle in obstacles:
        if not len(stopped):
            return found
        reached = engine.starts(upto([obstacle]))
        unknown = unknown or reached is None
        if reached is None:
            continue
        freed = np.intersect1d(stopped, reached, assume_unique=True)
        if len(freed):
            near = _closest(engine, upto, obstacle, freed) if obstacle.kind == "condition" else ""
            found.append(Ending(_ENDINGS[obstacle.kind], obstacle.text, len(freed), near))
            stopped = np.setdiff1d(stopped, freed, assume_unique=True)
    if not len(stopped):
        return found
    if unknown:
        return [*found, Ending("not known", "needs more than the limits allow", len(stopped))]
    reached = engine.starts(upto(obstacles)) if obstacles else np.zeros(0, np.int64)
    if reached is None:
        return [*found, Ending("not known", "needs more than the limits allow", len(stopped))]
    together = len(np.intersect1d(stopped, reached, assume_unique=True))
    if together:
        found.append(Ending("several", "several of these together", together))
    if len(stopped) - together:
        text = f"no further {_short(upto.step.text)}"
        found.append(Ending("no further event", text, len(stopped) - together))
    return found


def _closest(engine: Evaluator, upto: _Upto, obstacle: Obstacle, starts: np.ndarray) -> str:
    """Return the values that come nearest to a condition which stops some starts."""
    every = tree.Selection(None, True, (), ())
    variants = [
        engine.variant(replace(plain(upto(removed)), select=every)) for removed in ([], [obstacle])
    ]
    whole, relaxed = variants
    if whole is None or relaxed is None:
        return ""
    wanted, best = set(starts.tolist()), Reason("", math.inf)
    try:
        reasons = Reasons(whole, engine.matches(whole).schema.satisfied)
        listed = islice(engine.matches(relaxed), _MOST_LISTED)
        stopped = (match for match in listed if match.start in wanted)
        for match in islice(stopped, _MOST_COMPARED):
            best = min(best, reasons.of(obstacle, match), key=lambda each: each.gap)
    except BudgetError:
        return ""
    return best.actual


_MOST_LISTED = 20_000
"""So many partial matches are looked through for those of starts that were stopped."""

_MOST_COMPARED = 1_000
"""So many of these are compared for the values that come nearest."""

_ENDINGS: dict[ObstacleKind, EndingKind] = {
    "condition": "condition",
    "contiguity": "contiguity",
    "UNLESS": "UNLESS",
    "window": "window",
    "strategy": "strategy",
}


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


def _kinds_at(pattern: tree.Pattern, leaf: int) -> list[Kind]:
    """Return the kinds of events of a leaf, with the conditions from all around it."""
    sizes = [len(kinds_of(each)) for each in leaves(pattern)]
    begin = sum(sizes[:leaf])
    return list(kinds_of(pattern)[begin : begin + sizes[leaf]])


def _stages(engine: Evaluator) -> list[Stage]:
    """Count what the clauses of the query leave of the matches of its pattern."""
    parsed = engine.query.tree
    select = parsed.select
    shown = select
    if any(column.counts_matches for column in select.columns):
        shown = tree.Selection(select.strategy, True, (), ())
    every = tree.Selection(None, True, (), ())
    query = replace(plain(parsed), select=every)
    stages = [Stage("pattern", engine.count(query, engine.limits))]
    if parsed.not_followed is not None:
        query = replace(query, not_followed=parsed.not_followed)
        text = f"NOT FOLLOWED BY {format_pattern(parsed.not_followed.pattern)}"
        stages.append(Stage(text, engine.count(query, engine.limits)))
    if shown != every:
        query = replace(query, select=shown)
        stages.append(Stage(_select_text(shown), engine.count(query, engine.limits)))
    if parsed.consume not in (None, "NONE"):
        query = replace(query, consume=parsed.consume)
        stages.append(Stage(f"CONSUME BY {parsed.consume}", engine.count(query, engine.limits)))
    if parsed.limit is not None:
        query = replace(query, limit=parsed.limit)
        stages.append(Stage(f"LIMIT {parsed.limit}", engine.count(query, engine.limits)))
    return stages


def _select_text(select: tree.Selection) -> str:
    strategy = "" if select.strategy is None else f"{select.strategy.text} "
    shown = ["*"] if select.everything else [each.variable.text for each in select.shown]
    return f"SELECT {strategy}{', '.join(shown) or 'NONE'}"
