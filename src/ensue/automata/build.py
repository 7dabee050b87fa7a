"""Compilation of a formula: variables become bits, conditions predicates or registers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from ensue.analysis.conditions import Each
from ensue.automata import machine as m
from ensue.automata.compiled import (
    AtStart,
    Compiled,
    NotUnaryError,
    Predicate,
    TypeOf,
    TypeTest,
    unknown_types,
)
from ensue.automata.condition_forms import on_one_event
from ensue.automata.deferred import Deferred, InnerAggregate, Interval
from ensue.automata.first_windows import Clock, first_windows
from ensue.automata.registers import Clip, InexpressibleError, RegisterPlan
from ensue.logic import formula as f


def compile_formula(
    formula: f.Formula,
    type_of: TypeOf = unknown_types,
    *,
    assume_numbers: bool = False,
    defers: bool = False,
    late: frozenset[str] = frozenset(),
    adjoins: bool = False,
    intervals_only: bool = False,
    clock: Clock | None = None,
) -> Compiled:
    """Compile a formula; with `adjoins`, labels mark bound events without a gap before them.

    With `intervals_only` nothing but the intervals of its matches is of interest. Conditions whose
    texts are `late` are decided on listing, as are all with `defers`; windows on `clock` that begin
    with the match on the graph, unless something else needs registers. Raises NotUnaryError where a
    strategy below the top chooses among matches that such conditions decide on.
    """
    plan = RegisterPlan(assume_numbers=assume_numbers, defers=defers, late=late)
    unseen: frozenset[str] = frozenset()
    if intervals_only:
        formula = f.interval_formula(formula)
        unseen = f.computed_variables(formula)
    clipped = frozenset() if clock is None else first_windows(formula, clock)
    found = _compiled(formula, type_of, plan.like(), unseen, adjoins, clipped=clipped)
    taken = clipped and found.plan.registers
    return _compiled(formula, type_of, plan, unseen, adjoins) if taken else found


def _compiled(
    formula: f.Formula,
    type_of: TypeOf,
    plan: RegisterPlan,
    unseen: frozenset[str],
    adjoins: bool = False,
    **around: Any,
) -> Compiled:
    builder = _Builder(formula, type_of, plan=plan, unseen=unseen, **around)
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
    plan: RegisterPlan = field(default_factory=RegisterPlan)
    hidden: int = 0
    visible: int = 0
    rounds: int = 0
    """The number of iterations around the current formula."""
    projections: int = 0
    """The number of projections around it, which may drop bits of variables."""
    absent: list[Compiled] = field(default_factory=list)
    sealed: list[str] = field(default_factory=list)
    """The operators around it that keep conditions inside from being deferred."""
    made: list[int] = field(default_factory=list)
    """The numbers of the AGGREGATEs built so far whose events are visible here."""
    unseen: frozenset[str] = frozenset()
    """Computed variables that no operator around reads."""
    agreed: frozenset[str] = frozenset()
    """Computed variables below an AND, whose sides never compute the same event."""
    outer: frozenset[str] = frozenset()
    """Variables left of the UNLESS on whose right side this formula is."""
    beyond: frozenset[str] = frozenset()
    """Variables left of UNLESSes further out."""
    clipped: frozenset[int] = frozenset()
    """The windows, by their ids, that are decided on the match graph."""

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
                return m.NotOne(self._build_intervals(inner, "NOT"))
            case f.Empty():
                return m.EmptyWord()
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
                    return m.Without(self.build(inner), self._build_intervals(absent, "UNLESS"))
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
                return m.Unbeaten(
                    self._build_sealed(inner, strategy), m.COMPARE[strategy], self.visible
                )
            case f.Aggregate():
                return self._aggregated(formula)
            case f.Within():
                return self._within(formula)

    def _within(self, formula: f.Within) -> m.Machine:
        """Mark the ends of a window, for a register or, where it begins a match, for the graph."""
        machine = self.build(formula.formula)
        if f.variables_of_one_event(formula.formula) is not None:
            return machine
        if self.sealed:
            raise self._chooses(formula.text)
        end, begin = self.hidden_bit(), 0
        if id(formula) in self.clipped:
            self.plan.clips.append(Clip(end, formula.window.size, formula.text))
        else:
            begin = self.hidden_bit()
            self.plan.add_window(formula.window, formula.text, begin, end)
        return m.Bounded(machine, begin, end)

    def _projected(self, formula: f.Formula, names: frozenset[str]) -> m.Machine:
        unseen, agreed, before = self.unseen, self.agreed, len(self.made)
        gone = f.computed_variables(formula) - names
        self.unseen, self.agreed = unseen | gone, agreed - gone
        self.projections += 1
        machine = self.build(formula)
        self.projections -= 1
        self.unseen, self.agreed = unseen, agreed
        every = self.plan.inner_aggregates
        self.made[before:] = [n for n in self.made[before:] if every[n].formula.variable in names]
        dropped = sum(self._bit(name) for name in self.variables if name not in names)
        return m.Projected(machine, ~dropped)

    def _aggregated(self, formula: f.Aggregate) -> m.Machine:
        """Mark the end of the scope of an AGGREGATE, and the events that it reads."""
        if formula.variable in self.agreed:
            return m.Choice(())
        if formula.variable in self.unseen:
            return self.build(formula.formula)
        names, before = {column.variable for column in formula.columns}, len(self.made)
        machine = self._build_read(formula.formula, names)
        own = sorted(names & self.variables.keys())
        machine, bits = self._marked_variables(machine, formula, own)
        end, inside = self.hidden_bit(), tuple(self.made[before:])
        self.made.append(len(self.plan.inner_aggregates))
        self.plan.inner_aggregates.append(InnerAggregate(formula, tuple(bits.items()), end, inside))
        return m.Bounded(machine, 0, end)

    def _build_read(self, formula: f.Formula, names: Collection[str]) -> m.Machine:
        """Build a formula some of whose variables, computed ones included, are read."""
        unseen, self.unseen = self.unseen, self.unseen - frozenset(names)
        machine = self.build(formula)
        self.unseen = unseen
        return machine

    def _bounded(self, formula: f.Unless) -> m.Machine:
        """Build φ of φ UNLESS ψ, and a separate machine for a ψ with conditions between events.

        Projections and strategies do not change whether ψ matches in an interval: they are dropped.
        """
        inner, absent, outer = formula.formula, f.interval_formula(formula.absent), formula.outer
        if self.sealed:
            raise self._chooses(f"UNLESS ({f.describe(absent)})")
        if outer & f.computed_variables(inner):
            raise NotUnaryError("an UNLESS with conditions on computed events to its left")
        unseen = f.computed_variables(absent)
        around: Any = {"outer": outer, "beyond": (self.outer | self.beyond) - outer}
        alone = _compiled(absent, self.type_of, self.plan.like(), unseen, **around)
        machine, bits = self._marked_variables(self.build(inner), inner, sorted(outer))
        if formula.after:
            bits_of_outer = tuple(bits.items())
            self.plan.intervals.append(Interval(0, 0, len(self.absent), bits_of_outer, after=True))
            self.absent.append(alone)
            return machine
        begin, end = self.hidden_bit(), self.hidden_bit()
        interval = Interval(begin, end, len(self.absent), tuple(bits.items()))
        self.plan.intervals.append(interval)
        self.absent.append(alone)
        return m.Bounded(machine, begin, end)

    def _marked_variables(
        self, machine: m.Machine, formula: f.Formula, names: Collection[str]
    ) -> tuple[m.Machine, dict[str, int]]:
        """Return a machine whose labels mark the events of variables in one scope, and the bits."""
        bits: dict[str, int] = {}
        for name in names:
            if self._is_own(name, formula):
                bits[name] = self._bit(name)
            else:
                bits[name] = self.hidden_bit()
                machine = m.Copied(machine, self._bit(name), bits[name])
        return machine, bits

    def _chooses(self, condition: str) -> NotUnaryError:
        """Return the error that names the operator which keeps a condition from being deferred."""
        strategies = [each for each in self.sealed if each in m.COMPARE]
        return NotUnaryError(
            f"{(strategies or self.sealed)[0]} below the top of the pattern, which chooses "
            f"among matches by the condition {condition}"
        )

    def _build_sealed(self, formula: f.Formula, operator: str) -> m.Machine:
        """Build a formula inside an operator that compares runs, so that nothing is deferred."""
        self.sealed.append(operator)
        machine = self.build(formula)
        self.sealed.pop()
        return machine

    def _build_intervals(self, formula: f.Formula, operator: str) -> m.Machine:
        """Build a formula of which only the intervals of matches are used."""
        unseen, agreed, before = self.unseen, self.agreed, len(self.made)
        self.unseen, self.agreed = f.computed_variables(formula), frozenset()
        machine = self._build_sealed(formula, operator)
        self.unseen, self.agreed = unseen, agreed
        del self.made[before:]
        return machine

    def _filtered(self, formula: f.Filter) -> m.Machine:
        inner = formula.formula
        if self.outer or self.beyond:
            far = [each for each in formula.conditions if self._names_others(each)]
            if far:
                return self._correlated(formula, far)
        if isinstance(inner, f.Or) and all(f.variables_of_one_event(each) for each in inner.items):
            items = (f.Filter(each, formula.conditions) for each in inner.items)
            return m.Choice(tuple(map(self._filtered, items)))
        before = len(self.made)
        machine = self._build_read(inner, f.named_by(formula.conditions))
        conditions = formula.conditions
        one = f.variables_of_one_event(formula.formula)
        if one is not None:
            every = [on_one_event(each, one, self.type_of) for each in conditions]
            conditions = tuple(condition for some in every for condition in some)
        inner_aggregates = tuple(self.made[before:])
        computed = self._computed(inner_aggregates)
        # A variable is unknown where its AGGREGATE stands below an AND, which never holds.
        known = computed | self.variables.keys()
        conditions = tuple(each for each in conditions if f.named_by([each]) <= known)
        between = [
            each for each in conditions if not isinstance(each, Each) or each.variable in computed
        ]
        if between:
            machine = self._watched(machine, formula, between, inner_aggregates)
        for condition in conditions:
            if isinstance(condition, Each) and condition.variable not in computed:
                test = self._test(condition.predicate)
                machine = m.Filtered(machine, self._bit(condition.variable), test)
        return machine

    def _names_others(self, condition: f.Atomic) -> bool:
        """Return whether a condition names events left of an UNLESS around it."""
        others = self.outer | self.beyond
        return any(name in others for name in f.condition_variables(condition))

    def _correlated(self, formula: f.Filter, conditions: Sequence[f.Atomic]) -> m.Machine:
        """Mark the events that conditions compare with events left of UNLESS.

        Of a pattern whose condition names events of the left alone, the first event is marked.
        """
        about = f.named_by(conditions)
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
        inner_aggregates: tuple[int, ...],
    ) -> m.Machine:
        """Add registers for conditions between events; hidden bits mark their scope.

        Conditions on computed events are deferred.
        """
        if self.sealed:
            raise self._chooses(conditions[0].text)
        names = sorted(f.named_by(conditions) & self.variables.keys())
        computed = self._computed(inner_aggregates)
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
                self.plan.add(condition, self.type_of, bits, iterated, marker)
            except InexpressibleError:
                own = tuple((name, bits[name]) for name in about if name in bits)
                self.plan.deferred.append(Deferred(condition, own, marker, inner_aggregates))
        return machine

    def _computed(self, inner_aggregates: Collection[int]) -> frozenset[str]:
        return frozenset(
            self.plan.inner_aggregates[number].formula.variable for number in inner_aggregates
        )

    def _is_own(self, name: str, formula: f.Formula) -> bool:
        """Return whether a variable is bound only in this one occurrence of a formula."""
        alone = f.bindings_of(self.whole, name) == f.bindings_of(formula, name)
        return alone and not self.rounds and not self.projections

    def _bit(self, name: str) -> int:
        return 1 << self.variables.setdefault(name, len(self.variables))

    def hidden_bit(self) -> int:
        """Return a bit that no variable has."""
        self.hidden += 1
        return 1 << (self.hidden - 1)

    def _test(self, predicate: Predicate) -> int:
        return self.predicates.setdefault(predicate, len(self.predicates))
