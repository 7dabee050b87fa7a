"""Expressions bound to variables, attributes and types."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ensue.analysis import values
from ensue.analysis.context import Context, listing
from ensue.analysis.expressions import (
    UNKNOWN,
    Attribute,
    Constant,
    EventType,
    Expression,
    OneOf,
    Operation,
    paths_of,
)
from ensue.analysis.functions import AGGREGATES, FUNCTIONS, TRENDS
from ensue.analysis.hyphens import report_hyphen
from ensue.analysis.types import Type, comparable, joined
from ensue.analysis.variables import Variable
from ensue.errors import Fix, Span
from ensue.language import tree
from ensue.language.printer import format_expression
from ensue.messages import Message, Option


def report_list(kind: Type | None, span: Span, context: Context) -> None:
    """Say that a list stands where values are compared with those of other events."""
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
    """Says where in the query a variable is bound that the pattern does not bind."""

    def within(self, variable: Variable) -> Binder:
        """Return the binder for what stands inside the brackets of a variable."""
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
        """Bind any expression; what cannot be bound is reported and stands as NULL."""
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
        """Say that nothing in the pattern is called so."""
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
        return _negated(
            Operation("is_null", (self.bind(node.operand),), Type.BOOLEAN), node.negated
        )

    def _restriction(self, node: tree.Restriction) -> Expression:
        self.context.report(
            "E407",
            node.span,
            "brackets stand inside brackets or beside a sign",
            "X[…] is a condition of its own: join such conditions by AND or OR",
        )
        return UNKNOWN

    # comparisons

    def _comparison(self, node: tree.Comparison) -> Expression:
        left, right = self.bind(node.left), self.bind(node.right)
        return self._compared(node.operator, left, right, node)

    def _compared(
        self, operator: str, left: Expression, right: Expression, node: tree.Expression
    ) -> Expression:
        left, right = self._on_clock(left, right, node.span)
        left, right = _as_literals(left, right)
        if not comparable(left.type, right.type):
            self._report_comparison(left, right, node)
            return UNKNOWN
        return Operation(operator, (left, right), Type.BOOLEAN)

    def _report_comparison(
        self, left: Expression, right: Expression, node: tree.Expression
    ) -> None:
        message = f"{left.type.article} is compared with {right.type.article}"
        hint: str | None = None
        fix: Fix | None = None
        if left.type.is_list or right.type.is_list:
            hint = _LIST_HINT
        elif isinstance(node, tree.Comparison):
            hint, fix = _quoting_hint(node.left, left, right) or (None, None)
            if hint is None:
                hint, fix = _quoting_hint(node.right, right, left) or (None, None)
        self.context.report("E306", node.span, message, hint, fix)

    def _range(self, node: tree.Range) -> Expression:
        operand, low, high = self.bind(node.operand), self.bind(node.low), self.bind(node.high)
        bounds = (
            self._compared(">=", operand, low, node),
            self._compared("<=", operand, high, node),
        )
        return _negated(Operation("and", bounds, Type.BOOLEAN), node.negated)

    def _membership(self, node: tree.Membership) -> Expression:
        if isinstance(node.choices, tree.Path):
            return _negated(self._in_list(node.operand, node.choices, node.span), node.negated)
        operand = self.bind(node.operand)
        if isinstance(node.choices, tree.Parameter):
            span = node.choices.span
            choices: list[Expression] = list(values.bind_list(node.choices, self.context))
        else:
            span = node.span
            choices = [self.bind(each) for each in node.choices]
        choices = [_as_literals(operand, each)[1] for each in choices]
        wrong = next((each for each in choices if not comparable(operand.type, each.type)), None)
        if wrong is not None:
            self.context.report(
                "E307",
                span,
                f"{operand.type.article} is looked up in a list with {wrong.type.article}",
                _LIST_HINT if operand.type.is_list else None,
            )
            return UNKNOWN
        constants = [each for each in choices if isinstance(each, Constant)]
        if len(constants) == len(choices):
            found = frozenset(each.value for each in constants if each.value is not None)
            with_null = any(each.value is None for each in constants)
            return _negated(OneOf(operand, found, with_null), node.negated)
        equal = tuple(Operation("=", (operand, each), Type.BOOLEAN) for each in choices)
        return _negated(Operation("or", equal, Type.BOOLEAN), node.negated)

    def _in_list(self, element: tree.Expression, given: tree.Expression, span: Span) -> Expression:
        """Bind the question whether an attribute that holds a list has some element."""
        found, wanted = self.bind(given), self.bind(element)
        if not (found.type.is_list or found.type is Type.UNKNOWN):
            self.context.report(
                "E323",
                given.span,
                f"this is {found.type.article}, but IN needs a list",
                "for one value write =; values to choose from stand in parentheses: IN (x, y)",
            )
            return UNKNOWN
        wanted = _computed(wanted)
        if not comparable(found.type.element, wanted.type):
            self.context.report(
                "E307", span, f"{wanted.type.article} is looked up in {found.type.article}"
            )
            return UNKNOWN
        return Operation("has", (found, wanted), Type.BOOLEAN)

    def _match(self, node: tree.Match) -> Expression:
        operand, pattern = self.bind(node.operand), self.bind(node.pattern)
        if operand.type not in (Type.STRING, Type.UNKNOWN):
            self.context.report(
                "E308",
                node.operand.span,
                f"{node.operator} is about strings, but this is {operand.type.article}",
            )
        if not isinstance(pattern, Constant) or pattern.type not in (Type.STRING, Type.UNKNOWN):
            self.context.report(
                "E309",
                node.pattern.span,
                f"the pattern of {node.operator} must be a string",
                "write it in quotes, or give it as a parameter",
            )
            return UNKNOWN
        if node.operator == "RLIKE" and isinstance(pattern.value, str):
            wrong = _regex_error(pattern.value)
            if wrong is not None:
                self.context.report(
                    "E310",
                    node.pattern.span,
                    f"this is not a regular expression: {wrong}",
                    "the syntax is RE2's; lookaround and backreferences are not part of it",
                )
                return UNKNOWN
        return _negated(
            Operation(node.operator.lower(), (operand, pattern), Type.BOOLEAN), node.negated
        )

    # arithmetic

    def _negative(self, node: tree.Negative) -> Expression:
        if isinstance(node.operand, tree.Constant) and node.operand.value == 2**63:
            return Constant(-(2**63), Type.INT)
        operand = self.bind(node.operand)
        if isinstance(operand, Constant) and operand.type.is_number:
            number: Any = operand.value
            if number != -(2**63):
                return Constant(-number, operand.type)
        if operand.type in (Type.INT, Type.DURATION, Type.UNKNOWN):
            return Operation("negative", (operand,), operand.type)
        if not operand.type.is_number:
            self.context.report("E311", node.span, f"{operand.type.article} has no negative")
            return UNKNOWN
        return Operation("negative", (operand,), Type.DOUBLE)

    def _arithmetic(self, node: tree.Arithmetic) -> Expression:
        if report_hyphen(node, self.context, self.variables, self.event):
            return UNKNOWN
        left, right = self.bind(node.left), self.bind(node.right)
        if node.operator in "+-":
            left, right = self._on_clock(left, right, node.span)
        kind = _result(node.operator, left.type, right.type)
        if kind is None:
            self.context.report(
                "E312",
                node.span,
                f"'{node.operator}' does not go with {left.type.article} and {right.type.article}",
                _arithmetic_hint(left.type, right.type),
            )
            return UNKNOWN
        return Operation(node.operator, (_computed(left), _computed(right)), kind)

    def _on_clock(
        self, left: Expression, right: Expression, span: Span
    ) -> tuple[Expression, Expression]:
        """Give a duration beside the integer time column the unit of that column."""
        if left.type is Type.DURATION and right.type.is_number:
            return self._in_units(left, right, span), right
        if right.type is Type.DURATION and left.type.is_number:
            return left, self._in_units(right, left, span)
        return left, right

    def _in_units(self, duration: Expression, number: Expression, span: Span) -> Expression:
        clock = self.context.clock
        if not clock.known:
            return replace(UNKNOWN)
        unit = clock.nanoseconds
        paths = paths_of(number)
        if unit is None or paths != {clock.column} or not isinstance(duration, Constant):
            column = ".".join(clock.column) if clock.column else None
            hint = (
                Message(f"'{column}' is the time column: say its unit with ", Option("time_unit"))
                if paths == {clock.column}
                else "a duration goes with timestamps and with the time column"
            )
            self.context.report("E313", span, "a duration beside a plain number", hint)
            return UNKNOWN
        assert isinstance(duration.value, int)
        whole, rest = divmod(duration.value, unit)
        if rest:
            return Constant(duration.value / unit, Type.DOUBLE)
        return Constant(whole, Type.INT)

    # functions

    def _call(self, node: tree.Call) -> Expression:
        name = node.function.text.lower()
        if name == "coalesce":
            return self._coalesce(node)
        function = FUNCTIONS.get(name)
        if function is None:
            self._report_function(node, name)
            return UNKNOWN
        if len(node.arguments) != len(function.parameters):
            count = len(function.parameters)
            self.context.report(
                "E314",
                node.span,
                f"{name} takes {count} argument{'s' * (count != 1)}, not {len(node.arguments)}",
            )
            return UNKNOWN
        arguments = tuple(self.bind(each) for each in node.arguments)
        if name == "contains" and (
            arguments[0].type.is_list
            or (arguments[0].type is Type.UNKNOWN and arguments[1].type not in _TEXTS)
        ):
            return self._in_list(node.arguments[1], node.arguments[0], node.span)
        for argument, (words, types), place in zip(
            arguments, function.parameters, node.arguments, strict=True
        ):
            if argument.type not in types and argument.type is not Type.UNKNOWN:
                self.context.report(
                    "E315", place.span, f"{name} takes {words}, but this is {argument.type.article}"
                )
                return UNKNOWN
        arguments = tuple(_computed(each) for each in arguments)
        return Operation(name, arguments, function.result(tuple(each.type for each in arguments)))

    def _coalesce(self, node: tree.Call) -> Expression:
        if not node.arguments:
            self.context.report("E314", node.span, "coalesce takes at least one argument")
            return UNKNOWN
        arguments = tuple(_computed(self.bind(each)) for each in node.arguments)
        kind = arguments[0].type
        for argument in arguments[1:]:
            both = joined(kind, argument.type)
            if both is None:
                self.context.report(
                    "E316", node.span, f"coalesce mixes {kind.article} and {argument.type.article}"
                )
                return UNKNOWN
            kind = both
        return Operation("coalesce", arguments, kind)

    def _report_function(self, node: tree.Call, name: str) -> None:
        if name in AGGREGATES:
            written = format_expression(node)
            self.context.report(
                "E408",
                node.span,
                f"the aggregate {name} cannot stand in a filter",
                f"compute it first: AGGREGATE Y[t = {written}], then FILTER Y[t …]",
            )
        elif name in TRENDS:
            self.context.report(
                "E409",
                node.span,
                f"{name} is about all events of a variable and stands alone in its brackets",
                f"write x[{name}(attribute)]; join conditions by AND outside the brackets",
            )
        else:
            known = [*FUNCTIONS, "coalesce"]
            self.context.report_name(
                "E209",
                node.function.span,
                f"unknown function '{node.function.text}'",
                name,
                [*known, *TRENDS],
                f"the functions are {listing(known, 30)}",
            )


_BINDERS: dict[type, Callable[[Binder, Any], Expression]] = {
    tree.Constant: Binder._constant,
    tree.Instant: Binder._instant,
    tree.Duration: Binder._duration,
    tree.Parameter: Binder._parameter,
    tree.Path: Binder._path,
    tree.Call: Binder._call,
    tree.Negative: Binder._negative,
    tree.Arithmetic: Binder._arithmetic,
    tree.Comparison: Binder._comparison,
    tree.Logical: Binder._logical,
    tree.Not: Binder._not,
    tree.Membership: Binder._membership,
    tree.Range: Binder._range,
    tree.Match: Binder._match,
    tree.IsNull: Binder._is_null,
    tree.Restriction: Binder._restriction,
}


_TEXTS = (Type.STRING, Type.UNKNOWN)
_LIST_HINT = "ask what a list holds: 'x' IN tags, contains(tags, 'x'), length(tags)"


def _negated(expression: Expression, negated: bool) -> Expression:
    return Operation("not", (expression,), Type.BOOLEAN) if negated else expression


def _computed(expression: Expression) -> Expression:
    """Decimals are computed as doubles, so a literal is read as one at once."""
    return values.as_double(expression) if isinstance(expression, Constant) else expression


def _as_literals(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """Read a literal with a point as a decimal beside a decimal, as a double beside the rest."""
    if left.type is not Type.DECIMAL or isinstance(left, Constant):
        right = _computed(right)
    if right.type is not Type.DECIMAL or isinstance(right, Constant):
        left = _computed(left)
    return left, right


def _result(operator: str, left: Type, right: Type) -> Type | None:
    """Return the type of left operator right, or None where there is no such thing."""
    if Type.UNKNOWN in (left, right):
        other = right if left is Type.UNKNOWN else left
        wrong = other in (Type.STRING, Type.BOOLEAN) or other.is_list
        return None if wrong else Type.UNKNOWN
    if left.is_number and right.is_number:
        whole = left is Type.INT and right is Type.INT and operator != "/"
        return Type.INT if whole else Type.DOUBLE
    return _TIMES.get((operator, _family(left), _family(right)))


def _family(kind: Type) -> str:
    return "number" if kind.is_number else "time" if kind.is_time else kind.value


_TIMES = {
    ("+", "time", "duration"): Type.TIMESTAMP,
    ("+", "duration", "time"): Type.TIMESTAMP,
    ("-", "time", "duration"): Type.TIMESTAMP,
    ("-", "time", "time"): Type.DURATION,
    ("+", "duration", "duration"): Type.DURATION,
    ("-", "duration", "duration"): Type.DURATION,
    ("*", "duration", "number"): Type.DURATION,
    ("*", "number", "duration"): Type.DURATION,
    ("/", "duration", "number"): Type.DURATION,
    ("/", "duration", "duration"): Type.DOUBLE,
}


def _arithmetic_hint(left: Type, right: Type) -> str | None:
    if left.is_list or right.is_list:
        return _LIST_HINT
    if Type.STRING in (left, right):
        return "strings are compared, not computed with"
    if {_family(left), _family(right)} == {"time", "number"}:
        return "add a duration, such as 5 MINUTES"
    return None


def _quoting_hint(
    node: tree.Expression, bound: Expression, other: Expression
) -> tuple[str, Fix | None] | None:
    """Propose to put a number into quotes, or to take a number out of them."""
    if not isinstance(node, tree.Constant):
        return None
    if other.type is Type.STRING and bound.type.is_number:
        text = f"'{format_expression(node)}'"
        return f"did you mean the string {text}?", Fix(node.span, text)
    if other.type.is_number and isinstance(node.value, str):
        try:
            float(node.value)
        except ValueError:
            return None
        if re.match(r"0\d", node.value):
            name = f"'{'.'.join(other.path)}'" if isinstance(other, Attribute) else "the column"
            return (
                Message(
                    f"numbers have no leading zeros; where {name} holds codes such as "
                    f"'{node.value}', have it read as strings: declare it as string in ",
                    Option("schema"),
                ),
                None,
            )
        return f"did you mean the number {node.value}?", Fix(node.span, node.value.strip())
    if other.type.is_time and isinstance(node.value, str):
        text = f"{other.type.name} '{node.value}'"
        return f"did you mean {text}?", Fix(node.span, text)
    return None


def _regex_error(pattern: str) -> str | None:
    """Return what RE2 has against a pattern, or None."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        pc.match_substring_regex(pa.scalar(""), pattern=pattern)
    except pa.ArrowInvalid as error:
        return str(error).removeprefix("Invalid regular expression: ")
    return None
