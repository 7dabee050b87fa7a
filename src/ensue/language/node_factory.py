"""What the builders of nodes share: words, and errors with their place in the source."""

from __future__ import annotations

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


class NodeFactory:
    """Base of the builders; raises errors of the source that is parsed."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def failure(
        self, code: str, span: Span, message: str, hint: str | None = None, fix: Fix | None = None
    ) -> CeqlError:
        kind = CeqlSyntaxError if code.startswith("E1") else CeqlSemanticError
        return kind(Diagnostic(code, span, message, hint, fix), self.source)

    def check_keyword(self, token: Token, wanted: str) -> None:
        if token.text.upper() != wanted:
            raise self.failure(
                "E113",
                token.span,
                f"found '{token.text}', expected {wanted}",
                f"write {wanted}",
                Fix(token.span, wanted),
            )


def words_of(values: list[Any]) -> tuple[tree.Word, ...]:
    """Return words for tokens; what is a word already stays."""
    return tuple(word_of(value) if isinstance(value, Token) else value for value in values)


def word_of(token: Token) -> tree.Word:
    """Return a token as a word with its place."""
    return tree.Word(str(token.value), span=token.span)
