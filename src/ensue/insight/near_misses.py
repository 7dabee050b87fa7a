"""Near misses: groups of events that would be a match, were it not for one thing.

The query is evaluated without one obstacle at a time, and without one step at a time. What the
relaxed query matches and the query does not is a near miss, and the relaxed query comes with it:
it has the near miss among its matches. Those with all steps come first; of one obstacle, those
whose start comes to no match, those that miss a condition by the least, and one for each start
before others.

Matches are looked through in their order, a bounded number of them; `NearMisses` says when there
were more, and which obstacles would have needed more than the limits allow.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from typing import Any

from ensue.analysis.patterns import may_be_empty
from ensue.engine.query import Query
from ensue.errors import BudgetError
from ensue.insight.evaluation import (
    Evaluator,
    KeptEvents,
    Sample,
    evaluator,
)
from ensue.insight.obstacles import Obstacle, ObstacleKind, obstacles_of, without
from ensue.insight.reasons import Reason, Reasons
from ensue.insight.steps import Step, leaves, steps_of, with_steps
from ensue.language import tree
from ensue.options import EventsLike, Limits, ReadOptions
from ensue.results.match import Match
from ensue.stream.times import Time

_MOST_KNOWN = 100_000
"""So many matches of the query are listed at most, to tell which ones are none."""

_MOST_LISTED = 20_000
"""So many matches of a relaxed query are listed at most."""

_MOST_COMPARED = 1_000
"""So many near misses of one obstacle are compared."""


@dataclass(frozen=True, slots=True)
class NearMiss:
    """Events that would be a match without one obstacle."""

    match: Match
    """The events, as the relaxed query binds them."""
    kind: ObstacleKind
    """What kind of obstacle it was; "step": there was no event for a step."""
    obstacle: str
    """The obstacle as it was written: a condition, a window, a step, …"""
    reason: str
    """What was needed and what there was, with values."""
    steps: int
    """How many steps of the pattern it has."""
    of_steps: int
    relaxed: Query = field(repr=False)
    """The query without the obstacle."""

    def __str__(self) -> str:
        bound = ", ".join(
            f"{', '.join(event.variables)} at {event.position}"
            for event in self.match.explain().events
        )
        found = f"{self.match.start}..{self.match.end}"
        return f"{found}  {self.steps} of {self.of_steps} steps: {bound}\n    {self.reason}"


@dataclass(frozen=True, slots=True)
class NearMisses(Sequence[NearMiss]):
    """Near misses, the nearest first; print() shows them."""

    found: tuple[NearMiss, ...]
    sample: Sample
    """How many events were looked at."""
    complete: bool
    """Whether all matches were looked through; False: there may be nearer ones."""
    not_known: tuple[str, ...] = ()
    """Obstacles that would have needed more than the limits allow."""

    def __getitem__(self, index: Any) -> Any:
        return self.found[index]

    def __len__(self) -> int:
        return len(self.found)

    def __str__(self) -> str:
        lines = [str(each) for each in self.found] or ["no near misses"]
        if self.sample.more:
            lines.append(f"of {self.sample}; there are more")
        if not self.complete:
            lines.append("not all partial matches were compared: there may be nearer ones")
        lines += [f"not tried without {each}: it needs too much" for each in self.not_known]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from ensue.insight.show import near_misses_html

        return near_misses_html(self)


def near_misses(
    query: Query,
    events: EventsLike | KeptEvents,
    n: int,
    options: ReadOptions,
    limits: Limits,
    until: Time | None = None,
    most_events: int | None = None,
) -> NearMisses:
    """Find what came nearest to a match of a query."""
    engine = evaluator(query, events, options, limits, until, most_events)
    search = _Search(engine)
    whole = [search.without_obstacle(each) for each in obstacles_of(search.base)]
    found = list(search.by_turns(whole))[:n]
    if len(found) < n:
        partial = [search.without_step(step) for step in reversed(search.steps)]
        found += list(search.by_turns(partial))[: n - len(found)]
    if len(found) < n:
        shorter = [search.first_steps(step) for step in reversed(search.steps[:-2])]
        found += [each for some in shorter for each in some][: n - len(found)]
    return NearMisses(tuple(found), engine.events.sample, search.complete, tuple(search.not_known))


_Key = tuple[int, int, frozenset[tuple[str, int]]]


def _key(match: Match) -> _Key:
    bound = frozenset((name, at) for name, some in match.bindings.items() for at in some)
    return match.start, match.end, bound


class _Search:
    """The matches of a query, and what relaxed queries find beside them."""

    def __init__(self, engine: Evaluator) -> None:
        parsed = engine.query.tree
        select = tree.Selection(parsed.select.strategy, True, (), ())
        self.engine = engine
        self.base = replace(parsed, select=select, every=None)
        self.steps = steps_of(parsed.pattern)
        self.complete = True
        self.not_known: list[str] = []
        variant = engine.variant(self.base)
        assert variant is not None
        matches = engine.matches(variant, engine.limits)
        listed = list(islice(matches, _MOST_KNOWN))
        self.horizon = math.inf
        if len(listed) == _MOST_KNOWN:
            # Matches come in the order of ends: of earlier ends all are known.
            self.complete, self.horizon = False, listed[-1].end
        self.known = {_key(match) for match in listed}
        self.starts = {match.start for match in listed}
        self.at: dict[int, list[_Key]] = defaultdict(list)
        for key in self.known:
            for _, position in key[2]:
                self.at[position].append(key)
        self.reasons = Reasons(variant, matches.schema.satisfied)

    def by_turns(self, groups: Iterable[Sequence[NearMiss]]) -> Iterator[NearMiss]:
        """Take the best of each obstacle, then the second best; of these, new starts first."""
        for some in zip_longest(*groups):
            turn = [each for each in some if each is not None]
            yield from sorted(turn, key=lambda each: each.match.start in self.starts)

    def without_obstacle(self, obstacle: Obstacle) -> list[NearMiss]:
        """Return what the query would match without an obstacle."""
        changed = without(self.base, [obstacle])
        found = self._found(changed, obstacle.text, partial=False)
        why = [(match, self.reasons.of(obstacle, match)) for match in found[0]]
        steps = len(self.steps)
        return self._ranked(why, found[1], obstacle.kind, obstacle.text, steps)

    def without_step(self, step: Step) -> list[NearMiss]:
        """Return what the query would match without a step, and did not go on."""
        every = leaves(self.base.pattern)
        if all(may_be_empty(every[at]) for at in step.leaves):
            return []
        kept = frozenset(at for at in range(len(every)) if at not in step.leaves)
        text = f"step {step.number}, {step.text}"
        return self._partial(kept, text, len(self.steps) - 1)

    def first_steps(self, step: Step) -> list[NearMiss]:
        """Return what matches the first steps, and did not go on."""
        kept = frozenset(range(step.leaves.stop))
        missing = self.steps[step.number]
        text = f"step {missing.number}, {missing.text}, and what follows"
        return self._partial(kept, text, step.number)

    def _partial(self, kept: frozenset[int], text: str, steps: int) -> list[NearMiss]:
        pattern = with_steps(self.base.pattern, kept)
        if pattern is None or may_be_empty(pattern):
            return []
        found, relaxed = self._found(replace(self.base, pattern=pattern), text, partial=True)
        why = [(match, Reason(f"missing: {text}")) for match in found]
        return self._ranked(why, relaxed, "step", text, steps)

    def _found(
        self, changed: tree.Query, text: str, *, partial: bool
    ) -> tuple[list[Match], Query | None]:
        """Return matches of a changed query that are none of the query, nor part of one."""
        relaxed = self.engine.variant(changed)
        if relaxed is None:
            return [], None
        found: list[Match] = []
        try:
            for number, match in enumerate(self.engine.matches(relaxed)):
                if match.end >= self.horizon:
                    break
                if number == _MOST_LISTED or len(found) == _MOST_COMPARED:
                    self.complete = False
                    break
                key = _key(match)
                if key not in self.known and not (partial and self._completes(key)):
                    found.append(match)
        except BudgetError:
            self.not_known.append(text)
        return found, relaxed

    def _completes(self, key: _Key) -> bool:
        """Return whether events are part of a match."""
        return any(key[2] <= known[2] for at in key[2] for known in self.at.get(at[1], ()))

    def _ranked(
        self,
        found: Sequence[tuple[Match, Reason]],
        relaxed: Query | None,
        kind: ObstacleKind,
        text: str,
        steps: int,
    ) -> list[NearMiss]:
        if relaxed is None:
            return []
        order = sorted(
            found, key=lambda each: (each[0].start in self.starts, each[1].gap, each[0].end)
        )
        first: set[int] = set()
        again: list[tuple[Match, Reason]] = []
        best: list[tuple[Match, Reason]] = []
        for match, reason in order:
            (again if match.start in first else best).append((match, reason))
            first.add(match.start)
        return [
            NearMiss(match, kind, text, reason.text, steps, len(self.steps), relaxed)
            for match, reason in (*best, *again)
        ]
