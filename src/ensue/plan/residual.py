"""What is left to be decided as matches are listed, where an automaton cannot decide it."""

from __future__ import annotations

from dataclasses import dataclass

from ensue.analysis.conditions import Each
from ensue.analysis.expressions import EventType, subexpressions
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

    @property
    def refuses(self) -> bool:
        """Whether some matches are found to be none."""
        return bool(self.deferred or self.intervals) or filters(self.operators)

    @property
    def columnar(self) -> bool:
        """Whether all of it can be done on columns of matches."""
        plain = not (self.positions_only or self.deferred or self.inner_aggregates or self.by_word)
        checks = bool(self.intervals) and not self.operators
        return plain and self.consume == "NONE" and (checks or is_columnar(self.operators))


def is_columnar(operators: tuple[ResidualOperator, ...]) -> bool:
    """Tell whether operators can be applied to columns of matches."""
    computed: set[str] = set()
    for operator in operators:
        match operator:
            case f.Aggregate(variable=name, columns=columns):
                if name in computed or any(each.variable in computed for each in columns):
                    return False
                computed.add(name)
            case f.Filter(conditions=conditions):
                for each in conditions:
                    if not isinstance(each, Each) or each.variable not in computed:
                        return False
                    if any(isinstance(e, EventType) for e in subexpressions(each.predicate)):
                        return False
            case f.Project():
                pass
            case _:
                return False
    return bool(computed)
