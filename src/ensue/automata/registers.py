"""Conditions between events as registers: which values to store, compare and clear.

A condition belongs to a scope, the formula that it filters. Inside its scope, bits of the labels
mark the events bound to its variables, so the contents of registers are a function of the labels
read so far, and runs with the same labels have the same contents. A condition must hold for every
choice of events, which takes little state: for f(x) < g(y) the largest f(x) and the least g(y), for
f(x) = g(y) the value, for increasing and the like the last value. A NULL, and for = a second
value, make a register that satisfies no condition.

A step compares values of its event with registers (guards) and then changes them (actions).
Registers that no later step reads are cleared, so that configurations become equal again.

Conditions that need more (several values at once, the order of strings) are deferred; see
deferred.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ensue.analysis.conditions import Relation, SameKey, Trend
from ensue.analysis.expressions import (
    Attribute,
    EventType,
    Expression,
    Operation,
    variables_of,
    without_variables,
)
from ensue.analysis.types import Type
from ensue.automata.condition_forms import INTEGER_TYPES, Sign, attribute_of, not_null, separated
from ensue.automata.deferred import Deferred, InnerAggregate, Interval

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


EMPTY = -(2**63)
"""The content of a register that nothing was put into; it satisfies every condition."""


NULL = EMPTY + 1
"""The value NULL, and the content of a register that satisfies no condition any more."""


class InexpressibleError(Exception):
    """Raised for a condition that registers of single values cannot decide."""


Domain = Literal["int", "double", "string", "truth"]


class Column(NamedTuple):
    """A value of every event, encoded as an integer in the order of its domain.

    In the domain `truth`, it is 1 if a predicate is true, else 0.
    """

    expression: Expression
    domain: Domain


class Guard(NamedTuple):
    """A comparison of a value of the event with a register; without one, the value must be 1."""

    register: int | None
    sign: Sign
    column: int


@dataclass(frozen=True, slots=True)
class Watch:
    """The effect of an event bound to one variable of a condition."""

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
    """A condition in its scope: its variables, and the bit that marks a new round."""

    watches: tuple[Watch, ...]
    together: tuple[tuple[int, int], ...]
    """Bits and a column: if an event has all the bits, the column must be 1."""
    marker: int
    text: str = ""
    """The condition as it was written."""

    @property
    def registers(self) -> frozenset[int]:
        return frozenset(watch.register for watch in self.watches)


@dataclass(slots=True)
class RegisterPlan:
    """All conditions between events of a query: registers, and what is deferred."""

    columns: list[Column] = field(default_factory=list)
    instances: list[Instance] = field(default_factory=list)
    deferred: list[Deferred] = field(default_factory=list)
    intervals: list[Interval] = field(default_factory=list)
    correlated: list[Deferred] = field(default_factory=list)
    """Conditions right of an UNLESS on events left of it, decided when both are listed."""
    inner_aggregates: list[InnerAggregate] = field(default_factory=list)
    """AGGREGATEs inside the pattern, inner ones before outer ones."""
    shown: list[int] = field(default_factory=list)
    """The numbers of those whose events are part of the match."""
    registers: int = 0
    assume_numbers: bool = False
    """Assume that attributes of unknown type are numbers: to explain a query without events."""
    defers: bool = False
    """Defer all conditions, since there are values that no register can hold."""
    late: frozenset[str] = frozenset()
    """The texts of conditions that are deferred though registers might decide them."""

    def like(self) -> RegisterPlan:
        """Return a plan with the same settings and no conditions."""
        return RegisterPlan(assume_numbers=self.assume_numbers, defers=self.defers, late=self.late)

    def column(self, expression: Expression, domain: Domain) -> int:
        """Return the number of a column, adding it if it is new."""
        wanted = Column(without_variables(expression), domain)
        if wanted not in self.columns:
            self.columns.append(wanted)
        return self.columns.index(wanted)

    def new_register(self) -> int:
        self.registers += 1
        return self.registers - 1

    def guards(self, label: int) -> list[Guard]:
        """Return the guards of a step with this label."""
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
        """Return the action of a step on each register; `future`: the bits that may still come."""
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
        """Return the text of the condition that uses a register."""
        return next(each.text for each in self.instances if register in each.registers)

    def compared(self) -> dict[int, Sign]:
        """Return the registers that events are compared with, each by one operator only."""
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
        sides = separated(predicate, condition.variables)
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
        attribute = attribute_of(condition.path, kind)
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
            attribute_of(path, kind) for (_, path), kind in zip(condition.keys, kinds, strict=True)
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
        """Return the domain in which all these expressions can be compared, or None."""
        if self.defers:
            return None
        types = {each.type for each in expressions}
        if self.assume_numbers and Type.UNKNOWN in types:
            types = types - {Type.UNKNOWN} | {Type.DOUBLE}
        if types <= INTEGER_TYPES:
            return "int"
        if types <= {Type.INT, Type.DOUBLE}:
            return "double"
        if types == {Type.STRING} and not ordered:
            return "string"
        return None

    def _known(self, attribute: Attribute | EventType) -> int:
        return self.column(not_null(attribute), "truth")
