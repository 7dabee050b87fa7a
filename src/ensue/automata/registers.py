"""Conditions between events as registers: what to remember, what to compare, when to forget.

A condition belongs to a scope, the formula it filters. Inside its scope, the events bound to its
variables are known by bits of the labels, so what the registers hold is a function of the labels
read so far, and runs with the same labels have the same contents. "For every choice" needs
little: for f(x) < g(y) the largest f(x) and the least g(y), for f(x) = g(y) the value, for
increasing and its kin the last one. A NULL, and for = a second value, make a register that
satisfies nothing.

A step compares values of its event with registers (guards) and then changes them (actions).
Registers that no later step reads are emptied, so that configurations become equal again.

What needs more than that (several values at once, strings in their order) is deferred: without it
there are only more matches, and the labels of a match tell all that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, NamedTuple

from ensue.analysis.conditions import Each, Relation, SameKey, Trend
from ensue.analysis.expressions import (
    Attribute,
    Constant,
    EventType,
    Expression,
    Operation,
    variables_of,
    without_variables,
)
from ensue.analysis.types import Type
from ensue.logic.formula import Aggregate

Sign = Literal["=", "!=", "<", "<=", ">", ">="]
Act = Literal["keep", "clear", "put", "least", "most", "same"]

_MIRRORED: dict[str, Sign] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_PUTS: dict[str, tuple[Act, Act]] = {
    "<": ("most", "least"),
    "<=": ("most", "least"),
    ">": ("least", "most"),
    ">=": ("least", "most"),
    "=": ("same", "same"),
    "!=": ("put", "put"),
}
_TRENDS: dict[str, Sign] = {
    "same": "=",
    "increasing": ">",
    "decreasing": "<",
    "nondecreasing": ">=",
    "nonincreasing": "<=",
}


class InexpressibleError(Exception):
    """A condition that registers of single values cannot decide."""


Domain = Literal["int", "double", "string", "truth"]


class Column(NamedTuple):
    """A value of every event, as a whole number in the order of its domain.

    `truth` is 1 where a predicate is true.
    """

    expression: Expression
    domain: Domain


class Guard(NamedTuple):
    """A value of the event against a register; without a register, the value must be 1."""

    register: int | None
    sign: Sign
    column: int


@dataclass(frozen=True, slots=True)
class Watch:
    """What one variable of a condition does when an event is bound to it."""

    bit: int
    column: int
    compare: tuple[tuple[int, Sign], ...]
    """Registers to compare the value with."""
    register: int
    act: Act
    known: int | None
    """A column that must be 1: the value is not NULL."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A condition in its scope: its variables, and the bit that marks a new round of the scope."""

    watches: tuple[Watch, ...]
    together: tuple[tuple[int, int], ...]
    """Bits and a column: where an event has all the bits, the column must be 1."""
    marker: int
    text: str = ""
    """The condition as it was written."""

    @property
    def registers(self) -> frozenset[int]:
        return frozenset(watch.register for watch in self.watches)


