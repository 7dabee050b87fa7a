"""Nodes of expressions: conditions, arithmetic, constants."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ensue.errors import Span
from ensue.language import tree
from ensue.language.node_factory import NodeFactory, word_of
from ensue.language.tokens import Token


class ExpressionBuilder(NodeFactory):
    """Builds the nodes of expressions."""

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
        self.check_keyword(name, "RANGE")
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
            raise self.failure(
                "E115",
                kind.span,
                f"found '{kind.text}' before a string",
                "only TIMESTAMP '…' and DATE '…' stand before a string",
            )
        word: Any = upper
        return tree.Instant(word, str(text.value), span=span)

    def call(self, span: Span, name: Token, _: Token, *rest: Any) -> tree.Call:
        arguments = rest[0] if len(rest) > 1 else ()
        return tree.Call(word_of(name), tuple(arguments), span=span)

    def call_of_all(self, span: Span, name: Token, _: Token, star: Token, __: Token) -> tree.Call:
        return tree.Call(word_of(name), (tree.Star(span=star.span),), span=span)

    def call_of_distinct(
        self, span: Span, name: Token, _: Token, distinct: Token, operand: Any, __: Token
    ) -> tree.Call:
        argument = tree.Distinct(operand, span=distinct.span.to(operand.span))
        return tree.Call(word_of(name), (argument,), span=span)

    def restriction(
        self, span: Span, variable: tree.Word, _: Token, predicate: Any, __: Token
    ) -> tree.Restriction:
        return tree.Restriction(variable, predicate, span=span)

    def branch(
        self, _: Span, __: Token, condition: Any, ___: Token, value: Any
    ) -> tuple[tree.Expression, tree.Expression]:
        return condition, value

    def case(self, span: Span, _: Token, branches: list[Any], __: Token) -> tree.Case:
        return tree.Case(tuple(branches), None, span=span)

    def case_else(
        self, span: Span, _: Token, branches: list[Any], __: Token, otherwise: Any, ___: Token
    ) -> tree.Case:
        return tree.Case(tuple(branches), otherwise, span=span)

    def duration(self, span: Span, parts: list[tuple[int | Decimal, tree.Word]]) -> tree.Duration:
        return tree.Duration(tuple(parts), span=span)

    def amount(self, _: Span, number: Token, unit: Token) -> tuple[int | Decimal, tree.Word]:
        assert not isinstance(number.value, str)
        return number.value, word_of(unit)
