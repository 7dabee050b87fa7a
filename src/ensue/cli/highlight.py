"""Queries in colour."""

from __future__ import annotations

from rich.text import Text

from ensue.language.highlight import Highlight, highlights

_STYLES: dict[Highlight, str] = {
    "keyword": "bold blue",
    "string": "green",
    "number": "cyan",
    "parameter": "magenta",
    "comment": "dim italic",
    "plain": "",
}


def highlighted(query: str) -> Text:
    """Return a query with its keywords, values and comments in colour."""
    return Text.assemble(*((part, _STYLES[kind]) for part, kind in highlights(query)))
