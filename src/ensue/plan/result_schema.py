"""What the rows of a query's matches look like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ensue.analysis.bound import BoundQuery
from ensue.analysis.types import Type
from ensue.analysis.variables import Variables
from ensue.logic.build import SELECTED
from ensue.logic.complex_event import ComplexEvent
from ensue.plan.satisfied import Satisfied, satisfied
from ensue.predicates.arrow_values import python_value

Path = tuple[str, ...]
Partition = tuple[Path, ...]


class Numbering(NamedTuple):
    """Which events are numbered together: those of one partition, from a position on."""

    partition: Partition
    since: int = 0
    """The first position that the query sees."""


@dataclass(frozen=True, slots=True)
class ResultSchema:
    """What the rows of a query's matches look like."""

    fingerprint: str
    variables: Mapping[str, tuple[Path, ...] | None]
    """Variables of stream events, and the attributes of interest (None: all)."""
    computed: Mapping[str, Mapping[str, Type]]
    """Computed variables and their columns; under '' the computed columns of SELECT."""
    partition: tuple[Path, ...]
    time_path: Path | None
    totals: Mapping[str, Type] | None
    """The columns of SELECT count(*) …, or None for a query that lists matches."""
    positions_only: bool
    exact: frozenset[str] = frozenset()
    """The totals that are counts of any size."""
    since: int = 0
    """The first position that the query sees."""
    query: str | None = None
    """The name of the query, where it has one."""
    has_deadlines: bool = False
    """Whether matches have deadlines, by which nothing has followed them."""
    satisfied: Satisfied = field(default_factory=Satisfied, compare=False, repr=False)
    """What every match satisfies."""

    @property
    def numbering(self) -> Numbering:
        """Which events ids number together."""
        return Numbering(self.partition, self.since)

    @property
    def names(self) -> list[str]:
        """The variables of matches; '' stands for any where they are forgotten."""
        return [""] if self.positions_only else list(self.variables)

    def computed_rows(self, match: ComplexEvent, variable: str | None) -> list[dict[str, Any]]:
        """Return the computed events of a variable as dicts; without one, SELECT's columns."""
        name = SELECTED if variable is None else variable
        if name not in self.computed:
            known = ", ".join(filter(None, self.computed)) or "none"
            raise KeyError(f"no computed variable '{name}'; the computed variables are {known}")
        found = [y for each, y in match.computed if each == name]
        types = self.computed[name]
        return [
            {
                column: python_value(dict(y.columns).get(column), kind)
                for column, kind in types.items()
            }
            for y in sorted(found, key=lambda y: (y.end, y.place))
        ]


def result_schema(
    bound: BoundQuery, fingerprint: str, positions_only: bool, exact: bool = False
) -> ResultSchema:
    """Work out which variables and columns the matches of a query have."""
    known = Variables(dict(bound.column_types))
    pattern = bound.tree.pattern
    computed: dict[str, Any] = known.computed(pattern)
    names = [name for atom in known.atoms(pattern) for name in sorted(atom.variables)]
    variables: dict[str, Any] = dict.fromkeys(names)
    if bound.shown is not None:
        variables = {name: paths for name, paths in bound.shown.items() if name not in computed}
        computed = {
            name: _of_interest(each, bound.shown[name])
            for name, each in computed.items()
            if name in bound.shown
        }
    if bound.computed.columns or bound.computed.derived:
        computed[SELECTED] = bound.selected_types
    if positions_only:
        variables, computed = {}, {}
    totals, counts = None, frozenset[str]()
    if bound.totals is not None:
        every = bound.totals.columns
        counts = frozenset({each.name for each in every if each.function == "count"})
        counts |= {bound.totals.count}
        totals = {name: bound.selected_types[name] for name in bound.totals.order}
    return ResultSchema(
        fingerprint,
        variables,
        computed,
        bound.partition,
        bound.clock.column,
        totals,
        positions_only,
        counts if exact else frozenset(),
        has_deadlines=bound.not_followed is not None,
        satisfied=satisfied(bound),
    )


def _of_interest(
    columns: Mapping[str, Type], paths: tuple[tuple[str, ...], ...] | None
) -> Mapping[str, Type]:
    if paths is None:
        return columns
    return {".".join(path): columns[".".join(path)] for path in paths}


def free_name(name: str, taken: Iterable[str]) -> str:
    """Return a column name that is not taken yet.

    >>> free_name("start", ["start", "end"])
    'start_'
    """
    while name in taken:
        name += "_"
    return name
