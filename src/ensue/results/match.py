"""A match, and a row of totals, as users see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ensue.logic.clauses import Found
from ensue.logic.complex_event import Computed

if TYPE_CHECKING:
    from ensue.drawing.svg import Picture
    from ensue.results.chunk import ResultChunk
    from ensue.results.explanation import MatchExplanation


class Match:
    """A group of events that satisfies the query."""

    __slots__ = ("_found", "_of")

    def __init__(self, found: Found, of: ResultChunk) -> None:
        self._found = found
        self._of = of

    @property
    def start(self) -> int:
        """The position where the match starts."""
        return self._found.match.start

    @property
    def end(self) -> int:
        """The position of the event that completed the match."""
        return self._found.match.end

    @property
    def query(self) -> str | None:
        """The name of the query, where it has one."""
        return self._of.schema.query

    @property
    def start_time(self) -> Any:
        """The time of the event where the match starts; its position where events have no time."""
        return self._of.time_at(self.start)

    @property
    def end_time(self) -> Any:
        """The time of the event that completed the match."""
        return self._of.time_at(self.end)

    @property
    def deadline(self) -> Any:
        """The time by which nothing has followed the match; None where anything may follow."""
        return self._of.deadline_at(self.end)

    @property
    def bindings(self) -> dict[str, list[int]]:
        """The positions bound to each variable, in order."""
        if self._of.schema.positions_only:
            return {}
        found: dict[str, list[int]] = {}
        for name, position in sorted(self._found.match.bindings):
            found.setdefault(name, []).append(position)
        return found

    @property
    def positions(self) -> list[int]:
        """All positions bound to some variable, in order."""
        return sorted(self._found.match.support)

    @property
    def partition(self) -> dict[str, Any]:
        """The values of the partition attributes."""
        return self._of.partition_at(self.end)

    def events(self, variable: str | None = None) -> list[dict[str, Any]]:
        """Return the events bound to a variable (or to any), as dicts in order."""
        schema = self._of.schema
        if variable is None:
            return self._of.rows(self.positions, None)
        if variable not in schema.variables:
            known = ", ".join(schema.variables) or "none"
            raise KeyError(f"no variable '{variable}' in the matches; the variables are {known}")
        return self._of.rows(self._found.match.positions(variable), schema.variables[variable])

    def computed(self, variable: str | None = None) -> list[dict[str, Any]]:
        """Return the events that AGGREGATE bound to a variable; without one, SELECT's columns."""
        return self._of.schema.computed_rows(self._found.match, variable)

    def computed_events(self, variable: str) -> list[Computed]:
        """Return the events that AGGREGATE bound to a variable, as they are kept inside."""
        return [each for name, each in sorted(self._found.match.computed) if name == variable]

    @property
    def id(self) -> str:
        """A stable name for this match: equal for the same match however it was found."""
        return self._of.identify(self._found)

    def explain(self) -> MatchExplanation:
        """Say why this is a match: each event, its variables, and what held with which values."""
        from ensue.results.explanation import explain_match

        return explain_match(self)

    def timeline(self) -> Picture:
        """Draw the match: a lane for each variable, the window as a band, the rest in grey."""
        from ensue.results.timeline import match_timeline

        return match_timeline(self)

    @property
    def chunk(self) -> ResultChunk:
        """What the match was found with: the events around it, and the schema of the results."""
        return self._of

    def __reduce__(self) -> tuple[type[Match], tuple[Found, ResultChunk]]:
        """Be pickled with the events that belong to the match, and no others."""
        return Match, (self._found, self._of.kept([self._found]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Match) and self._found == other._found

    def __hash__(self) -> int:
        return hash(self._found.match)

    def _repr_html_(self) -> str:
        from ensue.drawing.html import view
        from ensue.results.notebook import match_details

        return view(match_details(self))

    def __repr__(self) -> str:
        bound = "".join(f", {name}={positions}" for name, positions in self.bindings.items())
        return f"Match({self.start}..{self.end}{bound})"


@dataclass(frozen=True, slots=True)
class Total:
    """One row of SELECT count(*) …: the completing event's time, or the start of the interval."""

    time: Any
    partition: dict[str, Any]
    values: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]
