"""The syntax tree of CEQL, before names and types are resolved.

Nodes are immutable and carry the span of text they came from; the span does not take part in
equality, so trees of equal queries are equal. Chains such as `A ; B ; C` are one
n-ary node; parentheses only shape the tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Literal, TypeAlias, Union

from ensue.errors import Span

NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node of the tree, with its span of the text."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


# --- expressions -----------------------------------------------------------------------------

Expression: TypeAlias = Union[
    "Constant",
    "Instant",
    "Duration",
    "Parameter",
    "Path",
    "Call",
    "Negative",
    "Arithmetic",
    "Comparison",
    "Logical",
    "Not",
    "Membership",
    "Range",
    "Match",
    "IsNull",
    "Restriction",
]


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """TRUE, FALSE, NULL, a number or a string; a number with a point or exponent is a Decimal."""

    value: bool | int | Decimal | str | None


@dataclass(frozen=True, slots=True)
class Instant(Node):
    """TIMESTAMP '…' or DATE '…'."""

    kind: Literal["TIMESTAMP", "DATE"]
    text: str


@dataclass(frozen=True, slots=True)
class Duration(Node):
    """A sum of amounts with units, such as 1 HOUR 30 MINUTES; units are kept as written."""

    parts: tuple[tuple[int | Decimal, Word], ...]


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """$name, whose value is given with the query."""

    name: str


@dataclass(frozen=True, slots=True)
class Word(Node):
    """A single name with its span."""

    text: str


@dataclass(frozen=True, slots=True)
class Path(Node):
    """A name with dots: an attribute, or a variable and its attribute."""

    parts: tuple[Word, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.text for part in self.parts)


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function of expressions."""

    function: Word
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Negative(Node):
    """Unary minus."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    """left op right, with op one of + - * / %."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """left op right, with op one of = != < <= > >= (== and <> are read as = and !=)."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Logical(Node):
    """A chain of AND or of OR."""

    operator: Literal["AND", "OR"]
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not(Node):
    operand: Expression


@dataclass(frozen=True, slots=True)
class Membership(Node):
    """operand [NOT] IN (…), IN $list, or IN an attribute that holds a list."""

    operand: Expression
    choices: tuple[Expression, ...] | Parameter | Path
    negated: bool


@dataclass(frozen=True, slots=True)
class Range(Node):
    """operand [NOT] BETWEEN low AND high; IN RANGE (low, high) is the same."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool


@dataclass(frozen=True, slots=True)
class Match(Node):
    """operand [NOT] LIKE or RLIKE pattern."""

    operator: Literal["LIKE", "RLIKE"]
    operand: Expression
    pattern: Expression
    negated: bool


@dataclass(frozen=True, slots=True)
class IsNull(Node):
    operand: Expression
    negated: bool


@dataclass(frozen=True, slots=True)
class Restriction(Node):
    """X[p]: every event bound to X satisfies p."""

    variable: Word
    predicate: Expression


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
class Aggregate(Node):
    """One column of AGGREGATE or of SELECT: name = function(variable[.attribute])."""

    name: Word
    function: Word
    argument: Path | None
    """None for count(*)."""


@dataclass(frozen=True, slots=True)
class Aggregated(Node):
    pattern: Pattern
    variable: Word
    columns: tuple[Aggregate, ...]


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
    columns: tuple[Aggregate, ...]


@dataclass(frozen=True, slots=True)
class Window(Node):
    """WITHIN: n EVENTS or n [attr] (then `amount`), or a duration, perhaps on [attr]."""

    amount: int | None
    duration: Duration | None
    attribute: Path | None


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


def children(node: Node) -> list[Node]:
    """Return the nodes directly below a node, in the order of the text."""
    found: list[Node] = []
    for each in fields(node):
        _gather(getattr(node, each.name), found)
    return found


def _gather(value: object, found: list[Node]) -> None:
    if isinstance(value, Node):
        found.append(value)
    elif isinstance(value, tuple) and not isinstance(value, Span):
        for item in value:
            _gather(item, found)
