"""What is decided among the matches of one completing event: projection, strategy, LIMIT.

Over conditions between events, the automaton cannot do it: its runs carry hidden bits, and who
beats whom depends on values. So the matches of each event are gathered as they are enumerated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby, islice

from ensue.engine.findings import Columns, Enumerated, Listed
from ensue.logic import formula as f
from ensue.logic.reference import ComplexEvent, Found, projected, select, support_only


@dataclass(frozen=True, slots=True)
class Refinement:
    """Operators at the top of a formula, innermost first, and what comes after them."""

    operators: tuple[f.Project | f.Select, ...]
    positions_only: bool
    limit: int | None

    def apply(self, matches: set[ComplexEvent]) -> list[ComplexEvent]:
        """Refine the matches of one completing event, the latest start first."""
        for operator in self.operators:
            if isinstance(operator, f.Project):
                matches = {projected(c, operator.variables) for c in matches}
            else:
                matches = select(matches, operator.strategy)
        if self.positions_only:
            matches = {support_only(c) for c in matches}
        ordered = sorted(matches, key=lambda c: (-c.start, sorted(c.bindings)))
        return list(islice(ordered, self.limit))


def peel(formula: f.Formula) -> tuple[f.Formula, tuple[f.Project | f.Select, ...]]:
    """Take projections and strategies off the top of a formula."""
    peeled: list[f.Project | f.Select] = []
    while isinstance(formula, f.Project) or (
        isinstance(formula, f.Select) and formula.strategy in ("NEXT", "LAST", "MAX")
    ):
        peeled.append(formula)
        formula = formula.formula
    return formula, tuple(reversed(peeled))


@dataclass(slots=True)
class Refined:
    """Matches that are refined as they are enumerated."""

    found: Enumerated
    refinement: Refinement
    _count: int | None = field(default=None, init=False)

    @property
    def count(self) -> int:
        if self._count is None:
            self._count = sum(1 for _ in self)
        return self._count

    def __bool__(self) -> bool:
        return bool(self.found)

    def __iter__(self) -> Iterator[Found]:
        for _, group in groupby(self.found, key=lambda each: each.match.end):
            for match in self.refinement.apply({each.match for each in group}):
                yield Found((), match)

    def columns(self, variables: list[str]) -> Iterator[Columns]:
        return Listed(list(self)).columns(variables)
