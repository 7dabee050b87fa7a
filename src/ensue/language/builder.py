"""The builder of the syntax tree: one method for each alias of the grammar.

A method gets the span of the rule and the values of its children, tokens included, and returns
the node. Methods are grouped by what they build; lists and single values are here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ensue.errors import Span
from ensue.language import tree
from ensue.language.build_expression import ExpressionBuilder
from ensue.language.build_pattern import PatternBuilder
from ensue.language.build_query import QueryBuilder
from ensue.language.node_factory import word_of
from ensue.language.tokens import Token


class Builder(QueryBuilder, PatternBuilder, ExpressionBuilder):
    """Builds nodes; most methods ignore the tokens between their children."""

    def build(self, alias: str, span: Span, values: list[Any]) -> Any:
        """Call the method of an alias."""
        make: Callable[..., Any] = getattr(self, alias)
        return make(span, *values)

    def none(self, _: Span) -> None:
        return None

    def one(self, _: Span, value: Any) -> list[Any]:
        return [value]

    def one_word(self, _: Span, token: Token) -> list[tree.Word]:
        return [word_of(token)]

    def two(self, _: Span, left: Any, __: Token, right: Any) -> list[Any]:
        return [left, right]

    def more(self, _: Span, values: list[Any], value: Any) -> list[Any]:
        values.append(value)
        return values

    def more_listed(self, _: Span, values: list[Any], __: Token, value: Any) -> list[Any]:
        values.append(value)
        return values

    def more_words(self, _: Span, values: list[Any], __: Token, value: Token) -> list[Any]:
        values.append(word_of(value))
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
        return word_of(token)

    def path(self, span: Span, words: list[tree.Word]) -> tree.Path:
        return tree.Path(tuple(words), span=span)

    def dotted(self, span: Span, first: tree.Word, _: Token, rest: list[tree.Word]) -> tree.Path:
        return tree.Path((first, *rest), span=span)
