"""The state of the parser at a syntax error, and its description in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ensue.language.contextual import WORDS
from ensue.language.tokens import END, NOT_FOLLOWED_BY, RESERVED, STATEMENT_END, Token

CLAUSES = ("PARTITION", "WITHIN", "CONSUME", "LIMIT", "EVERY")


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """A syntax error: the token that the parser cannot accept, and what it expects there."""

    tokens: Sequence[Token]
    at: int
    expected: frozenset[str]
    inside: Sequence[Token]
    """The tokens that are still open on the parser's stack."""

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def before(self, distance: int = 1) -> Token | None:
        return self.tokens[self.at - distance] if self.at >= distance else None

    def after(self, distance: int = 1) -> Token | None:
        index = self.at + distance
        return self.tokens[index] if index < len(self.tokens) else None

    def within(self, *words: str) -> bool:
        """Return whether the last open keyword is one of these."""
        keywords = [token.kind for token in self.inside if token.kind in RESERVED]
        return bool(keywords) and keywords[-1] in words

    @property
    def after_pattern(self) -> bool:
        """Whether a complete pattern precedes the token."""
        return ";" in self.expected and "FILTER" in self.expected

    @property
    def wants_pattern(self) -> bool:
        return {"NAME", "ANY", "NOT", "("} <= self.expected and "STRING" not in self.expected

    @property
    def wants_value(self) -> bool:
        return "STRING" in self.expected and "PARAMETER" in self.expected


def found(failure: ParseFailure) -> str:
    """Describe the token that the parser cannot accept."""
    token = failure.token
    if token.kind == END:
        return "the query ends here"
    if token.kind == "STRING":
        return "found a string"
    shown = token.text if len(token.text) <= 40 else token.text[:37] + "…"
    return f"found '{shown}'"


_PATTERN_OPERATORS = {";", ":", "OR", "AND", "ALL", "AS", "UNLESS"}


_REPETITIONS = {"+", "*", "?", "{", ":+", ":*", ":{"}


_PATTERN_SUFFIXES = {"FILTER", "AGGREGATE", "PROJECT", NOT_FOLLOWED_BY}


_COMPARISONS = {"=", "==", "!=", "<>", "<", "<=", ">", ">=", "IN", "BETWEEN", "LIKE", "RLIKE", "IS"}


_ARITHMETIC = {"+", "-", "*", "/", "%"}


_SINGLE = {
    "NAME": "a name",
    "INTEGER": "a whole number",
    "DECIMAL": "a number",
    "STRING": "a string",
    "PARAMETER": "a parameter such as $list",
    NOT_FOLLOWED_BY: "NOT FOLLOWED BY",
    END: "the end of the query",
    STATEMENT_END: "';'",
}


def expected_words(failure: ParseFailure) -> str:
    """Describe the expected tokens, naming groups instead of their members."""
    left = set(failure.expected)
    words: list[str] = []

    def take(name: str, group: set[str], needed: set[str]) -> None:
        if needed <= left:
            words.append(name)
            left.difference_update(group)

    if failure.wants_value:
        words.append("a condition" if "NOT" in left else "a value")
        left -= {"NAME", "ANY", "STRING", "INTEGER", "DECIMAL", "PARAMETER", "TRUE", "FALSE"}
        left -= {"NULL", "(", "-", "NOT", "CASE"}
    elif failure.wants_pattern:
        words.append("a pattern")
        left -= {"NAME", "ANY", "NOT", "("}
    if failure.after_pattern:
        take("an operator such as ';', OR or AS", _PATTERN_OPERATORS, {";", "AS"})
        take("a repetition such as '+'", _REPETITIONS, {"+", "{"})
        take("FILTER, AGGREGATE or PROJECT", _PATTERN_SUFFIXES, {"FILTER"})
        left -= {">", "("} | _PATTERN_OPERATORS
    take("a comparison", _COMPARISONS | {"NOT"}, {"=", "<"})
    take("an arithmetic sign", _ARITHMETIC, {"+", "/"})
    take("a clause such as WITHIN", set(CLAUSES), {"WITHIN", "LIMIT"})
    if {"NAME", "ANY"} <= left:
        words.append("a variable")
        left -= {"NAME", "ANY"}
    words += [
        _SINGLE.get(kind) or (kind if kind in RESERVED | WORDS else f"'{kind}'")
        for kind in sorted(left)
    ]
    if len(words) == 1:
        return words[0]
    return ", ".join(words[:-1]) + " or " + words[-1]
