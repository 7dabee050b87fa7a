"""Which parts of a query's text are keywords, values, parameters and comments."""

from __future__ import annotations

from html import escape
from typing import Literal

from ensue.language.contextual import STRATEGY, WORDS
from ensue.language.scan import COMMENT, scan
from ensue.language.tokens import NOT_FOLLOWED_BY, RESERVED

Highlight = Literal["keyword", "string", "number", "parameter", "comment", "plain"]

_KEYWORDS = RESERVED | WORDS | {STRATEGY, NOT_FOLLOWED_BY}

_KINDS: dict[str, Highlight] = {
    "STRING": "string",
    "INTEGER": "number",
    "DECIMAL": "number",
    "PARAMETER": "parameter",
    COMMENT: "comment",
}


def highlights(text: str) -> list[tuple[str, Highlight]]:
    """Cut a text into parts and say what each is; a text with mistakes has such parts too.

    >>> highlights("FROM S -- all")
    [('FROM', 'keyword'), (' ', 'plain'), ('S', 'plain'), (' ', 'plain'), ('-- all', 'comment')]
    """
    return [(each.text, _highlight(each.kind)) for each in scan(text)]


def _highlight(kind: str) -> Highlight:
    return "keyword" if kind in _KEYWORDS else _KINDS.get(kind, "plain")


def highlighted_html(text: str) -> str:
    """Write a query as HTML, its parts in elements with a class each."""
    return "".join(
        escape(part) if kind == "plain" else f'<span class="{kind}">{escape(part)}</span>'
        for part, kind in highlights(text)
    )
