"""Expressions bound to variables, attributes and types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ensue.analysis import values
from ensue.analysis.arithmetic import bind_arithmetic, bind_negative
from ensue.analysis.calls import bind_call
from ensue.analysis.comparisons import bind_comparison, bind_match, bind_membership, bind_range
from ensue.analysis.context import Context, listing
from ensue.analysis.expressions import UNKNOWN, Attribute, EventType, Expression, Operation, negated
from ensue.analysis.special_calls import bind_case
from ensue.analysis.types import Type
from ensue.analysis.variables import Variable
from ensue.errors import Fix, Span
from ensue.language import tree

if TYPE_CHECKING:
    from ensue.analysis.columns import AggregateTerms


def report_list(kind: Type | None, span: Span, context: Context) -> None:
    """Report a list where single values of events are compared."""
    if kind is not None and kind.is_list:
        context.report(
            "E324",
            span,
            f"this is {kind.article}, and here one value of each event is needed",
            "lists are for conditions on one event: x['a' IN tags]",
        )


@dataclass(frozen=True, slots=True)
class Binder:
    """Binds expressions in a scope: the variables of a pattern, or one event inside X[…]."""

    context: Context
    variables: Mapping[str, Variable]
    event: Variable | None = None
    elsewhere: Callable[[str], str | None] = lambda _: None
    """Returns a hint for a variable that is bound in another part of the query."""
    aggregates: AggregateTerms | None = None
    """Where expressions are over aggregates: what collects these."""
    place: str = "a filter"
    """What an aggregate cannot stand in."""

    def within(self, variable: Variable) -> Binder:
        """Return the binder for the condition inside the brackets of a variable."""
        return replace(self, event=variable)

    def predicate(self, node: tree.Expression) -> Expression:
        """Bind an expression that must be true or false."""
        bound = self.bind(node)
        if bound.type not in (Type.BOOLEAN, Type.UNKNOWN):
            self.context.report(
                "E305",
                node.span,
                f"this is {bound.type.article}, but a condition is true or false",
                "compare it with something, such as price > 10",
            )
        return bound

    def bind(self, node: tree.Expression) -> Expression:
        """Bind an expression; one with an error is reported and bound to NULL."""
        bound: Expression = _BINDERS[type(node)](self, node)
        return bound

    # leaves

    def _constant(self, node: tree.Constant) -> Expression:
        constant = values.constant_of(node.value)
        if constant is None:
            self.context.report("E321", node.span, f"the number {node.value} needs 65 bits")
        return constant or UNKNOWN

    def _instant(self, node: tree.Instant) -> Expression:
        return values.bind_instant(node, self.context)

    def _duration(self, node: tree.Duration) -> Expression:
        return values.bind_duration(node, self.context)

    def _parameter(self, node: tree.Parameter) -> Expression:
        return values.bind_parameter(node, self.context)

    def _path(self, node: tree.Path) -> Expression:
        names = node.names
        if self.event is not None:
            if names == ("type",) and self.event.computed is None:
                return EventType()
            return self.attribute(names, self.event, node.span, inside=True)
        variable = self.variables.get(names[0])
        if len(names) == 1:
            self._report_bare(node, variable)
            return UNKNOWN
        if variable is None:
            self.report_variable(node.parts[0])
            return UNKNOWN
        if self.aggregates is not None:
            return self.aggregates.single_event(node, variable)
        if names[1:] == ("type",) and variable.computed is None:
            return EventType(variable.name)
        place = Span(node.parts[1].span.start, node.span.end)
        bound = self.attribute(names[1:], variable, place, inside=False)
        return replace(bound, variable=variable.name) if isinstance(bound, Attribute) else bound

    def attribute(
        self, path: tuple[str, ...], variable: Variable, span: Span, *, inside: bool
    ) -> Expression:
        """Resolve an attribute of the events bound to a variable."""
        if variable.computed is not None:
            known = variable.computed.get(".".join(path))
            if known is None:
                self._report_attribute(path, variable, span, list(variable.computed))
                return UNKNOWN
            return Attribute(path, known)
        if path == ("type",):
            return Attribute(path, Type.STRING)
        schema = self.context.schema
        kind = schema.type_of(path, variable.types)
        if kind is not None and not (
            kind is Type.UNKNOWN and inside and len(path) > 1 and path[0] == variable.name
        ):
            return Attribute(path, kind)
        if inside and path[0] == variable.name and len(path) > 1:
            rest = ".".join(path[1:])
            self.context.report(
                "E204",
                span,
                f"inside {variable.name}[…] an attribute stands without its variable",
                f"write '{rest}'",
                Fix(span, rest),
            )
        elif schema.has_prefix(path):
            name = ".".join(path)
            children = [each for each in schema.names(variable.types) if each.startswith(name)]
            self.context.report(
                "E205",
                span,
                f"'{name}' holds other attributes and has no value of its own",
                f"name one of them: {listing(children)}",
            )
        else:
            self._report_attribute(path, variable, span, schema.names(variable.types))
        return UNKNOWN

    def single_value(
        self, path: tuple[str, ...], variable: Variable, span: Span, *, inside: bool = False
    ) -> Type:
        """Resolve an attribute whose values are compared with one another: it holds no lists."""
        kind = self.attribute(path, variable, span, inside=inside).type
        report_list(kind, span, self.context)
        return kind

    def _report_attribute(
        self, path: tuple[str, ...], variable: Variable, span: Span, known: list[str]
    ) -> None:
        name = ".".join(path)
        owner = variable.name
        otherwise = f"{owner} has {listing(known)}" if known else f"{owner} has no attributes"
        message = f"unknown attribute '{name}' of {owner}"
        self.context.report_name("E201", span, message, name, known, otherwise)

    def report_variable(self, word: tree.Word) -> None:
        """Report a variable that the pattern does not bind."""
        known = list(self.variables)
        message = f"the pattern never binds '{word.text}'"
        hint = self.elsewhere(word.text)
        if hint is not None:
            self.context.report("E206", word.span, message, hint)
            return
        self.context.report_name(
            "E206",
            word.span,
            message,
            word.text,
            known,
            f"it binds {listing(known)}" if known else "it binds nothing",
        )

    def _report_bare(self, node: tree.Path, variable: Variable | None) -> None:
        name = node.names[0]
        if variable is not None:
            self.context.report(
                "E207",
                node.span,
                f"'{name}' is a variable; a condition compares its attributes",
                f"write {name}.attribute",
            )
            return
        owners = [
            each.name
            for each in self.variables.values()
            if self.context.schema.type_of((name,), each.types) is not None
        ]
        owner = owners[0] if owners else "x"
        fix = Fix(node.span, f"{owner}.{name}") if len(self.variables) == 1 and owners else None
        self.context.report(
            "E208",
            node.span,
            f"which event's '{name}'?",
            f"outside brackets an attribute follows its variable: {owner}.{name} or "
            f"{owner}[{name} …]",
            fix,
        )

    # logic

    def _logical(self, node: tree.Logical) -> Expression:
        operands = tuple(self.predicate(each) for each in node.operands)
        return Operation(node.operator.lower(), operands, Type.BOOLEAN)

    def _not(self, node: tree.Not) -> Expression:
        return Operation("not", (self.predicate(node.operand),), Type.BOOLEAN)

    def _is_null(self, node: tree.IsNull) -> Expression:
        return negated(Operation("is_null", (self.bind(node.operand),), Type.BOOLEAN), node.negated)

    def _outside_count(self, node: tree.Star | tree.Distinct) -> Expression:
        word = "*" if isinstance(node, tree.Star) else "DISTINCT"
        self.context.report(
            "E451",
            node.span,
            f"'{word}' stands in count({word}{' x.a' * (word != '*')}) only",
        )
        return UNKNOWN

    def _restriction(self, node: tree.Restriction) -> Expression:
        self.context.report(
            "E407",
            node.span,
            "brackets stand inside brackets or beside a sign",
            "X[…] is a condition of its own: join such conditions by AND or OR",
        )
        return UNKNOWN


_BINDERS: dict[type, Callable[[Binder, Any], Expression]] = {
    tree.Constant: Binder._constant,
    tree.Instant: Binder._instant,
    tree.Duration: Binder._duration,
    tree.Parameter: Binder._parameter,
    tree.Path: Binder._path,
    tree.Call: bind_call,
    tree.Negative: bind_negative,
    tree.Arithmetic: bind_arithmetic,
    tree.Comparison: bind_comparison,
    tree.Logical: Binder._logical,
    tree.Not: Binder._not,
    tree.Membership: bind_membership,
    tree.Range: bind_range,
    tree.Match: bind_match,
    tree.IsNull: Binder._is_null,
    tree.Case: bind_case,
    tree.Star: Binder._outside_count,
    tree.Distinct: Binder._outside_count,
    tree.Restriction: Binder._restriction,
}
