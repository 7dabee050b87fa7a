"""The syntax tree of CEQL, before names and types are resolved.

Nodes are immutable and carry the span of text they came from; the span does not take part in
equality, so trees of equal queries are equal. Chains such as `A ; B ; C` are one
n-ary node; parentheses only shape the tree.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, TypeAlias, Union

from ensue.errors import Span
from ensue.language.expression_tree import (
    NOWHERE,
    Arithmetic,
    Call,
    Case,
    Comparison,
    Constant,
    Distinct,
    Duration,
    Expression,
    Instant,
    IsNull,
    Logical,
    Match,
    Membership,
    Negative,
    Node,
    Not,
    Parameter,
    Path,
    Range,
    Restriction,
    Star,
    Word,
)

__all__ = [
    "NOWHERE",
    "Absent",
    "Aggregated",
    "Applied",
    "Arithmetic",
    "Call",
    "Case",
    "Column",
    "Combined",
    "Comparison",
    "Constant",
    "DerivedStream",
    "Distinct",
    "Duration",
    "Event",
    "EventDeclaration",
    "Expression",
    "FieldDeclaration",
    "Filtered",
    "Instant",
    "IsNull",
    "Logical",
    "Match",
    "Membership",
    "Named",
    "Negative",
    "Node",
    "Not",
    "NotFollowed",
    "Parameter",
    "Partitioned",
    "Path",
    "Pattern",
    "Projected",
    "Query",
    "Range",
    "Repeated",
    "Restriction",
    "Selection",
    "Sequence",
    "Shown",
    "Star",
    "StreamDeclaration",
    "Unless",
    "Window",
    "Within",
    "Word",
    "children",
]

# --- patterns --------------------------------------------------------------------------------

Pattern: TypeAlias = Union[
    "Event",
    "Absent",
    "Named",
    "Repeated",
    "Sequence",
    "Combined",
    "Unless",
    "Filtered",
    "Aggregated",
    "Projected",
    "Partitioned",
    "Applied",
    "Within",
]


@dataclass(frozen=True, slots=True)
class Event(Node):
    """R, S>R, or ANY (then `type` is None)."""

    type: Word | None
    stream: Word | None = None


@dataclass(frozen=True, slots=True)
class Absent(Node):
    """NOT(φ): one event that is not such an event."""

    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Named(Node):
    """φ AS X."""

    pattern: Pattern
    variable: Word


@dataclass(frozen=True, slots=True)
class Repeated(Node):
    """φ+, φ*, φ?, φ{low,high} and their contiguous variants; high None means unbounded."""

    pattern: Pattern
    low: int
    high: int | None
    contiguous: bool


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    """A chain of `;`, or of `:` when contiguous."""

    items: tuple[Pattern, ...]
    contiguous: bool


@dataclass(frozen=True, slots=True)
class Combined(Node):
    """A chain of OR, of AND, or of ALL."""

    operator: Literal["OR", "AND", "ALL"]
    items: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Unless(Node):
    pattern: Pattern
    absent: Pattern


@dataclass(frozen=True, slots=True)
class Filtered(Node):
    pattern: Pattern
    condition: Expression


@dataclass(frozen=True, slots=True)
class Column(Node):
    """One column of AGGREGATE or of SELECT: an expression over aggregates, and its name."""

    name: Word
    expression: Expression

    @property
    def counts_matches(self) -> bool:
        """Whether this is count(*)."""
        call = self.expression
        return isinstance(call, Call) and any(isinstance(each, Star) for each in call.arguments)


@dataclass(frozen=True, slots=True)
class Aggregated(Node):
    pattern: Pattern
    variable: Word
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Projected(Node):
    pattern: Pattern
    variables: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Partitioned(Node):
    """φ PARTITION BY [X.a, Y.b]: inside a pattern, always dotted."""

    pattern: Pattern
    keys: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Applied(Node):
    """START, STRICT, NEXT, LAST or MAX of a pattern."""

    function: Word
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Window(Node):
    """WITHIN: n EVENTS or n [attr] (then `amount`), or a duration, perhaps on [attr]."""

    amount: int | None
    duration: Duration | None
    attribute: Path | None


@dataclass(frozen=True, slots=True)
class Within(Node):
    """(φ WITHIN w): inside a pattern, always in parentheses."""

    pattern: Pattern
    window: Window


# --- queries ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FieldDeclaration(Node):
    path: Path
    type: Word


@dataclass(frozen=True, slots=True)
class EventDeclaration(Node):
    name: Word
    fields: tuple[FieldDeclaration, ...]


@dataclass(frozen=True, slots=True)
class StreamDeclaration(Node):
    """CREATE STREAM S { EVENT R { a: double, … }, … }."""

    name: Word
    events: tuple[EventDeclaration, ...]


@dataclass(frozen=True, slots=True)
class Shown(Node):
    """A selected variable and its attributes of interest, if given."""

    variable: Word
    attributes: tuple[Path, ...] | None = None


@dataclass(frozen=True, slots=True)
class Selection(Node):
    """What SELECT lists: everything, nothing, or variables; then computed columns."""

    strategy: Word | None
    everything: bool
    shown: tuple[Shown, ...]
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class NotFollowed(Node):
    """NOT FOLLOWED BY ψ WITHIN w, behind the whole pattern of WHERE."""

    pattern: Pattern
    window: Window


@dataclass(frozen=True, slots=True)
class DerivedStream(Node):
    """CREATE STREAM D AS SELECT …: the matches of a query are the events of a stream."""

    name: Word
    query: Query


@dataclass(frozen=True, slots=True)
class Query(Node):
    streams: tuple[StreamDeclaration, ...]
    select: Selection
    sources: tuple[Word, ...]
    pattern: Pattern
    partition: tuple[Word, ...] = ()
    window: Window | None = None
    consume: Literal["ANY", "PARTITION", "NONE"] | None = None
    limit: int | None = None
    every: Duration | None = None
    not_followed: NotFollowed | None = None
    derived: tuple[DerivedStream, ...] = ()
    """The derived streams that the query may read, each of which may read those before it."""


def children(node: Node) -> list[Node]:
    """Return the nodes directly below a node, in the order of the text."""
    found: list[Node] = []
    kind = type(node)
    names = _FIELDS.get(kind)
    if names is None:
        names = _FIELDS[kind] = [each.name for each in fields(node)]
    for name in names:
        _gather(getattr(node, name), found)
    return found


_FIELDS: dict[type[Node], list[str]] = {}
"""The names of the fields of nodes that were looked at."""


def _gather(value: object, found: list[Node]) -> None:
    if isinstance(value, Node):
        found.append(value)
    elif isinstance(value, tuple) and not isinstance(value, Span):
        for item in value:
            _gather(item, found)
