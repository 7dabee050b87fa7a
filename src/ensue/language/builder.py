"""The builder: one method for each alias of the grammar, which makes its node from the children."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from ensue.errors import (
    CeqlError,
    CeqlSemanticError,
    CeqlSyntaxError,
    Diagnostic,
    Fix,
    Source,
    Span,
)
from ensue.language import tree
from ensue.language.tokens import Token


class Builder:
    """Makes nodes; children come with the tokens between them, which most methods ignore."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def build(self, alias: str, span: Span, values: list[Any]) -> Any:
        make: Callable[..., Any] = getattr(self, alias)
        return make(span, *values)

    def _fail(
        self, code: str, span: Span, message: str, hint: str | None = None, fix: Fix | None = None
    ) -> CeqlError:
        kind = CeqlSyntaxError if code.startswith("E1") else CeqlSemanticError
        return kind(Diagnostic(code, span, message, hint, fix), self.source)

    # lists and single values

    def none(self, _: Span) -> None:
        return None

    def one(self, _: Span, value: Any) -> list[Any]:
        return [value]

    def one_word(self, _: Span, token: Token) -> list[tree.Word]:
        return [_word(token)]

    def two(self, _: Span, left: Any, __: Token, right: Any) -> list[Any]:
        return [left, right]

    def more(self, _: Span, values: list[Any], value: Any) -> list[Any]:
        values.append(value)
        return values

    def more_listed(self, _: Span, values: list[Any], __: Token, value: Any) -> list[Any]:
        values.append(value)
        return values

    def more_words(self, _: Span, values: list[Any], __: Token, value: Token) -> list[Any]:
        values.append(_word(value))
        return values

    def joined(self, _: Span, left: list[Any], __: Token, right: list[Any]) -> list[Any]:
        return left + right

    def middle(self, _: Span, __: Token, value: Any, ___: Token) -> Any:
        return value

    def second(self, _: Span, __: Token, value: Any) -> Any:
        return value

    def second_of_two(self, _: Span, __: Token, ___: Token, value: Any) -> Any:
        return value

    def word(self, _: Span, token: Token) -> tree.Word:
        return _word(token)

    def path(self, span: Span, words: list[tree.Word]) -> tree.Path:
        return tree.Path(tuple(words), span=span)

    def dotted(self, span: Span, first: tree.Word, _: Token, rest: list[tree.Word]) -> tree.Path:
        return tree.Path((first, *rest), span=span)

    # statements

    def with_streams(
        self, span: Span, streams: list[tree.StreamDeclaration], query: tree.Query
    ) -> tree.Query:
        return tree.Query(
            tuple(streams),
            query.select,
            query.sources,
            query.pattern,
            query.partition,
            query.window,
            query.consume,
            query.limit,
            query.every,
            span=span,
        )

    def stream(
        self, span: Span, create: Token, stream: Token, name: Token, _: Token, events: Any, *__: Any
    ) -> tree.StreamDeclaration:
        self._keyword(create, "CREATE")
        self._keyword(stream, "STREAM")
        return tree.StreamDeclaration(_word(name), tuple(events), span=span)

    def event_declaration(
        self, span: Span, event: Token, name: Token, _: Token, declared: Any, __: Token
    ) -> tree.EventDeclaration:
        self._keyword(event, "EVENT")
        return tree.EventDeclaration(_word(name), tuple(declared), span=span)

    def empty_declaration(
        self, span: Span, event: Token, name: Token, _: Token, __: Token
    ) -> tree.EventDeclaration:
        self._keyword(event, "EVENT")
        return tree.EventDeclaration(_word(name), (), span=span)

    def field_declaration(
        self, span: Span, path: tree.Path, _: Token, type_name: Token
    ) -> tree.FieldDeclaration:
        return tree.FieldDeclaration(path, _word(type_name), span=span)

    def _keyword(self, token: Token, wanted: str) -> None:
        if token.text.upper() != wanted:
            raise self._fail(
                "E113",
                token.span,
                f"found '{token.text}', expected {wanted}",
                f"write {wanted}",
                Fix(token.span, wanted),
            )

    def query(
        self,
        span: Span,
        _: Token,
        select: tree.Selection,
        __: Token,
        sources: list[tree.Word],
        ___: Token,
        pattern: tree.Pattern,
        partition: list[tree.Word] | None,
        window: tree.Window | None,
        consume: Any,
        limit: int | None,
        every: tree.Duration | None,
    ) -> tree.Query:
        groups = tuple(partition or ())
        return tree.Query(
            (), select, tuple(sources), pattern, groups, window, consume, limit, every, span=span
        )

    # what SELECT lists

    def plain_selection(self, span: Span, selection: tree.Selection) -> tree.Selection:
        return tree.Selection(
            None, selection.everything, selection.shown, selection.columns, span=span
        )

    def selection(
        self, span: Span, strategy: tree.Word, selection: tree.Selection
    ) -> tree.Selection:
        known = {"ALL", "NEXT", "LAST", "MAX", "STRICT"}
        upper = strategy.text.upper()
        if upper not in known:
            raise self._fail(
                "E114",
                strategy.span,
                f"'{strategy.text}' is not a selection strategy",
                "the strategies are ALL, NEXT, LAST, MAX and STRICT; between variables stands ','",
            )
        word = None if upper == "ALL" else tree.Word(upper, span=strategy.span)
        return tree.Selection(
            word, selection.everything, selection.shown, selection.columns, span=span
        )

    def everything(self, span: Span, *rest: Any) -> tree.Selection:
        return tree.Selection(None, True, (), tuple(rest[2]) if len(rest) > 1 else (), span=span)

    def nothing(self, span: Span, *rest: Any) -> tree.Selection:
        return tree.Selection(None, False, (), tuple(rest[2]) if len(rest) > 1 else (), span=span)

    def listed(self, span: Span, items: list[tree.Shown | tree.Aggregate]) -> tree.Selection:
        shown = tuple(item for item in items if isinstance(item, tree.Shown))
        columns = tuple(item for item in items if isinstance(item, tree.Aggregate))
        return tree.Selection(None, False, shown, columns, span=span)

    def shown(self, span: Span, variable: tree.Word) -> tree.Shown:
        return tree.Shown(variable, span=span)

    def shown_attributes(
        self, span: Span, variable: tree.Word, _: Token, paths: list[tree.Path], __: Token
    ) -> tree.Shown:
        return tree.Shown(variable, tuple(paths), span=span)

    def star(self, _: Span, __: Token) -> None:
        return None

    def unnamed_column(
        self, span: Span, function: Token, _: Token, argument: tree.Path | None, __: Token
    ) -> tree.Aggregate:
        if argument is None:
            name = function.text.lower()
        else:
            name = f"{function.text.lower()}({'.'.join(argument.names)})"
        return tree.Aggregate(tree.Word(name, span=span), _word(function), argument, span=span)

    def column(
        self,
        span: Span,
        function: Token,
        _: Token,
        argument: tree.Path | None,
        __: Token,
        ___: Token,
        name: Token,
    ) -> tree.Aggregate:
        return tree.Aggregate(_word(name), _word(function), argument, span=span)

    # clauses

    def window_units(
        self, span: Span, _: Token, amount: Token, __: Token, path: tree.Path, ___: Token
    ) -> tree.Window:
        return tree.Window(int(amount.value), None, path, span=span)

    def window(self, span: Span, _: Token, duration: tree.Duration) -> tree.Window:
        return self._window(span, duration, None)

    def window_on(
        self, span: Span, _: Token, duration: tree.Duration, __: Token, path: tree.Path, ___: Token
    ) -> tree.Window:
        return self._window(span, duration, path)

    def _window(self, span: Span, duration: tree.Duration, path: tree.Path | None) -> tree.Window:
        units = [unit.text.upper() for _, unit in duration.parts]
        if "EVENTS" not in units and "EVENT" not in units:
            return tree.Window(None, duration, path, span=span)
        amount, unit = duration.parts[0]
        if len(units) > 1 or path is not None:
            raise self._fail(
                "E402",
                duration.span,
                "a window in EVENTS is not mixed with time",
                "write either WITHIN 100 EVENTS or WITHIN 10 MINUTES",
            )
        if not isinstance(amount, int):
            raise self._fail(
                "E403", duration.span, f"{amount} {unit.text} is not a whole number of events"
            )
        return tree.Window(amount, None, None, span=span)

    def consume(self, _: Span, __: Token, ___: Token, what: Token) -> str:
        return what.kind

    def limit(self, span: Span, _: Token, number: Token) -> int:
        if number.value == 0:
            raise self._fail("E404", span, "LIMIT 0 reports nothing", "write LIMIT 1 or more")
        return int(number.value)

    # patterns

    def filtered(
        self, span: Span, pattern: Any, _: Token, condition: tree.Expression
    ) -> tree.Filtered:
        return tree.Filtered(pattern, condition, span=span)

    def aggregated(
        self, span: Span, pattern: Any, _: Token, name: Token, __: Token, columns: Any, ___: Token
    ) -> tree.Aggregated:
        return tree.Aggregated(pattern, _word(name), tuple(columns), span=span)

    def aggregate(
        self, span: Span, name: Token, _: Token, function: Token, *rest: Any
    ) -> tree.Aggregate:
        return tree.Aggregate(_word(name), _word(function), rest[1], span=span)

    def projected(
        self, span: Span, pattern: Any, _: Token, __: Token, variables: list[Any], ___: Token
    ) -> tree.Projected:
        return tree.Projected(pattern, _words(variables), span=span)

    def partitioned(self, span: Span, pattern: Any, *rest: Any) -> tree.Partitioned:
        return tree.Partitioned(pattern, tuple(rest[3]), span=span)

    def unless(self, span: Span, pattern: Any, _: Token, absent: Any) -> tree.Unless:
        return tree.Unless(pattern, absent, span=span)

    def either(self, span: Span, items: list[Any]) -> tree.Combined:
        return tree.Combined("OR", tuple(items), span=span)

    def both(self, span: Span, items: list[Any]) -> tree.Combined:
        return tree.Combined("AND", tuple(items), span=span)

    def together(self, span: Span, items: list[Any]) -> tree.Combined:
        return tree.Combined("ALL", tuple(items), span=span)

    def sequence(self, span: Span, items: list[Any]) -> tree.Sequence:
        return tree.Sequence(tuple(items), contiguous=False, span=span)

    def contiguous(self, span: Span, items: list[Any]) -> tree.Sequence:
        return tree.Sequence(tuple(items), contiguous=True, span=span)

    def named(self, span: Span, pattern: Any, _: Token, name: Token) -> tree.Named:
        return tree.Named(pattern, _word(name), span=span)

    def plus(self, span: Span, pattern: Any, _: Token) -> tree.Repeated:
        return tree.Repeated(pattern, 1, None, contiguous=False, span=span)

    def star_pattern(self, span: Span, pattern: Any, _: Token) -> tree.Repeated:
        return tree.Repeated(pattern, 0, None, contiguous=False, span=span)

    def optional(self, span: Span, pattern: Any, _: Token) -> tree.Repeated:
        return tree.Repeated(pattern, 0, 1, contiguous=False, span=span)

    def contiguous_plus(self, span: Span, pattern: Any, _: Token) -> tree.Repeated:
        return tree.Repeated(pattern, 1, None, contiguous=True, span=span)

    def contiguous_star(self, span: Span, pattern: Any, _: Token) -> tree.Repeated:
        return tree.Repeated(pattern, 0, None, contiguous=True, span=span)

    def exactly(self, _: Span, number: Token) -> tuple[int, int]:
        return int(number.value), int(number.value)

    def at_least(self, _: Span, number: Token, __: Token) -> tuple[int, None]:
        return int(number.value), None

    def from_to(self, span: Span, low: Token, _: Token, high: Token) -> tuple[int, int]:
        first, last = int(low.value), int(high.value)
        if first > last:
            raise self._fail(
                "E405",
                span,
                f"{{{first},{last}}} is empty: {first} is more than {last}",
                f"did you mean {{{last},{first}}}?",
                Fix(span, f"{last},{first}"),
            )
        return first, last

    def counted(
        self, span: Span, pattern: Any, brace: Token, bounds: tuple[int, int | None], _: Token
    ) -> tree.Repeated:
        low, high = bounds
        if high == 0:
            raise self._fail(
                "E406", Span(brace.span.start, span.end), "a pattern repeated no times is nothing"
            )
        return tree.Repeated(pattern, low, high, contiguous=brace.kind == ":{", span=span)

    def event(self, span: Span, name: Token) -> tree.Event:
        return tree.Event(_word(name), span=span)

    def event_of(self, span: Span, stream: Token, _: Token, name: Token) -> tree.Event:
        return tree.Event(_word(name), _word(stream), span=span)

    def any_event(self, span: Span, _: Token) -> tree.Event:
        return tree.Event(None, span=span)

    def absent(self, span: Span, _: Token, __: Token, pattern: Any, ___: Token) -> tree.Absent:
        return tree.Absent(pattern, span=span)

    def applied(self, span: Span, name: Token, _: Token, pattern: Any, __: Token) -> tree.Applied:
        return tree.Applied(_word(name), pattern, span=span)

    # expressions

    def disjunction(self, span: Span, operands: list[Any]) -> tree.Logical:
        return tree.Logical("OR", tuple(operands), span=span)

    def conjunction(self, span: Span, operands: list[Any]) -> tree.Logical:
        return tree.Logical("AND", tuple(operands), span=span)

    def not_(self, span: Span, _: Token, operand: Any) -> tree.Not:
        return tree.Not(operand, span=span)

    def comparison(self, span: Span, left: Any, sign: Token, right: Any) -> tree.Comparison:
        operator = {"==": "=", "<>": "!="}.get(sign.kind, sign.kind)
        return tree.Comparison(operator, left, right, span=span)

    def membership(self, span: Span, operand: Any, _: Token, choices: Any) -> tree.Membership:
        return self._membership(span, operand, choices, False)

    def not_membership(
        self, span: Span, operand: Any, _: Token, __: Token, choices: Any
    ) -> tree.Membership:
        return self._membership(span, operand, choices, True)

    def _membership(self, span: Span, operand: Any, choices: Any, negated: bool) -> tree.Membership:
        if isinstance(choices, list):
            choices = tuple(choices)
        return tree.Membership(operand, choices, negated, span=span)

    def range_call(
        self, span: Span, operand: Any, _: Token, name: Token, __: Token, low: Any, *rest: Any
    ) -> tree.Range:
        return self._range(span, operand, name, low, rest[1], False)

    def not_range_call(
        self, span: Span, operand: Any, _: Token, __: Token, name: Token, *rest: Any
    ) -> tree.Range:
        return self._range(span, operand, name, rest[1], rest[3], True)

    def _range(
        self, span: Span, operand: Any, name: Token, low: Any, high: Any, negated: bool
    ) -> tree.Range:
        self._keyword(name, "RANGE")
        return tree.Range(operand, low, high, negated, span=span)

    def between(self, span: Span, operand: Any, _: Token, low: Any, *rest: Any) -> tree.Range:
        return tree.Range(operand, low, rest[1], False, span=span)

    def not_between(self, span: Span, operand: Any, *rest: Any) -> tree.Range:
        return tree.Range(operand, rest[2], rest[4], True, span=span)

    def match(self, span: Span, operand: Any, word: Token, pattern: Any) -> tree.Match:
        kind: Any = word.kind
        return tree.Match(kind, operand, pattern, False, span=span)

    def not_match(
        self, span: Span, operand: Any, _: Token, word: Token, pattern: Any
    ) -> tree.Match:
        kind: Any = word.kind
        return tree.Match(kind, operand, pattern, True, span=span)

    def is_null(self, span: Span, operand: Any, _: Token, __: Token) -> tree.IsNull:
        return tree.IsNull(operand, False, span=span)

    def is_not_null(self, span: Span, operand: Any, *_: Token) -> tree.IsNull:
        return tree.IsNull(operand, True, span=span)

    def arithmetic(self, span: Span, left: Any, sign: Token, right: Any) -> tree.Arithmetic:
        return tree.Arithmetic(sign.kind, left, right, span=span)

    def negative(self, span: Span, _: Token, operand: Any) -> tree.Negative:
        return tree.Negative(operand, span=span)

    def constant(self, span: Span, token: Token) -> tree.Constant:
        words: dict[str, Any] = {"TRUE": True, "FALSE": False, "NULL": None}
        return tree.Constant(words.get(token.kind, token.value), span=span)

    def parameter(self, span: Span, token: Token) -> tree.Parameter:
        return tree.Parameter(str(token.value), span=span)

    def instant(self, span: Span, kind: Token, text: Token) -> tree.Instant:
        upper = kind.text.upper()
        if upper not in ("TIMESTAMP", "DATE"):
            raise self._fail(
                "E115",
                kind.span,
                f"found '{kind.text}' before a string",
                "only TIMESTAMP '…' and DATE '…' stand before a string",
            )
        word: Any = upper
        return tree.Instant(word, str(text.value), span=span)

    def call(self, span: Span, name: Token, _: Token, *rest: Any) -> tree.Call:
        arguments = rest[0] if len(rest) > 1 else ()
        return tree.Call(_word(name), tuple(arguments), span=span)

    def restriction(
        self, span: Span, variable: tree.Word, _: Token, predicate: Any, __: Token
    ) -> tree.Restriction:
        return tree.Restriction(variable, predicate, span=span)

    def duration(self, span: Span, parts: list[tuple[int | Decimal, tree.Word]]) -> tree.Duration:
        return tree.Duration(tuple(parts), span=span)

    def amount(self, _: Span, number: Token, unit: Token) -> tuple[int | Decimal, tree.Word]:
        assert not isinstance(number.value, str)
        return number.value, _word(unit)


def _words(values: list[Any]) -> tuple[tree.Word, ...]:
    return tuple(_word(value) if isinstance(value, Token) else value for value in values)


def _word(token: Token) -> tree.Word:
    return tree.Word(str(token.value), span=token.span)
