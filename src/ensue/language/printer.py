"""The printer: a syntax tree as text that parses to the same tree.

Parentheses are written only where the grammar needs them, and around both sides of NOT FOLLOWED BY.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from ensue.language import tree
from ensue.language.contextual import has_case_word
from ensue.language.tokens import quoted


def format_query(query: tree.Query) -> str:
    """Return a query as text, one clause a line.

    >>> from ensue.language.parser import parse
    >>> print(format_query(parse("select * from S where (A;B)+ within 1 MINUTE")))
    SELECT *
    FROM S
    WHERE (A ; B)+
    WITHIN 1 MINUTE
    """
    lines = [_stream(each) for each in query.streams]
    for derived in query.derived:
        lines.append(f"CREATE STREAM {quoted(derived.name.text)} AS")
        lines.append(format_query(derived.query) + " ;")
    lines.append(f"SELECT {_selection(query.select)}")
    lines.append(f"FROM {', '.join(quoted(word.text) for word in query.sources)}")
    lines.append(f"WHERE {_where(query)}")
    if query.partition:
        lines.append(
            "PARTITION BY " + ", ".join(f"[{quoted(word.text)}]" for word in query.partition)
        )
    if query.window is not None:
        lines.append(format_window(query.window))
    if query.consume is not None:
        lines.append(f"CONSUME BY {query.consume}")
    if query.limit is not None:
        lines.append(f"LIMIT {query.limit}")
    if query.every is not None:
        lines.append(f"EVERY {format_expression(query.every)}")
    return "\n".join(lines)


def _stream(stream: tree.StreamDeclaration) -> str:
    events = []
    for event in stream.events:
        fields = ", ".join(f"{_path(each.path)}: {quoted(each.type.text)}" for each in event.fields)
        events.append(f"  EVENT {quoted(event.name.text)} {{ {fields} }}")
    return f"CREATE STREAM {quoted(stream.name.text)} {{\n" + ",\n".join(events) + "\n} ;"


def _where(query: tree.Query) -> str:
    absence = query.not_followed
    if absence is None:
        return format_pattern(query.pattern)
    sides = [_at(each, _NAMED) for each in (query.pattern, absence.pattern)]
    return f"{sides[0]} NOT FOLLOWED BY {sides[1]} {format_window(absence.window)}"


def _selection(select: tree.Selection) -> str:
    items: list[str] = []
    if select.everything:
        items.append("*")
    elif not select.shown and not (select.columns and select.columns[0].counts_matches):
        items.append("NONE")
    for shown in select.shown:
        attributes = shown.attributes
        listed = "" if attributes is None else f"[{', '.join(map(_path, attributes))}]"
        items.append(_variable(shown.variable) + listed)
    items += [f"{_column(each)} AS {quoted(each.name.text)}" for each in select.columns]
    strategy = "" if select.strategy is None else f"{select.strategy.text} "
    return strategy + ", ".join(items)


def _column(column: tree.Column) -> str:
    """Write what SELECT computes; outside parentheses, brackets show a variable's attributes."""
    text, level = _expression(column.expression)
    shown = any(isinstance(each, tree.Restriction) for each in _below(column.expression))
    return f"({text})" if shown or level < _SUM else text


def _below(node: tree.Node) -> Iterator[tree.Node]:
    yield node
    for child in tree.children(node):
        yield from _below(child)


def format_window(window: tree.Window) -> str:
    """Return a WITHIN as text."""
    on = "" if window.attribute is None else f" [{_path(window.attribute)}]"
    if window.duration is not None:
        return f"WITHIN {format_expression(window.duration)}{on}"
    return f"WITHIN {window.amount}{on or ' EVENTS'}"


def _variable(word: tree.Word) -> str:
    return "ANY" if word.text == "ANY" else quoted(word.text)


def _path(path: tree.Path) -> str:
    first, *rest = path.parts
    return ".".join([_variable(first), *(quoted(word.text) for word in rest)])


# --- patterns: (text, level), a higher level binds tighter

_FILTER, _UNLESS, _OR, _AND, _ALL, _SEQUENCE, _CONTIGUOUS, _NAMED, _REPEATED, _ATOM = range(10)

_COMBINED = {"OR": _OR, "AND": _AND, "ALL": _ALL}


def format_pattern(pattern: tree.Pattern) -> str:
    """Return a pattern as text."""
    return _pattern(pattern)[0]


def _at(pattern: tree.Pattern, level: int) -> str:
    """Return a pattern as text, in parentheses if its level is lower than this."""
    text, own = _pattern(pattern)
    return text if own >= level else f"({text})"


def _pattern(pattern: tree.Pattern) -> tuple[str, int]:
    match pattern:
        case tree.Event(type=word, stream=stream):
            name = "ANY" if word is None else quoted(word.text)
            return (f"{quoted(stream.text)}>" if stream else "") + name, _ATOM
        case tree.Absent(pattern=inner):
            return f"NOT({format_pattern(inner)})", _ATOM
        case tree.Applied(function=function, pattern=inner):
            return f"{quoted(function.text)}({format_pattern(inner)})", _ATOM
        case tree.Within(pattern=inner, window=window):
            return f"({format_pattern(inner)} {format_window(window)})", _ATOM
        case tree.Repeated():
            return _at(pattern.pattern, _REPEATED) + _bounds(pattern), _REPEATED
        case tree.Named(pattern=inner, variable=word):
            return f"{_at(inner, _NAMED)} AS {quoted(word.text)}", _NAMED
        case tree.Sequence(items=items, contiguous=contiguous):
            level = _CONTIGUOUS if contiguous else _SEQUENCE
            sign = " : " if contiguous else " ; "
            return sign.join(_at(each, level + 1) for each in items), level
        case tree.Combined(operator=operator, items=items):
            level = _COMBINED[operator]
            return f" {operator} ".join(_at(each, level + 1) for each in items), level
        case tree.Unless(pattern=inner, absent=absent):
            return f"{_at(inner, _UNLESS)} UNLESS {_at(absent, _OR)}", _UNLESS
        case tree.Filtered(pattern=inner, condition=condition):
            return f"{_at(inner, _FILTER)} FILTER {format_expression(condition)}", _FILTER
        case tree.Aggregated(pattern=inner, variable=word, columns=columns):
            listed = ", ".join(
                f"{quoted(each.name.text)} = {_in(each.expression, _SUM)}" for each in columns
            )
            return f"{_at(inner, _FILTER)} AGGREGATE {quoted(word.text)}[{listed}]", _FILTER
        case tree.Projected(pattern=inner, variables=words):
            return f"{_at(inner, _FILTER)} PROJECT [{', '.join(map(_variable, words))}]", _FILTER
        case tree.Partitioned(pattern=inner, keys=keys):
            return f"{_at(inner, _FILTER)} PARTITION BY [{', '.join(map(_path, keys))}]", _FILTER


