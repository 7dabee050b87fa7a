"""From formula to machine: variables become bits, conditions predicates or registers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal, NamedTuple

from ensue.analysis.conditions import Each, Relation, SameKey, Trend
from ensue.analysis.expressions import Expression
from ensue.analysis.types import Type
from ensue.automata import machine as m
from ensue.automata.registers import (
    Deferred,
    InexpressibleError,
    Interval,
    Maker,
    Plan,
    on_one_event,
)
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

TypeOf = Callable[[tuple[str, ...]], Type]
"""Tells the type of an attribute."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A machine with the meaning of its labels and predicates."""

    machine: m.Machine
    variables: tuple[str, ...]
    """The variable of each bit of a label; higher bits are hidden."""
    predicates: tuple[Predicate, ...]
    """Numbered as the machine asks for them."""
    plan: Plan = field(default_factory=Plan)
    """Conditions between events."""
    hides: bool = False
    """Whether labels have hidden bits, so that two runs may be one match."""
    absent: tuple[Compiled, ...] = ()
    """What must not happen inside some intervals, where that is decided later."""
    adjoined: int = 0
    """The hidden bit of bound events whose predecessor is bound too; 0: there is none."""

    def all_predicates(self) -> Iterator[Predicate]:
        """Give all that is asked about one event."""
        yield from self.predicates
        for each in self.absent:
            yield from each.all_predicates()

    def all_expressions(self) -> Iterator[Expression]:
        """Give all that is compared between events."""
        yield from (column.expression for column in self.plan.columns)
        for deferred in (*self.plan.deferred, *self.plan.correlated):
            yield from deferred.expressions()
        for each in self.absent:
            yield from each.all_expressions()


class NotUnaryError(Exception):
    """The formula has something that needs the evaluation by definition."""


def unknown_types(_: tuple[str, ...]) -> Type:
    """Tell that nothing is known of an attribute."""
    return Type.UNKNOWN


def compile_formula(
    formula: f.Formula,
    type_of: TypeOf = unknown_types,
    *,
    assume_numbers: bool = False,
    defers: bool = False,
    late: frozenset[str] = frozenset(),
    adjoins: bool = False,
) -> Compiled:
    """Return the machine of a formula; with `adjoins`, its matches tell where they have gaps.

    Conditions whose texts are `late` are decided on listing, as are all with `defers`.

    Raises NotUnaryError where a strategy below the top chooses among matches that conditions
    between events, or on computed events, decide on.
    """
    plan = Plan(assume_numbers=assume_numbers, defers=defers, late=late)
    return _compiled(formula, type_of, plan, frozenset(), adjoins=adjoins)


def _compiled(
    formula: f.Formula,
    type_of: TypeOf,
    plan: Plan,
    unseen: frozenset[str],
    outer: frozenset[str] = frozenset(),
    beyond: frozenset[str] = frozenset(),
    *,
    adjoins: bool = False,
) -> Compiled:
    builder = _Builder(formula, type_of, plan=plan, unseen=unseen, outer=outer, beyond=beyond)
    machine = builder.build(formula)
    builder.plan.shown = builder.made
    adjoined = builder.hidden_bit() if adjoins else 0
    if adjoined:
        machine = m.Adjoined(machine, builder.visible, adjoined)
    return Compiled(
        machine,
        tuple(builder.variables),
        tuple(builder.predicates),
        builder.plan,
        hides=builder.hidden > len(builder.variables),
        absent=tuple(builder.absent),
        adjoined=adjoined,
    )


