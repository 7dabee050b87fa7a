"""Queries in colour."""

from __future__ import annotations

from rich.text import Text

from ensue.errors import CeqlError, Source
from ensue.language.tokens import RESERVED, Token, tokenize

_STYLES = {
    "STRING": "green",
    "INTEGER": "cyan",
    "DECIMAL": "cyan",
    "PARAMETER": "magenta",
}


def highlighted(query: str) -> Text:
    """Return a query with its keywords, values and comments in colour."""
    text = Text(query)
    try:
        tokens = tokenize(Source(query))
    except CeqlError:
        return text
    # Between tokens there is only white space and comments.
    text.stylize("dim italic")
    for token in tokens:
        text.stylize(f"not dim not italic {_style(token)}", *token.span)
    return text


def _style(token: Token) -> str:
    return "bold blue" if token.kind in RESERVED else _STYLES.get(token.kind, "")
