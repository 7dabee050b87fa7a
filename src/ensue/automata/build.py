"""From formula to machine: variables become bits, conditions become numbered predicates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ensue.analysis.conditions import Each
from ensue.analysis.expressions import Expression
from ensue.automata import machine as m
from ensue.logic import formula as f


class TypeTest(NamedTuple):
    """The event has this type (None: any) and comes from this stream (None: any)."""

    type: str | None
    stream: str | None


class AtStart(NamedTuple):
    """The event is the first of its (sub)stream."""

    kind: Literal["start"] = "start"


Predicate = TypeTest | AtStart | Expression
"""What a machine may ask about one event."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A machine with the meaning of its labels and predicates."""

    machine: m.Machine
    variables: tuple[str, ...]
    """The variable of each bit of a label."""
    predicates: tuple[Predicate, ...]
    """Numbered as the machine asks for them."""


class NotUnaryError(Exception):
    """The formula has conditions between events or computes events."""


def compile_formula(formula: f.Formula) -> Compiled:
    """Return the machine of a formula whose conditions are all about one event.

    Raises NotUnaryError for other formulas.
    """
    builder = _Builder()
    machine = builder.build(formula)
    return Compiled(machine, tuple(builder.variables), tuple(builder.predicates))


@dataclass(slots=True)
class _Builder:
    variables: dict[str, int] = field(default_factory=dict)
    predicates: dict[Predicate, int] = field(default_factory=dict)

    def build(self, formula: f.Formula) -> m.Machine:
        match formula:
            case f.Atom(type=kind, stream=stream, variable=name):
                tests = (
                    () if kind is None and stream is None else (self._test(TypeTest(kind, stream)),)
                )
                return m.One(tests, self._bit(name))
            case f.Absent(formula=inner):
                return m.NotOne(self.build(inner))
            case f.Empty():
                return m.Nothing()
            case f.Named(formula=inner, variable=name):
                return m.Named(self.build(inner), self._bit(name))
            case f.Repeat(formula=inner, contiguous=contiguous):
                return m.Repeated(self.build(inner), contiguous)
            case f.Sequence(items=items, contiguous=contiguous):
                return m.Chain(tuple(map(self.build, items)), contiguous)
            case f.Or(items=items):
                return m.Choice(tuple(map(self.build, items)))
            case f.And(items=items):
                machine = self.build(items[0])
                for item in items[1:]:
                    machine = m.Agreement(machine, self.build(item))
                return machine
            case f.All(items=items):
                return m.Together(tuple(map(self.build, items)))
            case f.Unless(formula=inner, absent=absent):
                return m.Without(self.build(inner), self.build(absent))
            case f.Filter(formula=inner, conditions=conditions):
                machine = self.build(inner)
                for condition in conditions:
                    if not isinstance(condition, Each):
                        raise NotUnaryError(condition.text)
                    test = self._test(condition.predicate)
                    machine = m.Filtered(machine, self._bit(condition.variable), test)
                return machine
            case f.Project(formula=inner, variables=names):
                machine = self.build(inner)
                kept = sum(bit for name, bit in self._bits() if name in names)
                return m.Projected(machine, kept)
            case f.Select(formula=inner, strategy="START"):
                return m.FromStart(self.build(inner), self._test(AtStart()))
            case f.Select(formula=inner, strategy="STRICT"):
                return m.WithoutGap(self.build(inner))
            case f.Select(formula=inner, strategy=strategy):
                return m.Unbeaten(self.build(inner), m.COMPARE[strategy])
            case f.Aggregate(variable=name):
                raise NotUnaryError(f"AGGREGATE {name}")

    def _bit(self, name: str) -> int:
        return 1 << self.variables.setdefault(name, len(self.variables))

    def _bits(self) -> list[tuple[str, int]]:
        return [(name, 1 << index) for name, index in self.variables.items()]

    def _test(self, predicate: Predicate) -> int:
        return self.predicates.setdefault(predicate, len(self.predicates))
