"""Computed columns bound: expressions over aggregates of the events of a match."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ensue.analysis.binding import Binder, report_list
from ensue.analysis.bound import HIDDEN, Column, Computation, Derived
from ensue.analysis.expressions import (
    UNKNOWN,
    Attribute,
    Constant,
    Expression,
    variables_of,
    without_variables,
)
from ensue.analysis.functions import AGGREGATES, COUNT_DISTINCT
from ensue.analysis.types import Type, list_of
from ensue.analysis.values import computed_literal
from ensue.analysis.variables import Variable
from ensue.language import tree
from ensue.language.printer import format_expression

_NEED_NUMBERS = ("sum", "avg", "range", "stddev", "product", "median", "percentile")


@dataclass(slots=True)
class AggregateTerms:
    """Binds columns and collects the aggregates that they are computed from.

    An aggregate that is a whole column has the column's name; the others have hidden names.
    """

    scope: Binder
    """Of the variables of the pattern below."""
    repeats: Callable[[str], bool]
    """Whether a variable may have several events."""
    columns: list[Column] = field(default_factory=list)
    derived: list[Derived] = field(default_factory=list)
    _name: str | None = None
    """The name of the column that the next aggregate is."""

    @property
    def computation(self) -> Computation:
        return Computation(tuple(self.columns), tuple(self.derived))

    def column(self, node: tree.Column) -> Type:
        """Bind a column and return its type."""
        name, expression = node.name.text, node.expression
        alone = isinstance(expression, tree.Path) or (
            isinstance(expression, tree.Call) and self.knows(expression.function.text.lower())
        )
        self._name = name if alone else None
        before = len(self.scope.context.problems)
        bound = replace(self.scope, aggregates=self).bind(expression)
        self._name = None
        if not alone and len(self.scope.context.problems) == before:
            self.derived.append(Derived(name, bound))
        return bound.type

    def knows(self, name: str) -> bool:
        """Return whether a function is an aggregate, perhaps one of the user."""
        return name in AGGREGATES or name in self.scope.context.aggregates

    def call(self, node: tree.Call) -> Expression:
        """Bind a call of an aggregate function."""
        name, self._name = self._name, None
        function = node.function.text.lower()
        wanted = 2 if function == "percentile" else 1
        if len(node.arguments) != wanted:
            self.scope.context.report(
                "E314",
                node.span,
                f"{function} takes {wanted} argument{'s' * (wanted > 1)}, "
                f"not {len(node.arguments)}",
                f"write {function}(x.attribute{', 0.9' * (wanted > 1)})",
            )
            return UNKNOWN
        argument = node.arguments[0]
        if isinstance(argument, tree.Star):
            self._report_star(node, function)
            return UNKNOWN
        if isinstance(argument, tree.Distinct) and function == "count":
            return self._aggregate(COUNT_DISTINCT, argument.operand, name)
        if function == "percentile":
            which = self._percentile(node.arguments[1])
            return UNKNOWN if which is None else self._aggregate(function, argument, name, which)
        if isinstance(argument, tree.Path) and len(argument.parts) == 1:
            return self._count(argument, function, name)
        return self._aggregate(function, argument, name)

    def _percentile(self, node: tree.Expression) -> float | None:
        """Bind the second argument of percentile: a constant from 0 to 1."""
        bound = computed_literal(self.scope.bind(node))
        value = bound.value if isinstance(bound, Constant) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
            return float(value)
        self.scope.context.report(
            "E454",
            node.span,
            "percentile takes a constant from 0 to 1",
            "the median is percentile(x.a, 0.5)",
        )
        return None

    def _report_star(self, node: tree.Call, function: str) -> None:
        if function == "count":
            self.scope.context.report(
                "E452",
                node.span,
                "count(*) counts matches and is a column of SELECT by itself",
                "count(x) counts the events of a variable",
            )
        else:
            self.scope.context.report(
                "E425", node.span, f"'{function}(*)': only count takes *", "write count(*)"
            )

    def _count(self, argument: tree.Path, function: str, name: str | None) -> Expression:
        variable = argument.names[0]
        if variable not in self.scope.variables:
            self.scope.report_variable(argument.parts[0])
            return UNKNOWN
        if function != "count":
            self.scope.context.report(
                "E420",
                argument.span,
                f"{function} needs an attribute of '{variable}'",
                f"write {function}({variable}.attribute)",
            )
            return UNKNOWN
        return self._term(name, Column("", function, variable, None), Type.INT)

    def _aggregate(
        self,
        function: str,
        argument: tree.Expression,
        name: str | None,
        parameter: float | None = None,
    ) -> Expression:
        context = self.scope.context
        before = len(context.problems)
        bound = replace(self.scope, place=f"the argument of {function}").bind(argument)
        report_list(bound.type, argument.span, context)
        if len(context.problems) > before:
            return UNKNOWN
        variables = variables_of(bound)
        if len(variables) != 1:
            named = " and ".join(f"'{each}'" for each in sorted(variables)) or "no variable"
            context.report(
                "E450",
                argument.span,
                f"{function} is of the events of one variable, and this names {named}",
                "aggregate each by itself: sum(x.a) - sum(y.b)",
            )
            return UNKNOWN
        kind = bound.type
        if not _takes(function, kind):
            listed = ", list" * _takes("list", kind)
            context.report(
                "E317",
                argument.span,
                f"{function} of {kind.article}",
                f"of {kind.article} only count, min, max{listed}, first and last can be taken",
            )
            return UNKNOWN
        (variable,) = variables
        user = context.aggregates.get(function)
        column = Column("", function, variable, without_variables(bound), parameter, user)
        return self._term(name, column, column_type(column, kind))

    def single_event(self, node: tree.Path, variable: Variable) -> Expression:
        """Bind x.a, which is short for first(x.a) where x has one event at most."""
        name, self._name = self._name, None
        if self.repeats(variable.name):
            written = format_expression(node)
            self.scope.context.report(
                "E453",
                node.span,
                f"'{variable.name}' may have several events: which one's?",
                f"write first({written}), last({written}), or another aggregate",
            )
            return UNKNOWN
        return self._aggregate("first", node, name)

    def _term(self, name: str | None, column: Column, kind: Type) -> Expression:
        """Name an aggregate, and return it as expressions read it; equal ones are computed once."""
        if name is None:
            for each in self.columns:
                if each.hidden and replace(each, name="") == column:
                    return Attribute((each.name,), kind)
            name = f"{HIDDEN}{len(self.columns)}"
        self.columns.append(replace(column, name=name))
        return Attribute((name,), kind)


def _takes(function: str, kind: Type) -> bool:
    """Return whether an aggregate is defined for values of a type."""
    if kind is Type.UNKNOWN or (function == "range" and kind.is_time):
        return True
    if function == "list":
        return list_of(kind) is not None
    return function not in _NEED_NUMBERS or kind.is_number


def column_type(column: Column, kind: Type) -> Type:
    """Return the type of an aggregate of values of some type, perhaps one of the user."""
    return aggregate_type(column.function, kind) if column.user is None else column.user.returns


def aggregate_type(function: str, kind: Type) -> Type:
    """Return the type of an aggregate of values of some type."""
    if function in ("count", COUNT_DISTINCT):
        return Type.INT
    if function in ("avg", "stddev", "median", "percentile"):
        return Type.DOUBLE
    if function == "list":
        return list_of(kind) or Type.LIST
    if function == "range" and kind.is_time:
        return Type.DURATION
    if function in ("sum", "range", "product") and kind is Type.DECIMAL:
        return Type.DOUBLE
    return kind
