"""What each token of a text is to its reader: the classes that editors colour.

A word before a parenthesis is a function, one after a number a unit, and so on: from the tokens
beside it on the same line alone, since the grammars of editors see one line at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ensue.language.contextual import STRATEGY, WORDS
from ensue.language.scan import COMMENT, SPACE, STRAY, scan
from ensue.language.tokens import NOT_FOLLOWED_BY, RESERVED, Token

Class = Literal[
    "comment",
    "string",
    "number",
    "parameter",
    "keyword",
    "constant",
    "operator",
    "function",
    "unit",
    "type",
    "name",
    "punctuation",
    "space",
    "error",
]

CONSTANTS = frozenset({"TRUE", "FALSE", "NULL"})
OPERATORS = tuple(":+ :* :{ == != <> <= >= ; : + - * / % ? { } > < =".split())
PUNCTUATION = tuple("( ) [ ] , .".split())

_PLAIN: dict[str, Class] = {
    "STRING": "string",
    "INTEGER": "number",
    "DECIMAL": "number",
    "PARAMETER": "parameter",
    COMMENT: "comment",
    SPACE: "space",
    STRAY: "error",
    STRATEGY: "keyword",
    NOT_FOLLOWED_BY: "keyword",
    **dict.fromkeys(RESERVED | WORDS, "keyword"),
    **dict.fromkeys(CONSTANTS, "constant"),
    **dict.fromkeys(OPERATORS, "operator"),
    **dict.fromkeys(PUNCTUATION, "punctuation"),
}


def classes(text: str) -> Iterator[tuple[Token, Class]]:
    """Yield all tokens of a text with their classes.

    >>> [(token.text, kind) for token, kind in classes("abs(a) > 5 s") if kind != "space"]
    [('abs', 'function'), ('(', 'punctuation'), ('a', 'name'), (')', 'punctuation'),
     ('>', 'operator'), ('5', 'number'), ('s', 'unit')]
    """
    tokens = scan(text)
    declaring = False
    for at, token in enumerate(tokens):
        known = _PLAIN.get(token.kind)
        if token.kind == "NAME":
            known = _of_name(tokens, at, declaring)
            declaring = declaring or (known == "keyword" and token.text.upper() == "EVENT")
        elif token.kind == "}":
            declaring = False
        assert known is not None, token
        yield token, known


def _of_name(tokens: list[Token], at: int, declaring: bool) -> Class:
    token = tokens[at]
    if token.text.startswith("`"):
        return "name"
    before, after = _beside(tokens, at, -1), _beside(tokens, at, 1)
    upper = token.text.upper()
    if before is not None and before.kind in ("INTEGER", "DECIMAL"):
        return "unit"
    if after is not None:
        if upper in ("TIMESTAMP", "DATE") and after.kind == "STRING":
            return "keyword"
        if upper == "RANGE" and before is not None and before.kind == "IN":
            return "keyword"
        if after.kind == "(":
            return "function"
        if (upper == "CREATE" and after.text.upper() == "STREAM") or (
            upper == "EVENT" and after.kind == "NAME"
        ):
            return "keyword"
    if upper == "STREAM" and before is not None and before.text.upper() == "CREATE":
        return "keyword"
    if declaring and before is not None and before.kind == ":":
        return "type"
    return "name"


def _beside(tokens: list[Token], at: int, step: int) -> Token | None:
    """Return the token before or after one, on the same line, spaces left out."""
    at += step
    while 0 <= at < len(tokens) and tokens[at].kind == SPACE and "\n" not in tokens[at].text:
        at += step
    if not 0 <= at < len(tokens) or tokens[at].kind in (SPACE, COMMENT):
        return None
    return tokens[at]
