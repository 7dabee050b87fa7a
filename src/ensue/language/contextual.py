"""Words that are keywords in one place and names everywhere else.

CASE begins an expression where WHEN follows it. From there to its END, the words WHEN, THEN, ELSE
and END are keywords, except in further brackets and after a dot. DISTINCT is one after `count(`,
and the first word after SELECT names a strategy if a list follows it. No LALR(1) grammar can tell
them from names, because names may stand there too.
"""

from __future__ import annotations

import re

CASE_WORDS = frozenset({"CASE", "WHEN", "THEN", "ELSE", "END"})

WORDS = CASE_WORDS | {"DISTINCT"}
"""The kinds of tokens that such words become, beside STRATEGY."""

STRATEGY = "STRATEGY"

_WORD = re.compile(rf"\b(?:{'|'.join(sorted(CASE_WORDS))})\b", re.IGNORECASE)


def has_case_word(text: str) -> bool:
    """Return whether a text has a word of CASE, perhaps as a part of something else.

    >>> has_case_word("ended = 1"), has_case_word("end = 1")
    (False, True)
    """
    return _WORD.search(text) is not None


class ContextualWords:
    """Tells which words of a text are keywords, from the first word to the last."""

    def __init__(self) -> None:
        self._open: list[int] = []
        """The number of open brackets at each CASE that has no END yet."""

    def keyword(self, before: str, word: str, after: str, brackets: int) -> str | None:
        """Return the keyword that a word is, or None for a name.

        `before` is the kind of the token before it, `after` that of the next one or, for a name,
        the name; `brackets`: how many are open.
        """
        upper = word.upper()
        case = upper == "CASE" and after == "WHEN"
        if before == "SELECT" and not case and (after == "*" or after.isidentifier()):
            return STRATEGY if after not in ("FROM", "AS", "STRING") else None
        if upper == "DISTINCT" and before == "(" and after.isidentifier():
            return upper
        if upper not in CASE_WORDS or before == ".":
            return None
        while self._open and self._open[-1] > brackets:
            self._open.pop()
        if case:
            self._open.append(brackets)
        elif upper == "CASE" or not self._open or self._open[-1] != brackets:
            return None
        elif upper == "END":
            self._open.pop()
        return upper
