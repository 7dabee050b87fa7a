"""The operators at the top of a formula that are applied as matches are enumerated.

AGGREGATE adds to a match and takes nothing from it, so whatever does not look at what it adds is
moved below it, to be decided by the automaton: filters on events of the stream, START, and the
strategies, which compare supports. What is left above is done on enumeration.

STRICT asks about one match at a time, so it also goes below filters, and below projections with
the variables that they leave. Only where NEXT, LAST or MAX choose before it, it stays; then the
automaton marks which events of a match are neighbours, since positions do not tell: under PARTITION
BY they count the events of all partitions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ensue.analysis.conditions import Each, Relation, SameKey, Trend
from ensue.analysis.expressions import paths_of
from ensue.logic import formula as f

ResidualOperator = f.Project | f.Select | f.Aggregate | f.Filter


def take_off(formula: f.Formula) -> tuple[f.Formula, tuple[ResidualOperator, ...]]:
    """Split a formula into what an automaton decides, and operators on its matches.

    The operators come innermost first. Without AGGREGATE at the top there are some only over
    conditions between events: projections and strategies.
    """
    above: list[ResidualOperator] = []
    inner = formula
    while isinstance(inner, f.Project | f.Select | f.Filter | f.Aggregate):
        above.append(inner)
        inner = inner.formula
    while above and not isinstance(above[-1], f.Aggregate):
        above.pop()
    if not above:
        return _peeled(formula)
    chain = _Chain(above[-1].formula)
    for operator in reversed(above):
        chain.add(operator)
    core, below = _peeled(chain.narrowed())
    return core, (*below, *chain.operators)


def _peeled(formula: f.Formula) -> tuple[f.Formula, tuple[ResidualOperator, ...]]:
    """Take projections and strategies off the top of a formula with conditions between events."""
    if f.is_unary(formula):
        return formula, ()
    peeled: list[ResidualOperator] = []
    while isinstance(formula, f.Project | f.Select) and (
        isinstance(formula, f.Project) or _chooses(formula)
    ):
        peeled.append(formula)
        formula = formula.formula
    return formula, tuple(reversed(peeled))


def _chooses(formula: f.Formula) -> bool:
    """Tell whether NEXT, LAST or MAX stand at the top, if only below projections and STRICT."""
    while isinstance(formula, f.Project | f.Select) and (
        isinstance(formula, f.Project) or formula.strategy == "STRICT"
    ):
        formula = formula.formula
    return isinstance(formula, f.Select) and formula.strategy != "START"


def is_strict(formula: f.Formula) -> bool:
    """Tell whether a formula is a STRICT."""
    return isinstance(formula, f.Select) and formula.strategy == "STRICT"


@dataclass(slots=True)
class _Chain:
    core: f.Formula
    operators: list[ResidualOperator] = field(default_factory=list)
    computed: set[str] = field(default_factory=set)

    def add(self, operator: ResidualOperator) -> None:
        """Apply one more operator: to the core, if it makes no difference."""
        match operator:
            case f.Aggregate(variable=name):
                self.computed.add(name)
                self.operators.append(operator)
            case f.Filter(conditions=conditions):
                below = tuple(each for each in conditions if self._sinks(each))
                above = tuple(each for each in conditions if not self._sinks(each))
                if below:
                    self.core = f.Filter(self.core, below)
                if above:
                    self.operators.append(f.Filter(operator.formula, above))
            case f.Select(strategy="START"):
                self.core = f.Select(self.core, "START")
            case f.Select(strategy="STRICT"):
                if self._chosen():
                    self.operators.append(operator)
                else:
                    self.core = f.Select(self.core, "STRICT", self._left())
            case f.Select(strategy=strategy):
                if all(isinstance(each, f.Aggregate) for each in self.operators):
                    self.core = f.Select(self.core, strategy)
                else:
                    self.operators.append(operator)
            case f.Project():
                self.operators.append(operator)

    def _chosen(self) -> bool:
        """Tell whether it is known on enumeration only what NEXT, LAST or MAX have chosen."""
        late = any(isinstance(each, f.Select) for each in self.operators)
        return late or (_chooses(self.core) and not f.is_unary(self.core))

    def _left(self) -> frozenset[str] | None:
        """Return the variables that the projections leave; None: all."""
        kept = [each.variables for each in self.operators if isinstance(each, f.Project)]
        return frozenset.intersection(*kept) if kept else None

    def _sinks(self, condition: f.Atomic) -> bool:
        names = set(f.condition_variables(condition))
        return not names & self.computed and all(
            isinstance(each, f.Aggregate | f.Filter)
            or (isinstance(each, f.Project) and names <= each.variables)
            for each in self.operators
        )

    def narrowed(self) -> f.Formula:
        """Return the core, without variables that are not read any more."""
        wanted: set[str] = set()
        for operator in self.operators:
            match operator:
                case f.Aggregate(columns=columns):
                    wanted.update(column.variable for column in columns)
                case f.Filter(conditions=conditions):
                    wanted.update(n for each in conditions for n in f.condition_variables(each))
                case f.Project(variables=names):
                    wanted |= names
                    break
                case _:
                    return self.core
        else:
            return self.core
        later = self.operators[self.operators.index(operator) + 1 :]
        for each in later:
            if isinstance(each, f.Aggregate):
                wanted.update(column.variable for column in each.columns)
        bound = {
            each.variable
            for each in f.subformulas(self.core)
            if isinstance(each, f.Atom | f.Named | f.Aggregate)
        }
        return self.core if bound <= wanted else f.Project(self.core, frozenset(wanted & bound))


def asks_neighbours(operators: tuple[ResidualOperator, ...]) -> bool:
    """Tell whether gaps are looked for among matches that are listed."""
    return any(map(is_strict, operators))


def read_columns(operators: tuple[ResidualOperator, ...]) -> set[str]:
    """Return the columns of events that operators read."""
    read: set[str] = set()
    for operator in operators:
        match operator:
            case f.Aggregate(columns=columns):
                read |= {path[0] for each in columns for path in each.paths}
            case f.Filter(conditions=conditions):
                for each in conditions:
                    match each:
                        case Each(predicate=predicate) | Relation(predicate=predicate):
                            read |= {path[0] for path in paths_of(predicate)}
                        case Trend(path=path):
                            read.add(path[0])
                        case SameKey(keys=keys):
                            read |= {path[0] for _, path in keys}
    return read


def filters(operators: tuple[ResidualOperator, ...]) -> bool:
    """Tell whether operators may leave nothing of the matches of an event."""
    return any(isinstance(each, f.Filter) or is_strict(each) for each in operators)


def shown_bits(operators: tuple[ResidualOperator, ...], variables: tuple[str, ...]) -> int:
    """Return the bits of labels that count in a support: of variables that projections leave."""
    kept = [each.variables for each in operators if isinstance(each, f.Project)]
    left = (name in frozenset(variables).intersection(*kept) for name in variables)
    return sum(1 << bit for bit, shows in enumerate(left) if shows)


def adds_only(operators: tuple[ResidualOperator, ...]) -> bool:
    """Tell whether operators keep every match as it is, and add to it."""
    return all(isinstance(each, f.Aggregate) for each in operators)