class Round(NamedTuple):
    """A scope that a match has been through: from where, up to where, and what it bound there."""

    first: int
    last: int
    bound: frozenset[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Deferred:
    """A condition that is decided on enumeration, by the labels of a match."""

    condition: Each | Relation | Trend | SameKey
    bits: tuple[tuple[str, int], ...]
    """Its variables, and the bits that mark their events in its scope."""
    marker: int
    makers: tuple[int, ...] = ()
    """The AGGREGATEs of its scope, by their numbers in the plan."""

    def expressions(self) -> Iterator[Expression]:
        """Give what the condition reads."""
        match self.condition:
            case Each(predicate=predicate) | Relation(predicate=predicate):
                yield predicate
            case Trend(path=path):
                yield _attribute(path, Type.UNKNOWN)
            case SameKey(keys=keys):
                yield from (_attribute(path, Type.UNKNOWN) for _, path in keys)

    def rounds(self, word: Sequence[tuple[int, int]]) -> Iterator[Round]:
        """Return what is bound in each round of the scope, given positions and labels."""
        bound: set[tuple[str, int]] = set()
        first = 0
        for position, label in word:
            if label & self.marker:
                yield Round(first, position - 1, frozenset(bound))
                bound, first = set(), position
            bound.update((name, position) for name, bit in self.bits if label & bit)
        yield Round(first, word[-1][0] if word else first, frozenset(bound))


@dataclass(frozen=True, slots=True)
class Maker:
    """An AGGREGATE inside a pattern, which makes an event whenever its scope ends."""

    formula: Aggregate
    bits: tuple[tuple[str, int], ...]
    """The variables it reads, and the bits that mark their events in its scope."""
    end: int
    """The bit of the last event of its scope."""
    makers: tuple[int, ...]
    """The AGGREGATEs of its scope, by their numbers in the plan."""

    def rounds(self, word: Sequence[tuple[int, int]]) -> Iterator[Round]:
        """Return what is bound in each round of the scope, given positions and labels."""
        bound: set[tuple[str, int]] = set()
        first = 0
        for position, label in word:
            bound.update((name, position) for name, bit in self.bits if label & bit)
            if label & self.end:
                yield Round(first, position, frozenset(bound))
                bound, first = set(), position + 1


class Interval(NamedTuple):
    """Where a match of φ UNLESS ψ begins and ends, in bits, for a ψ that relates events."""

    begin: int
    end: int
    absent: int
    """The number of ψ among those of the query."""
    outer: tuple[tuple[str, int], ...] = ()
    """The variables of φ that conditions of ψ name, and the bits of their events."""


@dataclass(slots=True)
class Plan:
    """All conditions between events of a query."""

    columns: list[Column] = field(default_factory=list)
    instances: list[Instance] = field(default_factory=list)
    deferred: list[Deferred] = field(default_factory=list)
    intervals: list[Interval] = field(default_factory=list)
    correlated: list[Deferred] = field(default_factory=list)
    """Conditions right of an UNLESS on events left of it: decided when both are known."""
    makers: list[Maker] = field(default_factory=list)
    """AGGREGATEs inside the pattern, those inside others before them."""
    shown: list[int] = field(default_factory=list)
    """Those whose events are part of the match."""
    registers: int = 0
    assume_numbers: bool = False
    """Take attributes of unknown type for numbers: to explain a query before there are events."""
    defers: bool = False
    """Hold nothing: there are values that no register can hold."""
    late: frozenset[str] = frozenset()
    """The texts of conditions that are deferred though registers might decide them."""

    def like(self) -> Plan:
        """Return a plan with no conditions yet."""
        return Plan(assume_numbers=self.assume_numbers, defers=self.defers, late=self.late)

    def column(self, expression: Expression, domain: Domain) -> int:
        """Return the number of a column, a new one where it is new."""
        wanted = Column(without_variables(expression), domain)
        if wanted not in self.columns:
            self.columns.append(wanted)
        return self.columns.index(wanted)

    def new_register(self) -> int:
        self.registers += 1
        return self.registers - 1

    def guards(self, label: int) -> list[Guard]:
        """Return what must hold for a step with this label."""
        found: list[Guard] = []
        for instance in self.instances:
            again = label & instance.marker
            for watch in instance.watches:
                if not label & watch.bit:
                    continue
                if watch.known is not None:
                    found.append(Guard(None, "=", watch.known))
                if not again:
                    found += [Guard(r, sign, watch.column) for r, sign in watch.compare]
            for bits, column in instance.together:
                if label & bits == bits:
                    found.append(Guard(None, "=", column))
        return found

    def actions(self, label: int, future: int | None) -> list[tuple[Act, int]]:
        """Return what a step does to each register; `future` has the bits that may still come."""
        acts: list[tuple[Act, int]] = [("keep", 0)] * self.registers
        for instance in self.instances:
            if label & instance.marker:
                for register in instance.registers:
                    acts[register] = ("clear", 0)
            for watch in instance.watches:
                if label & watch.bit:
                    act = "put" if label & instance.marker else watch.act
                    acts[watch.register] = (act, watch.column)
        if future is not None:
            for register in range(self.registers):
                if not self._readers(register) & future:
                    acts[register] = ("clear", 0)
        return acts

    def text_of(self, register: int) -> str:
        """Return the condition that a register is there for."""
        return next(each.text for each in self.instances if register in each.registers)

    def compared(self) -> dict[int, Sign]:
        """Return the registers that events are compared with, and how; each in one way only."""
        watches = [watch for instance in self.instances for watch in instance.watches]
        return dict(pair for watch in watches for pair in watch.compare)

    def _readers(self, register: int) -> int:
        """Return the bits whose events are compared with a register."""
        bits = 0
        for instance in self.instances:
            for watch in instance.watches:
                if any(register == r for r, _ in watch.compare):
                    bits |= watch.bit
        return bits

    # conditions

    def add_relation(
        self, condition: Relation, bits: dict[str, int], iterated: frozenset[str], marker: int
    ) -> None:
        """Add f(x) op g(y)."""
        predicate = condition.predicate
        if not isinstance(predicate, Operation) or predicate.name not in _MIRRORED:
            raise InexpressibleError(condition.text)
        if len(condition.variables) != 2:
            raise InexpressibleError(condition.text)
        sides = _separated(predicate, condition.variables)
        if sides is None:
            raise InexpressibleError(condition.text)
        left, sign, right = sides
        (x,), (y,) = variables_of(left), variables_of(right)
        if sign == "!=" and iterated & {x, y}:
            raise InexpressibleError(condition.text)
        domain = self._domain([left, right], ordered=sign not in ("=", "!="))
        if domain is None:
            raise InexpressibleError(condition.text)
        of_x, of_y = self.new_register(), self.new_register()
        put_x, put_y = _PUTS[sign]
        f, g = self.column(left, domain), self.column(right, domain)
        watches = (
            Watch(bits[x], f, ((of_y, sign),), of_x, put_x, None),
            Watch(bits[y], g, ((of_x, _MIRRORED[sign]),), of_y, put_y, None),
        )
        itself = self.column(Operation(sign, (left, right), Type.BOOLEAN), "truth")
        together = ((bits[x] | bits[y], itself),)
        self.instances.append(Instance(watches, together, marker, condition.text))

    def add_trend(self, condition: Trend, kind: Type, bit: int, marker: int) -> None:
        """Add same, increasing, …"""
        attribute = _attribute(condition.path, kind)
        sign = _TRENDS[condition.kind]
        domain = self._domain([attribute], ordered=sign != "=")
        if domain is None:
            raise InexpressibleError(condition.text)
        register = self.new_register()
        watch = Watch(
            bit,
            self.column(attribute, domain),
            ((register, sign),),
            register,
            "put",
            self._known(attribute),
        )
        self.instances.append(Instance((watch,), (), marker, condition.text))

    def add_same_key(
        self, condition: SameKey, kinds: list[Type], bits: dict[str, int], marker: int
    ) -> None:
        """Add PARTITION BY inside a pattern."""
        attributes = [
            _attribute(path, kind) for (_, path), kind in zip(condition.keys, kinds, strict=True)
        ]
        domain = self._domain(list(attributes), ordered=False)
        if domain is None:
            raise InexpressibleError(condition.text)
        register = self.new_register()
        watches: list[Watch] = []
        together: list[tuple[int, int]] = []
        for (name, _), attribute in zip(condition.keys, attributes, strict=True):
            column = self.column(attribute, domain)
            watches.append(
                Watch(
                    bits[name], column, ((register, "="),), register, "put", self._known(attribute)
                )
            )
            for (other, _), rival in zip(condition.keys, attributes, strict=True):
                if rival != attribute:
                    equal = Operation("=", (attribute, rival), Type.BOOLEAN)
                    together.append((bits[name] | bits[other], self.column(equal, "truth")))
        self.instances.append(Instance(tuple(watches), tuple(together), marker, condition.text))

    def _domain(self, expressions: list[Expression], *, ordered: bool) -> Domain | None:
        """Return where the values of all these expressions can be compared, if anywhere."""
        if self.defers:
            return None
        types = {each.type for each in expressions}
        if self.assume_numbers and Type.UNKNOWN in types:
            types = types - {Type.UNKNOWN} | {Type.DOUBLE}
        if types <= _WHOLE:
            return "int"
        if types <= {Type.INT, Type.DOUBLE}:
            return "double"
        if types == {Type.STRING} and not ordered:
            return "string"
        return None

    def _known(self, attribute: Attribute | EventType) -> int:
        return self.column(_is_known(attribute), "truth")


def _attribute(path: tuple[str, ...], kind: Type) -> Attribute | EventType:
    return EventType() if path == ("type",) else Attribute(path, kind)


def _is_known(attribute: Attribute | EventType) -> Expression:
    null = Operation("is_null", (attribute,), Type.BOOLEAN)
    return Operation("not", (null,), Type.BOOLEAN)


def on_one_event(
    condition: Each | Relation | Trend | SameKey,
    names: frozenset[str],
    type_of: Callable[[tuple[str, ...]], Type],
) -> list[Each]:
    """Write a condition on a formula about one event, bound to all these names, as predicates."""
    match condition:
        case Each():
            return [condition]
        case Relation(variables=variables, predicate=predicate):
            if not names.issuperset(variables):
                return []
            return [Each(variables[0], without_variables(predicate), condition.text)]
        case Trend(variable=name, path=path):
            known = _is_known(_attribute(path, type_of(path)))
            return [Each(name, known, condition.text)] if name in names else []
        case SameKey(keys=keys):
            own = [(name, _attribute(path, type_of(path))) for name, path in keys if name in names]
            found = [Each(name, _is_known(each), condition.text) for name, each in own]
            for (name, one), (_, other) in pairwise(own):
                equal = Operation("=", (one, other), Type.BOOLEAN)
                found.append(Each(name, equal, condition.text))
            return found


_WHOLE = frozenset({Type.INT, Type.TIMESTAMP, Type.DATE, Type.DURATION, Type.BOOLEAN})


def _separated(
    predicate: Operation, variables: tuple[str, ...]
) -> tuple[Expression, Sign, Expression] | None:
    """Write a condition as f(x) op g(y), whole numbers moved over the sign where needed."""
    left, right = predicate.arguments
    sign: Sign = predicate.name  # type: ignore[assignment]
    if len(variables_of(left)) == 1 and len(variables_of(right)) == 1:
        return left, sign, right
    terms = _terms(left, 1) + _terms(right, -1)
    if any(len(variables_of(term)) > 1 or term.type not in _WHOLE for term, _ in terms):
        return None
    x = variables[0]
    mine = [(term, factor) for term, factor in terms if variables_of(term) == {x}]
    rest = [(term, -factor) for term, factor in terms if variables_of(term) != {x}]
    return _sum(mine), sign, _sum(rest)


def _terms(expression: Expression, factor: int) -> list[tuple[Expression, int]]:
    if isinstance(expression, Operation) and expression.name in ("+", "-"):
        left, right = expression.arguments
        other = factor if expression.name == "+" else -factor
        return _terms(left, factor) + _terms(right, other)
    return [(expression, factor)]


def _sum(terms: list[tuple[Expression, int]]) -> Expression:
    """Add terms up as whole numbers."""
    total: Expression = Constant(0, Type.INT)
    for term, factor in terms:
        total = Operation("+" if factor > 0 else "-", (total, term), Type.INT)
    return total