@dataclass(slots=True)
class _Builder:
    whole: f.Formula
    type_of: TypeOf
    variables: dict[str, int] = field(default_factory=dict)
    predicates: dict[Predicate, int] = field(default_factory=dict)
    plan: Plan = field(default_factory=Plan)
    hidden: int = 0
    visible: int = 0
    rounds: int = 0
    """How many iterations are around the formula at hand."""
    projections: int = 0
    """How many projections are around it: a bit that they may drop tells nothing."""
    absent: list[Compiled] = field(default_factory=list)
    sealed: list[str] = field(default_factory=list)
    """The operators around it that conditions cannot look through."""
    made: list[int] = field(default_factory=list)
    """The AGGREGATEs of what is built so far whose events can be seen from here, by number."""
    unseen: frozenset[str] = frozenset()
    """Computed variables that nobody around looks at."""
    agreed: frozenset[str] = frozenset()
    """Computed variables that come to an AND, whose sides never compute the same event."""
    outer: frozenset[str] = frozenset()
    """Variables of the pattern left of the UNLESS that all of this stands right of."""
    beyond: frozenset[str] = frozenset()
    """Variables of patterns left of UNLESSes further out."""

    def __post_init__(self) -> None:
        for each in f.subformulas(self.whole):
            if isinstance(each, f.Atom | f.Named):
                self.variables.setdefault(each.variable, len(self.variables))
        self.hidden = len(self.variables)
        self.visible = (1 << self.hidden) - 1

    def build(self, formula: f.Formula) -> m.Machine:
        match formula:
            case f.Atom(type=kind, stream=stream, variable=name):
                test = TypeTest(kind, stream)
                tests = () if test == (None, None) else (self._test(test),)
                return m.One(tests, self._bit(name))
            case f.Absent(formula=inner):
                return m.NotOne(self._mute(inner, "NOT"))
            case f.Empty():
                return m.Nothing()
            case f.Named(formula=inner, variable=name):
                return m.Named(self.build(inner), self._bit(name), self.visible)
            case f.Repeat(formula=inner, contiguous=contiguous):
                self.rounds += 1
                machine = m.Repeated(self.build(inner), contiguous)
                self.rounds -= 1
                return machine
            case f.Sequence(items=items, contiguous=contiguous):
                return m.Chain(tuple(map(self.build, items)), contiguous)
            case f.Or(items=items):
                return m.Choice(tuple(map(self.build, items)))
            case f.And(items=items):
                agreed, self.agreed = self.agreed, f.computed_variables(formula)
                sides = list(map(self.build, items))
                self.agreed = agreed
                return reduce(lambda a, b: m.Agreement(a, b, self.visible), sides)
            case f.All(items=items):
                return m.Together(tuple(map(self.build, items)))
            case f.Unless(formula=inner, absent=absent):
                correlated = bool(f.free_variables(absent))
                if not correlated and (f.is_unary(absent) or self.sealed):
                    return m.Without(self.build(inner), self._mute(absent, "UNLESS"))
                return self._bounded(formula)
            case f.Filter():
                return self._filtered(formula)
            case f.Project(formula=inner, variables=names):
                return self._projected(inner, names)
            case f.Select(formula=inner, strategy="START"):
                return m.FromStart(self.build(inner), self._test(AtStart()))
            case f.Select(formula=inner, strategy="STRICT", support=names):
                visible = self.visible
                if names is not None:
                    visible = sum(self._bit(name) for name in self.variables if name in names)
                return m.WithoutGap(self.build(inner), visible)
            case f.Select(formula=inner, strategy=strategy):
                return m.Unbeaten(self._sealed(inner, strategy), m.COMPARE[strategy], self.visible)
            case f.Aggregate():
                return self._aggregated(formula)

    def _projected(self, formula: f.Formula, names: frozenset[str]) -> m.Machine:
        unseen, agreed, before = self.unseen, self.agreed, len(self.made)
        gone = f.computed_variables(formula) - names
        self.unseen, self.agreed = unseen | gone, agreed - gone
        self.projections += 1
        machine = self.build(formula)
        self.projections -= 1
        self.unseen, self.agreed = unseen, agreed
        new = [n for n in self.made[before:] if self.plan.makers[n].formula.variable in names]
        self.made[before:] = new
        dropped = sum(self._bit(name) for name in self.variables if name not in names)
        return m.Projected(machine, ~dropped)

    def _aggregated(self, formula: f.Aggregate) -> m.Machine:
        """Mark where the scope of an AGGREGATE ends, and the events that it reads."""
        if formula.variable in self.agreed:
            return m.Choice(())
        if formula.variable in self.unseen:
            return self.build(formula.formula)
        names = {column.variable for column in formula.columns}
        before = len(self.made)
        machine = self._looked_at(formula.formula, names)
        own = sorted(names & self.variables.keys())
        machine, bits = self._marked_variables(machine, formula, own)
        end = self.hidden_bit()
        inside = tuple(self.made[before:])
        self.made.append(len(self.plan.makers))
        self.plan.makers.append(Maker(formula, tuple(bits.items()), end, inside))
        return m.Bounded(machine, 0, end)

    def _looked_at(self, formula: f.Formula, names: Collection[str]) -> m.Machine:
        """Build a formula at whose variables, computed ones among them, something looks."""
        unseen, self.unseen = self.unseen, self.unseen - frozenset(names)
        machine = self.build(formula)
        self.unseen = unseen
        return machine

    def _bounded(self, formula: f.Unless) -> m.Machine:
        """Build φ of φ UNLESS ψ, and a machine of its own for a ψ that relates events.

        Which of the matches with one interval ψ chooses, and what it binds, makes no difference.
        Events of φ that conditions of ψ are about keep their bits.
        """
        inner, absent, outer = formula.formula, formula.absent, formula.outer
        while isinstance(absent, f.Project) or (
            isinstance(absent, f.Select) and absent.strategy not in ("START", "STRICT")
        ):
            absent = absent.formula
        if self.sealed:
            raise self._chooses(f"UNLESS ({f.describe(absent)})")
        if outer & f.computed_variables(inner):
            raise NotUnaryError("an UNLESS with conditions on computed events to its left")
        unseen = f.computed_variables(absent)
        beyond = (self.outer | self.beyond) - outer
        alone = _compiled(absent, self.type_of, self.plan.like(), unseen, outer, beyond)
        machine, bits = self._marked_variables(self.build(inner), inner, sorted(outer))
        begin, end = self.hidden_bit(), self.hidden_bit()
        interval = Interval(begin, end, len(self.absent), tuple(bits.items()))
        self.plan.intervals.append(interval)
        self.absent.append(alone)
        return m.Bounded(machine, begin, end)

    def _marked_variables(
        self, machine: m.Machine, formula: f.Formula, names: Collection[str]
    ) -> tuple[m.Machine, dict[str, int]]:
        """Return a machine whose labels tell the events of variables in one scope, and how."""
        bits: dict[str, int] = {}
        for name in names:
            if self._is_own(name, formula):
                bits[name] = self._bit(name)
            else:
                bits[name] = self.hidden_bit()
                machine = m.Copied(machine, self._bit(name), bits[name])
        return machine, bits

    def _chooses(self, condition: str) -> NotUnaryError:
        """Say which operator around a condition keeps it from being decided later."""
        strategies = [each for each in self.sealed if each in m.COMPARE]
        return NotUnaryError(
            f"{(strategies or self.sealed)[0]} below the top of the pattern, which chooses "
            f"among matches by the condition {condition}"
        )

    def _sealed(self, formula: f.Formula, operator: str) -> m.Machine:
        """Build a formula whose own runs are compared, so that labels must tell everything."""
        self.sealed.append(operator)
        machine = self.build(formula)
        self.sealed.pop()
        return machine

    def _mute(self, formula: f.Formula, operator: str) -> m.Machine:
        """Build a formula of which only the intervals matter."""
        unseen, agreed, before = self.unseen, self.agreed, len(self.made)
        self.unseen, self.agreed = f.computed_variables(formula), frozenset()
        machine = self._sealed(formula, operator)
        self.unseen, self.agreed = unseen, agreed
        del self.made[before:]
        return machine

    def _filtered(self, formula: f.Filter) -> m.Machine:
        inner = formula.formula
        if self.outer or self.beyond:
            far = [each for each in formula.conditions if self._names_others(each)]
            if far:
                return self._correlated(formula, far)
        if isinstance(inner, f.Or) and all(_names_of_one_event(each) for each in inner.items):
            items = (f.Filter(each, formula.conditions) for each in inner.items)
            return m.Choice(tuple(map(self._filtered, items)))
        before = len(self.made)
        machine = self._looked_at(inner, _names(formula.conditions))
        conditions = formula.conditions
        one = _names_of_one_event(formula.formula)
        if one is not None:
            every = [on_one_event(each, one, self.type_of) for each in conditions]
            conditions = tuple(condition for some in every for condition in some)
        makers = tuple(self.made[before:])
        computed = self._computed(makers)
        # A variable is unknown where its AGGREGATE stands below an AND, which never holds.
        known = computed | self.variables.keys()
        conditions = tuple(each for each in conditions if _names([each]) <= known)
        between = [
            each for each in conditions if not isinstance(each, Each) or each.variable in computed
        ]
        if between:
            machine = self._watched(machine, formula, between, makers)
        for condition in conditions:
            if isinstance(condition, Each) and condition.variable not in computed:
                test = self._test(condition.predicate)
                machine = m.Filtered(machine, self._bit(condition.variable), test)
        return machine

    def _names_others(self, condition: f.Atomic) -> bool:
        """Tell whether a condition is about events left of an UNLESS around it."""
        others = self.outer | self.beyond
        return any(name in others for name in f.condition_variables(condition))

    def _correlated(self, formula: f.Filter, conditions: Sequence[f.Atomic]) -> m.Machine:
        """Mark the events that conditions compare with some left of UNLESS, and keep these.

        A condition about events of the left alone is asked where its own pattern matches, so
        its first event is marked.
        """
        about = _names(conditions)
        if self.sealed:
            raise self._chooses(conditions[0].text)
        if about & self.beyond:
            raise NotUnaryError(f"the condition {conditions[0].text}, which looks two UNLESSes out")
        if about & f.computed_variables(formula.formula):
            raise NotUnaryError("a condition right of UNLESS between computed events and its left")
        rest = tuple(each for each in formula.conditions if each not in conditions)
        machine = self.build(f.Filter(formula.formula, rest) if rest else formula.formula)
        machine, bits = self._marked_variables(machine, formula, sorted(about - self.outer))
        marker = 0
        if self.rounds:
            marker = self.hidden_bit()
            machine = m.Marked(machine, marker)
        for condition in conditions:
            names = f.condition_variables(condition)
            own = tuple((name, bits[name]) for name in names if name in bits)
            if not own:
                first = self.hidden_bit()
                machine = m.Marked(machine, first)
                own = (("", first),)
            self.plan.correlated.append(Deferred(condition, own, marker))
        return machine

    def _watched(
        self,
        machine: m.Machine,
        formula: f.Filter,
        conditions: Sequence[f.Atomic],
        makers: tuple[int, ...],
    ) -> m.Machine:
        """Add registers for conditions between events; hidden bits tell what their scope is.

        Conditions on events that one of the makers computes wait for them.
        """
        if self.sealed:
            raise self._chooses(conditions[0].text)
        names = sorted(_names(conditions) & self.variables.keys())
        computed = self._computed(makers)
        machine, bits = self._marked_variables(machine, formula, names)
        marker = 0
        if self.rounds:
            marker = self.hidden_bit()
            machine = m.Marked(machine, marker)
        iterated = frozenset(n for n in names if f.most_events(formula.formula, n) > 1)
        for condition in conditions:
            about = f.condition_variables(condition)
            try:
                if computed.intersection(about) or condition.text in self.plan.late:
                    raise InexpressibleError(condition.text)
                self._add(condition, bits, iterated, marker)
            except InexpressibleError:
                own = tuple((name, bits[name]) for name in about if name in bits)
                self.plan.deferred.append(Deferred(condition, own, marker, makers))
        return machine

    def _computed(self, makers: Collection[int]) -> frozenset[str]:
        return frozenset(self.plan.makers[number].formula.variable for number in makers)

    def _add(
        self, condition: f.Atomic, bits: Mapping[str, int], iterated: frozenset[str], marker: int
    ) -> None:
        match condition:
            case Relation():
                self.plan.add_relation(condition, dict(bits), iterated, marker)
            case Trend(path=path, variable=name):
                self.plan.add_trend(condition, self.type_of(path), bits[name], marker)
            case SameKey(keys=keys):
                kinds = [self.type_of(path) for _, path in keys]
                self.plan.add_same_key(condition, kinds, dict(bits), marker)
            case Each():
                raise AssertionError(condition)

    def _is_own(self, name: str, formula: f.Formula) -> bool:
        """Tell whether a variable is bound nowhere but in this one occurrence of a formula."""
        everywhere = f.bindings_of(self.whole, name)
        alone = everywhere == f.bindings_of(formula, name)
        return alone and not self.rounds and not self.projections

    def _bit(self, name: str) -> int:
        return 1 << self.variables.setdefault(name, len(self.variables))

    def hidden_bit(self) -> int:
        """Return a bit that no variable has."""
        self.hidden += 1
        return 1 << (self.hidden - 1)

    def _test(self, predicate: Predicate) -> int:
        return self.predicates.setdefault(predicate, len(self.predicates))


def _names_of_one_event(formula: f.Formula) -> frozenset[str] | None:
    """Return the variables of a formula that is about one event; None: it is not."""
    match formula:
        case f.Atom(variable=name):
            return frozenset({name})
        case f.Named(formula=inner, variable=name):
            names = _names_of_one_event(inner)
            return None if names is None else names | {name}
        case f.Filter(formula=inner) | f.Select(formula=inner):
            return _names_of_one_event(inner)
        case _:
            return None


def _names(conditions: Sequence[f.Atomic]) -> frozenset[str]:
    return frozenset(name for each in conditions for name in f.condition_variables(each))