def _bounds(repeated: tree.Repeated) -> str:
    low, high = repeated.low, repeated.high
    colon = ":" if repeated.contiguous else ""
    if high is None and low <= 1:
        return colon + "*+"[low]
    if (low, high) == (0, 1) and not repeated.contiguous:
        return "?"
    if low == high:
        return f"{colon}{{{low}}}"
    return f"{colon}{{{low},{'' if high is None else high}}}"


# --- expressions, likewise

_OR_, _AND_, _NOT_, _COMPARE, _SUM, _PRODUCT, _FACTOR, _VALUE = range(8)


def format_expression(expression: tree.Expression) -> str:
    """Return an expression as text."""
    return _expression(expression)[0]


def _in(expression: tree.Expression, level: int) -> str:
    text, own = _expression(expression)
    return text if own >= level else f"({text})"


def _expression(node: tree.Expression) -> tuple[str, int]:
    match node:
        case tree.Constant(value=value):
            return _constant(value), _VALUE
        case tree.Instant(kind=kind, text=text):
            return f"{kind} {_string(text)}", _VALUE
        case tree.Duration(parts=parts):
            return " ".join(f"{_number(n)} {quoted(unit.text)}" for n, unit in parts), _VALUE
        case tree.Parameter(name=name):
            return f"${name}", _VALUE
        case tree.Path():
            return _path(node), _VALUE
        case tree.Call(function=function, arguments=arguments):
            listed = ", ".join(map(format_expression, arguments))
            return f"{quoted(function.text)}({listed})", _VALUE
        case tree.Star():
            return "*", _VALUE
        case tree.Distinct(operand=operand):
            return f"DISTINCT {format_expression(operand)}", _VALUE
        case tree.Case():
            return _case(node), _VALUE
        case tree.Restriction(variable=word, predicate=predicate):
            return f"{_variable(word)}[{format_expression(predicate)}]", _VALUE
        case tree.Negative(operand=operand):
            return f"- {_in(operand, _FACTOR)}", _FACTOR
        case tree.Arithmetic(operator=operator, left=left, right=right):
            level = _SUM if operator in "+-" else _PRODUCT
            return f"{_in(left, level)} {operator} {_in(right, level + 1)}", level
        case tree.Not(operand=operand):
            return f"NOT {_in(operand, _NOT_)}", _NOT_
        case tree.Logical(operator=operator, operands=operands):
            level = _OR_ if operator == "OR" else _AND_
            return f" {operator} ".join(_in(each, level + 1) for each in operands), level
        case _:
            return _compared(node), _COMPARE


def _case(node: tree.Case) -> str:
    branches = [f"WHEN {_part(test)} THEN {_part(value)}" for test, value in node.branches]
    if node.otherwise is not None:
        branches.append(f"ELSE {_part(node.otherwise)}")
    return f"CASE {' '.join(branches)} END"


def _part(expression: tree.Expression) -> str:
    """Write a part of CASE; in parentheses, THEN or END may be names."""
    text = format_expression(expression)
    return f"({text})" if has_case_word(text) else text


def _compared(node: tree.Expression) -> str:
    match node:
        case tree.Comparison(operator=operator, left=left, right=right):
            return f"{_in(left, _SUM)} {operator} {_in(right, _SUM)}"
        case tree.Membership(operand=operand, choices=choices, negated=negated):
            if isinstance(choices, tree.Parameter):
                listed = f"${choices.name}"
            elif isinstance(choices, tree.Path):
                listed = _path(choices)
            else:
                listed = f"({', '.join(map(format_expression, choices))})"
            return f"{_in(operand, _SUM)} {_not(negated)}IN {listed}"
        case tree.Range(operand=operand, low=low, high=high, negated=negated):
            bounds = f"{_in(low, _SUM)} AND {_in(high, _SUM)}"
            return f"{_in(operand, _SUM)} {_not(negated)}BETWEEN {bounds}"
        case tree.Match(operator=operator, operand=operand, pattern=pattern, negated=negated):
            return f"{_in(operand, _SUM)} {_not(negated)}{operator} {_in(pattern, _SUM)}"
        case tree.IsNull(operand=operand, negated=negated):
            return f"{_in(operand, _SUM)} IS {_not(negated)}NULL"
    raise AssertionError(node)


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


def _constant(value: bool | int | Decimal | str | None) -> str:
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    return _string(value) if isinstance(value, str) else _number(value)


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _number(value: int | Decimal) -> str:
    """Return a number as text that parses to the same number of the same type."""
    text = str(value)
    if isinstance(value, Decimal) and text.isdigit():
        return text + "."
    return text
