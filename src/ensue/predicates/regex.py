"""Translation of RE2 regular expressions to Java, where both match the same strings.

Translated are literal characters, simple classes, groups, alternatives and repetitions. Anchors
and the dot are written out, because Java's treat line ends differently.
"""

from __future__ import annotations

import re

from ensue.predicates.vectors import UnsupportedError

_PLAIN = re.compile(r"[A-Za-z0-9_ ,;:'\"=<>@#%&/~`!-]|[^\x00-\x7f]")
_ESCAPED = re.compile(r"\\([.^$*+?()\[\]{}|\\/-])")
_CLASS = re.compile(r"\[\^?(?:[A-Za-z0-9_ .,;:@#%/]|[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9])+\]")
_REPEAT = re.compile(r"(?:[*+?]|\{[0-9]{1,3}(?:,[0-9]{0,3})?\})\??")
_DIGIT = {"\\d": "[0-9]", "\\w": "[A-Za-z0-9_]", "\\D": "[^0-9]", "\\W": "[^A-Za-z0-9_]"}


def to_java(pattern: str) -> str:
    r"""Translate a pattern, or raise UnsupportedError.

    >>> to_java("^a.c$")
    '\\Aa[^\\n]c\\z'
    """
    parts: list[str] = []
    at, open_groups, repeatable = 0, 0, False
    while at < len(pattern):
        char = pattern[at]
        if found := _REPEAT.match(pattern, at):
            if not repeatable:
                raise UnsupportedError(pattern)
            # Greediness changes what is found, not whether something is found.
            parts.append(found[0].rstrip("?") or "?")
            repeatable = False
        elif found := _PLAIN.match(pattern, at):
            parts.append(found[0])
            repeatable = True
        elif found := _ESCAPED.match(pattern, at):
            parts.append("\\" + found[1])
            repeatable = True
        elif pattern[at : at + 2] in _DIGIT:
            parts.append(_DIGIT[pattern[at : at + 2]])
            at, repeatable = at + 2, True
            continue
        elif found := _CLASS.match(pattern, at):
            parts.append(found[0])
            repeatable = True
        elif char in ".^$|":
            parts.append({".": "[^\\n]", "^": "\\A", "$": "\\z", "|": "|"}[char])
            at, repeatable = at + 1, char == "."
            continue
        elif char == "(" and (pattern[at + 1 : at + 2] != "?" or pattern[at + 1 : at + 3] == "?:"):
            plain = pattern[at + 1 : at + 2] != "?"
            parts.append("(?:")
            at, repeatable, open_groups = at + (1 if plain else 3), False, open_groups + 1
            continue
        elif char == ")" and open_groups:
            parts.append(")")
            at, repeatable, open_groups = at + 1, True, open_groups - 1
            continue
        else:
            raise UnsupportedError(pattern)
        at += len(found[0])
    if open_groups:
        raise UnsupportedError(pattern)
    return "".join(parts)
