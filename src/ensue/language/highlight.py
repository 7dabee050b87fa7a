"""Which parts of a query's text are keywords, values, parameters and comments."""

from __future__ import annotations

from html import escape
from typing import Literal

from ensue.errors import CeqlError, Source
from ensue.language.contextual import STRATEGY, WORDS
from ensue.language.tokens import RESERVED, tokenize

Highlight = Literal["keyword", "string", "number", "parameter", "comment", "plain"]

_KEYWORDS = RESERVED | WORDS | {STRATEGY}

_KINDS: dict[str, Highlight] = {
    "STRING": "string",
    "INTEGER": "number",
    "DECIMAL": "number",
    "PARAMETER": "parameter",
}


def highlights(text: str) -> list[tuple[str, Highlight]]:
    """Cut a text into parts and say what each is; a text with a mistake is one plain part.

    >>> highlights("FROM S -- all")
    [('FROM', 'keyword'), (' ', 'plain'), ('S', 'plain'), (' -- all', 'comment')]
    """
    try:
        tokens = tokenize(Source(text))
    except CeqlError:
        return [(text, "plain")]
    parts: list[tuple[str, Highlight]] = []
    at = 0
    for token in tokens:
        begin, end = token.span
        parts.append(_between(text[at:begin]))
        kind = "keyword" if token.kind in _KEYWORDS else _KINDS.get(token.kind, "plain")
        parts.append((text[begin:end], kind))
        at = end
    parts.append(_between(text[at:]))
    return [(part, kind) for part, kind in parts if part]


def _between(text: str) -> tuple[str, Highlight]:
    """Between tokens there is only white space and comments."""
    return text, "comment" if text.strip() else "plain"


def highlighted_html(text: str) -> str:
    """Write a query as HTML, its parts in elements with a class each."""
    return "".join(
        escape(part) if kind == "plain" else f'<span class="{kind}">{escape(part)}</span>'
        for part, kind in highlights(text)
    )
