"""Nodes of the syntax tree: expressions, and what all nodes have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, TypeAlias, Union

from ensue.errors import Span

NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node of the tree, with its span of the text."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


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
    "Case",
    "Star",
    "Distinct",
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
class Case(Node):
    """CASE WHEN condition THEN value … ELSE otherwise END; without ELSE the rest is NULL."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None


@dataclass(frozen=True, slots=True)
class Star(Node):
    """The argument of count(*)."""


@dataclass(frozen=True, slots=True)
class Distinct(Node):
    """The argument of count(DISTINCT …)."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Restriction(Node):
    """X[p]: every event bound to X satisfies p."""

    variable: Word
    predicate: Expression
