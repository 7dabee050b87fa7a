"""The compiled formula: a machine with the meaning of its labels and predicates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ensue.analysis.expressions import Expression
from ensue.analysis.types import Type
from ensue.automata import machine as m
from ensue.automata.registers import RegisterPlan
from ensue.automata.relations import EventClock
from ensue.automata.thresholds import Threshold


class TypeTest(NamedTuple):
    """The event has this type (None: any) and comes from this stream (None: any)."""

    type: str | None
    stream: str | None


class AtStart(NamedTuple):
    """The event is the first of its (sub)stream."""

    kind: Literal["start"] = "start"


Predicate = TypeTest | AtStart | Expression
"""A predicate on one event."""


TypeOf = Callable[[tuple[str, ...]], Type]
"""Returns the type of an attribute."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A machine with the meaning of its labels and predicates."""

    machine: m.Machine
    variables: tuple[str, ...]
    """The variable of each bit of a label; higher bits are hidden."""
    predicates: tuple[Predicate, ...]
    """By their numbers in the machine."""
    plan: RegisterPlan = field(default_factory=RegisterPlan)
    """Conditions between events."""
    hides: bool = False
    """Whether labels have hidden bits, so that several runs may be the same match."""
    absent: tuple[Compiled, ...] = ()
    """The right sides of UNLESSes that are decided when matches are listed."""
    adjoined: int = 0
    """The hidden bit of bound events whose predecessor is bound too; 0: there is none."""

    def all_predicates(self) -> Iterator[Predicate]:
        """Yield all predicates on one event."""
        yield from self.predicates
        for each in self.absent:
            yield from each.all_predicates()

    def all_expressions(self) -> Iterator[Expression]:
        """Yield all expressions that are compared between events."""
        for column in self.plan.columns:
            if isinstance(column.expression, Threshold):
                yield from column.expression.read()
            elif not isinstance(column.expression, EventClock):
                yield column.expression
        for deferred in (*self.plan.deferred, *self.plan.correlated):
            yield from deferred.expressions()
        for each in self.absent:
            yield from each.all_expressions()


class NotUnaryError(Exception):
    """Raised for a formula that only the reference operator can evaluate."""


def unknown_types(_: tuple[str, ...]) -> Type:
    """Return the unknown type for every attribute."""
    return Type.UNKNOWN
