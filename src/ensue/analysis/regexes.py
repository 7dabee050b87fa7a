"""Regular expressions in RE2's syntax: whether they are well formed, and their groups."""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"""
      \\Q.*?(?:\\E|$)                                  # literal text
    | \\.                                             # an escaped character
    | \[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]          # a class of characters
    | (?P<group> \((?!\?) | \(\?P?<\w+> )               # the beginning of a group
    | .
    """,
    re.VERBOSE | re.DOTALL,
)


def regex_error(pattern: str) -> str | None:
    """Return RE2's error for a pattern, or None."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        pc.match_substring_regex(pa.scalar(""), pattern=pattern)
    except pa.ArrowInvalid as error:
        return str(error).removeprefix("Invalid regular expression: ")
    return None


def with_named_groups(pattern: str) -> tuple[str, int]:
    """Name the groups of a pattern g1, g2, … and the whole g0; return it and their number.

    >>> with_named_groups(r"([a-z(]+)\\((?:\\d|(x))")
    ('(?P<g0>(?P<g1>[a-z(]+)\\\\((?:\\\\d|(?P<g2>x)))', 2)
    """
    groups = 0
    parts: list[str] = []
    for piece in _PIECE.finditer(pattern):
        if piece["group"] is None:
            parts.append(piece[0])
        else:
            groups += 1
            parts.append(f"(?P<g{groups}>")
    return f"(?P<g0>{''.join(parts)})", groups
