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

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ensue.analysis.bound import Window
from ensue.analysis.conditions import Each, Relation, SameKey, Trend
from ensue.analysis.expressions import (
    Attribute,
    Constant,
    EventType,
    Expression,
    Operation,
    without_variables,
)
from ensue.analysis.types import Type
from ensue.automata.condition_forms import (
    Sign,
    attribute_of,
    conjuncts,
    not_null,
)
from ensue.automata.deferred import Deferred, InnerAggregate, Interval
from ensue.automata.relations import (
    Column,
    Domain,
    EventClock,
    Sides,
    as_numbers,
    common_domain,
    is_recent,
    sides_of,
)

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


OLDER_FORMS, FORMS_2 = "\0older forms", "\0forms 2"
"""Stand among late conditions: those that registers have not always decided are deferred."""


class InexpressibleError(Exception):
    """Raised for a condition that registers of single values cannot decide."""


class Clip(NamedTuple):
    """A window that begins with the run: at events with a bit, runs that began earlier end."""

    bit: int
    length: int
    text: str


class WindowRegister(NamedTuple):
    """A register that holds the clock where a window began; too late is less than a column."""

    register: int
    column: int
    kind: Literal["time", "number"]


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
    integers_only: bool = False
    """Whether doubles in the place of integers would make other contents of it: terms were moved
    from side to side, or a threshold was worked out for whole numbers."""

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
    windows: list[WindowRegister] = field(default_factory=list)
    clips: list[Clip] = field(default_factory=list)
    """Windows that need no register, because the match graph knows where runs began."""
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
        return self._numbered(Column(without_variables(expression), domain))

    def _numbered(self, column: Column) -> int:
        if column not in self.columns:
            self.columns.append(column)
        return self.columns.index(column)

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
                    puts = label & instance.marker and watch.act != "clear"
                    acts[watch.register] = ("put" if puts else watch.act, watch.column)
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

    def add(
        self,
        condition: Relation | Trend | SameKey | Each,
        type_of: Callable[[tuple[str, ...]], Type],
        bits: dict[str, int],
        iterated: frozenset[str],
        marker: int,
    ) -> None:
        """Add a condition between events."""
        match condition:
            case Relation():
                self.add_relation(condition, bits, iterated, marker)
            case Trend(path=path, variable=name):
                self.add_trend(condition, type_of(path), bits[name], marker)
            case SameKey(keys=keys):
                self.add_same_key(condition, [type_of(path) for _, path in keys], bits, marker)
            case Each():
                raise AssertionError(condition)

    def add_window(self, window: Window, text: str, begin: int, end: int) -> None:
        """Add time(last) - time(first) <= w, where bits mark the first event and the last.

        The register holds the clock at the first event, and nothing outside its scope. An event
        that is both first and last always fits, so it is compared with nothing.
        """
        kind: Literal["time", "number"] = "number" if window.kind == "events" else "time"
        register = self.new_register()
        first = self._numbered(Column(EventClock(kind), "clock"))
        last = self._numbered(Column(EventClock(kind, window.size), "clock"))
        watches = (
            Watch(begin, first, (), register, "put", None),
            Watch(end, last, ((register, "<="),), register, "clear", None),
        )
        self.instances.append(Instance(watches, (), begin, text))
        self.windows.append(WindowRegister(register, last, kind))

    def add_relation(
        self, condition: Relation, bits: dict[str, int], iterated: frozenset[str], marker: int
    ) -> None:
        """Add a condition between two events: all parts that are joined by AND, or none."""
        text, predicate = condition.text, condition.predicate
        if self.assume_numbers:
            predicate = as_numbers(predicate)
        parts = list(conjuncts(predicate))
        found = [sides_of(part, self._domain) for part in parts]
        older = parts == [predicate] and len(found[0]) == 1 and not is_recent(found[0][0], 1)
        every = [each for sides in found for each in sides]
        if (
            len(condition.variables) != 2
            or not all(found)
            or (any(each.sign == "!=" for each in every) and iterated & set(condition.variables))
            or (OLDER_FORMS in self.late and not older)
            or (FORMS_2 in self.late and any(is_recent(each, 2) for each in every))
        ):
            raise InexpressibleError(text)
        shared: dict[tuple[str, Column], int] = {}
        for each in every:
            self._add_sides(each, bits, iterated, marker, text, shared)

    def _add_sides(
        self,
        sides: Sides,
        bits: dict[str, int],
        iterated: frozenset[str],
        marker: int,
        text: str,
        shared: dict[tuple[str, Column], int],
    ) -> None:
        """Add f(x) op g(y); `shared` has the registers of one event that other parts have."""

        def register_of(name: str, column: Column) -> int:
            if name in iterated:
                return self.new_register()
            if (name, column) not in shared:
                shared[name, column] = self.new_register()
            return shared[name, column]

        of_x, of_y = register_of(sides.x, sides.left), register_of(sides.y, sides.right)
        # A single event is put where nothing was.
        most_x, most_y = _PUTS[sides.sign]
        put_x: Act = most_x if sides.x in iterated else "put"
        put_y: Act = most_y if sides.y in iterated else "put"
        f, g = self._numbered(sides.left), self._numbered(sides.right)
        x, y = bits[sides.x], bits[sides.y]
        watches = (
            Watch(x, f, ((of_y, sides.sign),), of_x, put_x, None),
            Watch(y, g, ((of_x, _MIRRORED[sides.sign]),), of_y, put_y, None),
        )
        together = ((x | y, self.column(sides.itself, "truth")),)
        self.instances.append(Instance(watches, together, marker, text, sides.integers_only))

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
        if self.assume_numbers:
            expressions = [
                Constant(0, Type.DOUBLE) if each.type is Type.UNKNOWN else each
                for each in expressions
            ]
        return common_domain(expressions, ordered=ordered)

    def _known(self, attribute: Attribute | EventType) -> int:
        return self.column(not_null(attribute), "truth")
