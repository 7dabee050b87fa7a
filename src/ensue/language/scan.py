"""A text as tokens, mistakes included: for editors, which see queries before they are finished.

`tokens.tokenize` stops at the first mistake. Here what is no token is a STRAY one, comments and
spaces are tokens too, and the tokens of a text, put together, are the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ensue.errors import CeqlSyntaxError, Source, Span
from ensue.language.tokens import (
    NOT_FOLLOWED_BY,
    STATEMENT_END,
    TOKEN,
    Token,
    join_not_followed_by,
    mark_statements,
    token_of,
    with_contextual_words,
)

COMMENT, SPACE, STRAY = "COMMENT", "SPACE", "STRAY"

_UNCLOSED = {"'": "STRING", '"': "STRING", "`": STRAY}


def scan(text: str) -> list[Token]:
    """Return all tokens of a text, whatever it is.

    >>> [(each.kind, each.text) for each in scan("FROM S -- all")]
    [('FROM', 'FROM'), ('SPACE', ' '), ('NAME', 'S'), ('SPACE', ' '), ('COMMENT', '-- all')]
    """
    every = list(_tokens(text))
    joined = words(every, text)
    kinds = {token.span.start: token.kind for token in joined if token.kind != STATEMENT_END}
    absences = [token.span for token in joined if token.kind == NOT_FOLLOWED_BY]
    for each in every:
        if each.kind not in (SPACE, COMMENT) and any(a <= each.span.start < b for a, b in absences):
            kinds[each.span.start] = NOT_FOLLOWED_BY
    return [replace(each, kind=kinds.get(each.span.start, each.kind)) for each in every]


def words(tokens: list[Token], text: str) -> list[Token]:
    """Return the tokens that the parser would read: without spaces and comments."""
    kept: list[Token] = []
    for token in tokens:
        if token.kind not in (SPACE, COMMENT):
            kept.append(token)
            if token.kind == "BY":
                join_not_followed_by(kept, text)
    kept = with_contextual_words(kept)
    mark_statements(kept)
    return kept


def _tokens(text: str) -> Iterator[Token]:
    source = Source(text)
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        kind = None if found is None else found.lastgroup
        if found is None or kind is None or kind == "foreign":
            token = _stray(text, at)
        elif kind in ("space", "comment"):
            token = Token(kind.upper(), found.group(), found.group(), Span(at, found.end()))
        else:
            try:
                token = token_of(kind, found.group(), Span(at, found.end()), source)
            except CeqlSyntaxError:  # a number that is too large is a number
                token = Token(kind, found.group(), 0, Span(at, found.end()))
        yield token
        at = token.span.end


def _stray(text: str, at: int) -> Token:
    """Return what starts no token: a comment or string without an end, or one character."""
    kind, end = STRAY, at + 1
    if text.startswith("/*", at):
        kind, end = COMMENT, len(text)
    elif text[at] in _UNCLOSED:
        kind, end = _UNCLOSED[text[at]], text.find("\n", at)
        end = len(text) if end < 0 else end
    return Token(kind, text[at:end], text[at:end], Span(at, end))
