"""Nodes of patterns."""

from __future__ import annotations

from typing import Any

from ensue.errors import Fix, Span
from ensue.language import tree
from ensue.language.node_factory import NodeFactory, word_of, words_of
from ensue.language.tokens import Token


class PatternBuilder(NodeFactory):
    """Builds the nodes of patterns."""

    def filtered(
        self, span: Span, pattern: Any, _: Token, condition: tree.Expression
    ) -> tree.Filtered:
        return tree.Filtered(pattern, condition, span=span)

    def aggregated(
        self, span: Span, pattern: Any, _: Token, name: Token, __: Token, columns: Any, ___: Token
    ) -> tree.Aggregated:
        return tree.Aggregated(pattern, word_of(name), tuple(columns), span=span)

    def aggregate(self, span: Span, name: Token, _: Token, expression: Any) -> tree.Column:
        return tree.Column(word_of(name), expression, span=span)

    def projected(
        self, span: Span, pattern: Any, _: Token, __: Token, variables: list[Any], ___: Token
    ) -> tree.Projected:
        return tree.Projected(pattern, words_of(variables), span=span)

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
        return tree.Named(pattern, word_of(name), span=span)

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
            raise self.failure(
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
            raise self.failure(
                "E406", Span(brace.span.start, span.end), "a pattern repeated no times is nothing"
            )
        return tree.Repeated(pattern, low, high, contiguous=brace.kind == ":{", span=span)

    def event(self, span: Span, name: Token) -> tree.Event:
        return tree.Event(word_of(name), span=span)

    def event_of(self, span: Span, stream: Token, _: Token, name: Token) -> tree.Event:
        return tree.Event(word_of(name), word_of(stream), span=span)

    def any_event(self, span: Span, _: Token) -> tree.Event:
        return tree.Event(None, span=span)

    def absent(self, span: Span, _: Token, __: Token, pattern: Any, ___: Token) -> tree.Absent:
        return tree.Absent(pattern, span=span)

    def applied(self, span: Span, name: Token, _: Token, pattern: Any, __: Token) -> tree.Applied:
        return tree.Applied(word_of(name), pattern, span=span)

    def within(
        self, span: Span, _: Token, pattern: Any, window: tree.Window, __: Token
    ) -> tree.Within:
        return tree.Within(pattern, window, span=span)
