"""Nodes of statements: declarations of streams, SELECT and the clauses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from ensue.errors import Span
from ensue.language import tree
from ensue.language.node_factory import NodeFactory, word_of
from ensue.language.printer import format_expression
from ensue.language.tokens import Token

STRATEGIES = ("ALL", "NEXT", "LAST", "MAX", "STRICT", "FIRST")
"""The words that may follow SELECT, in the order in which they are explained."""


class Absence(NamedTuple):
    """φ NOT FOLLOWED BY ψ WITHIN w."""

    pattern: tree.Pattern
    not_followed: tree.NotFollowed


class QueryBuilder(NodeFactory):
    """Builds the nodes of statements and clauses."""

    # statements

    def with_streams(
        self,
        span: Span,
        created: list[tree.StreamDeclaration | tree.DerivedStream],
        query: tree.Query,
    ) -> tree.Query:
        streams = tuple(each for each in created if isinstance(each, tree.StreamDeclaration))
        derived = tuple(each for each in created if isinstance(each, tree.DerivedStream))
        return replace(query, streams=streams, derived=derived, span=span)

    def derived(
        self, span: Span, create: Token, stream: Token, name: Token, _: Token, query: Any, __: Token
    ) -> tree.DerivedStream:
        self.check_keyword(create, "CREATE")
        self.check_keyword(stream, "STREAM")
        return tree.DerivedStream(word_of(name), query, span=span)

    def stream(
        self, span: Span, create: Token, stream: Token, name: Token, _: Token, events: Any, *__: Any
    ) -> tree.StreamDeclaration:
        self.check_keyword(create, "CREATE")
        self.check_keyword(stream, "STREAM")
        return tree.StreamDeclaration(word_of(name), tuple(events), span=span)

    def event_declaration(
        self, span: Span, event: Token, name: Token, _: Token, declared: Any, __: Token
    ) -> tree.EventDeclaration:
        self.check_keyword(event, "EVENT")
        return tree.EventDeclaration(word_of(name), tuple(declared), span=span)

    def empty_declaration(
        self, span: Span, event: Token, name: Token, _: Token, __: Token
    ) -> tree.EventDeclaration:
        self.check_keyword(event, "EVENT")
        return tree.EventDeclaration(word_of(name), (), span=span)

    def field_declaration(
        self, span: Span, path: tree.Path, _: Token, type_name: Token
    ) -> tree.FieldDeclaration:
        return tree.FieldDeclaration(path, word_of(type_name), span=span)

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

    def absence_query(self, span: Span, *parts: Any) -> tree.Query:
        """Build a query whose WHERE is φ NOT FOLLOWED BY ψ WITHIN w."""
        before, absence, clauses = parts[:5], parts[5], parts[6:]
        query = self.query(span, *(*before, absence.pattern, *clauses))
        return replace(query, not_followed=absence.not_followed)

    # the whole of WHERE

    def not_followed(
        self, span: Span, pattern: tree.Pattern, by: Token, absent: tree.Pattern, window: Any
    ) -> Absence:
        own = Span(by.span.start, span.end)
        return Absence(pattern, tree.NotFollowed(absent, window, span=own))

    def absence_filtered(
        self, _: Span, absence: Absence, __: Token, condition: tree.Expression
    ) -> Absence:
        """Filter φ: what must not follow it is the same before and after."""
        span = absence.pattern.span.to(condition.span)
        return absence._replace(pattern=tree.Filtered(absence.pattern, condition, span=span))

    def absence_partitioned(self, span: Span, absence: Absence, *rest: Any) -> Absence:
        keys = tuple(rest[3])
        return absence._replace(pattern=tree.Partitioned(absence.pattern, keys, span=span))

    # what SELECT lists

    def plain_selection(self, span: Span, selection: tree.Selection) -> tree.Selection:
        return tree.Selection(
            None, selection.everything, selection.shown, selection.columns, span=span
        )

    def selection(
        self, span: Span, strategy: tree.Word, selection: tree.Selection
    ) -> tree.Selection:
        upper = strategy.text.upper()
        if upper not in STRATEGIES:
            raise self.failure(
                "E114",
                strategy.span,
                f"'{strategy.text}' is not a selection strategy",
                "the strategies are ALL, NEXT, LAST, MAX, STRICT and FIRST; between variables "
                "stands ','",
            )
        word = None if upper == "ALL" else tree.Word(upper, span=strategy.span)
        return tree.Selection(
            word, selection.everything, selection.shown, selection.columns, span=span
        )

    def everything(self, span: Span, *rest: Any) -> tree.Selection:
        return tree.Selection(None, True, (), tuple(rest[2]) if len(rest) > 1 else (), span=span)

    def nothing(self, span: Span, *rest: Any) -> tree.Selection:
        return tree.Selection(None, False, (), tuple(rest[2]) if len(rest) > 1 else (), span=span)

    def listed(self, span: Span, items: list[tree.Shown | tree.Column]) -> tree.Selection:
        shown = tuple(item for item in items if isinstance(item, tree.Shown))
        columns = tuple(item for item in items if isinstance(item, tree.Column))
        return tree.Selection(None, False, shown, columns, span=span)

    def shown(self, span: Span, variable: tree.Word) -> tree.Shown:
        return tree.Shown(variable, span=span)

    def shown_attributes(
        self, span: Span, variable: tree.Word, _: Token, paths: list[tree.Path], __: Token
    ) -> tree.Shown:
        return tree.Shown(variable, tuple(paths), span=span)

    def unnamed_column(self, span: Span, call: tree.Call) -> tree.Column:
        """Name a column as it is written; count(*) is called count."""
        name = call.function.text.lower()
        if not any(isinstance(each, tree.Star) for each in call.arguments):
            listed = ", ".join(map(format_expression, call.arguments))
            name = f"{name}({listed})"
        return tree.Column(tree.Word(name, span=span), call, span=span)

    def column(self, span: Span, expression: tree.Expression, _: Token, name: Token) -> tree.Column:
        return tree.Column(word_of(name), expression, span=span)

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
            raise self.failure(
                "E402",
                duration.span,
                "a window in EVENTS is not mixed with time",
                "write either WITHIN 100 EVENTS or WITHIN 10 MINUTES",
            )
        if not isinstance(amount, int):
            raise self.failure(
                "E403", duration.span, f"{amount} {unit.text} is not a whole number of events"
            )
        return tree.Window(amount, None, None, span=span)

    def consume(self, _: Span, __: Token, ___: Token, what: Token) -> str:
        return what.kind

    def limit(self, span: Span, _: Token, number: Token) -> int:
        if number.value == 0:
            raise self.failure("E404", span, "LIMIT 0 reports nothing", "write LIMIT 1 or more")
        return int(number.value)
