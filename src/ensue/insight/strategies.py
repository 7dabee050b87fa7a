"""The strategies of SELECT side by side: what each leaves of the matches of a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import get_args

from ensue.drawing.svg import Picture
from ensue.engine.query import Query
from ensue.insight.evaluation import Evaluator, KeptEvents, keep_events
from ensue.language import tree
from ensue.logic.formula import Choice
from ensue.options import EventsLike, Limits, ReadOptions, with_settings
from ensue.results.matches import Matches
from ensue.results.timeline import Group, groups_timeline
from ensue.stream.times import Time

STRATEGIES = ("ALL", *get_args(Choice), "STRICT")

_MOST_DRAWN = 8
"""So many matches of each strategy are drawn."""


@dataclass(frozen=True, slots=True)
class Strategies:
    """The matches of a query by strategy; notebooks draw them."""

    matches: Mapping[str, Matches]

    def __getitem__(self, strategy: str) -> Matches:
        return self.matches[strategy]

    def __str__(self) -> str:
        width = max(map(len, self.matches))
        return "\n".join(f"{name:<{width}}  {each!r}" for name, each in self.matches.items())

    def timeline(self, n: int = _MOST_DRAWN) -> Picture:
        """Draw the first `n` matches of each strategy, below one another."""
        groups, cut = [], False
        for name, matches in self.matches.items():
            first = list(islice(matches, n + 1))
            cut = cut or len(first) > n
            groups.append(Group(f"SELECT {name}", first[:n]))
        return groups_timeline(groups, f"the first {n} matches of each" if cut else "")

    def _repr_svg_(self) -> str:
        return str(self.timeline())


def strategies(
    query: Query,
    events: EventsLike | KeptEvents,
    options: ReadOptions,
    limits: Limits,
    until: Time | None = None,
) -> Strategies:
    """Evaluate a query with every strategy of SELECT; it shows all variables."""
    read = with_settings(options, query.settings)
    kept = events if isinstance(events, KeptEvents) else keep_events(query, events, read, None)
    engine = Evaluator(query, kept, options, limits, until)
    found: dict[str, Matches] = {}
    for name in STRATEGIES:
        strategy = None if name == "ALL" else tree.Word(name)
        select = tree.Selection(strategy, True, (), ())
        variant = engine.variant(replace(query.tree, select=select, every=None))
        assert variant is not None
        found[name] = engine.matches(variant, limits)
    return Strategies(found)
