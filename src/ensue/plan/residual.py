"""What is left to be decided as matches are listed, where an automaton cannot decide it."""

from __future__ import annotations

from dataclasses import dataclass

from ensue.analysis.conditions import Each, Relation, Trend
from ensue.analysis.expressions import EventType, Expression, subexpressions
from ensue.automata.deferred import Deferred, InnerAggregate, Interval
from ensue.logic import formula as f
from ensue.plan.aggregate_bounds import AggregateBound
from ensue.plan.residual_operators import ResidualOperator, filters


@dataclass(frozen=True, slots=True)
class Residual:
    """Operators at the top of a formula, innermost first, and what comes before and after."""

    operators: tuple[ResidualOperator, ...]
    positions_only: bool
    limit: int | None
    deferred: tuple[Deferred, ...] = ()
    """Conditions that are checked before all else."""
    intervals: tuple[Interval, ...] = ()
    """Where something must not have happened."""
    inner_aggregates: tuple[InnerAggregate, ...] = ()
    """AGGREGATEs inside the pattern."""
    shown: tuple[int, ...] = ()
    """Those whose events belong to matches."""
    bounds: tuple[AggregateBound, ...] = ()
    """What aggregates must stay within for a match to be worth listing."""
    consume: str = "NONE"
    """What a completing event consumes, where that is not known before."""
    by_word: bool = False
    """Whether the labels of the matches that pass are read."""
    adjoined: int = 0
    """The bit of events whose predecessor in the (sub)stream is bound too."""
    choice: f.Choice | None = None
    """What SELECT chooses among the matches of one completing event."""
    repeated: str = ""
    """The parts of the pattern that any number of events may be chosen for, if there are any."""

    @property
    def refuses(self) -> bool:
        """Whether some matches are found to be none."""
        return bool(self.deferred or self.intervals) or filters(self.operators)

    @property
    def refuses_unbounded(self) -> bool:
        """Whether matches are refused, or compared, that only listing tells, one by one."""
        compared = self.choice is not None or any(isinstance(e, f.Select) for e in self.operators)
        return (self.refuses or compared) and bool(self.unbounded)

    @property
    def unbounded(self) -> tuple[str, ...]:
        """What matches are refused for that only listing tells, one by one."""
        bounded = {each.text for each in self.bounds}
        conditions = [each.condition.text for each in self.deferred]
        for operator in self.operators:
            match operator:
                case f.Filter():
                    conditions += [each.text for each in operator.conditions]
                case f.Select(strategy=strategy):
                    conditions.append(strategy)
        if any(not each.after for each in self.intervals):
            conditions.append("UNLESS with conditions between events")
        if any(each.after for each in self.intervals):
            conditions.append("NOT FOLLOWED BY with conditions on events of the match")
        if self.choice is not None:
            conditions.append(f"SELECT {self.choice}")
        return tuple(dict.fromkeys(each for each in conditions if each not in bounded))

    @property
    def columnar(self) -> bool:
        """Whether all of it can be done on columns of matches."""
        if self.positions_only or self.by_word or self.choice is not None:
            return False
        made = {each.formula.variable for each in self.inner_aggregates}
        decided = self.consume == "NONE" and self.decided_on_columns
        return decided and is_columnar(self.operators, frozenset(made))

    @property
    def decided_on_columns(self) -> bool:
        """Whether all deferred conditions can be decided on columns of matches."""
        known = Each | Relation | Trend
        for each in self.deferred:
            # Computed events have no type.
            typed = each.inner_aggregates and any(map(_asks_type, each.expressions()))
            if typed or not isinstance(each.condition, known):
                return False
        return True


def is_columnar(
    operators: tuple[ResidualOperator, ...], made: frozenset[str] = frozenset()
) -> bool:
    """Tell whether operators can be applied to columns of matches with some computed variables."""
    computed = set(made)
    for operator in operators:
        match operator:
            case f.Aggregate(variable=name):
                computed.add(name)
            case f.Filter(conditions=conditions):
                for each in conditions:
                    if not isinstance(each, Each) or each.variable not in computed:
                        return False
                    if _asks_type(each.predicate):
                        return False
            case f.Project():
                pass
            case _:
                return False
    return True


def _asks_type(expression: Expression) -> bool:
    return any(isinstance(each, EventType) for each in subexpressions(expression))
