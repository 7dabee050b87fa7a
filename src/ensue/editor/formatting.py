"""Formatting: the printer's text, with the comments of the original at their places.

A comment on a line of its own stays before the token that followed it, one behind a token on the
same line stays behind that. Tokens of the two texts are aligned, since the printer drops
parentheses and writes some signs in another way. The result is parsed again: where it were another
query, or a comment were lost, nothing is changed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from ensue.editor.document import Document
from ensue.errors import CeqlError, EnsueError
from ensue.language.parser import parse
from ensue.language.printer import format_query
from ensue.language.scan import COMMENT, SPACE, scan
from ensue.language.tokens import RESERVED, Token

WIDTH = 88
"""Longer clauses are broken before FILTER and its like, if that helps."""

_BREAKS = ("FILTER", "AGGREGATE", "PROJECT", "UNLESS", "NOT_FOLLOWED_BY")
_INDENT = "  "


class FormatError(EnsueError, ValueError):
    """A text that cannot be formatted; it is left as it is."""


def format_document(document: Document) -> str:
    """Return the whole text, its query as the printer writes it; raises CeqlError, FormatError.

    >>> print(format_document(Document("select * -- all\\nfrom S where (A;B) within 5 events")))
    SELECT * -- all
    FROM S
    WHERE A ; B
    WITHIN 5 EVENTS
    <BLANKLINE>
    """
    query = document.query[document.query_start :]
    tree = parse(document.query, document.name)
    written = _with_comments(query, format_query(tree))
    header = document.text[: document.query_start]
    if "\r\n" in document.text:
        written = written.replace("\n", "\r\n")
    try:
        same = parse(written) == tree
    except CeqlError:
        same = False
    if not same or _comments(written) != _comments(query):
        raise FormatError("a comment stands where it cannot be kept; move it to a line of its own")
    return header + written


def _comments(text: str) -> list[str]:
    return [token.text.strip() for token in scan(text) if token.kind == COMMENT]


@dataclass(slots=True)
class _Notes:
    """The comments beside a token of the printed text."""

    above: list[str] = field(default_factory=list)
    """On lines of their own, before it."""
    behind: list[str] = field(default_factory=list)


def _with_comments(original: str, printed: str) -> str:
    tokens = scan(printed)
    own = [token for token in tokens if token.kind != SPACE]
    notes = _notes(original, own)
    lines = _Lines()
    solid = -1
    for at, token in enumerate(tokens):
        if token.kind == SPACE:
            lines.space(token.text)
            continue
        solid += 1
        if _breaks(tokens, at):
            lines.new(_INDENT)
        for comment in notes[solid].above:
            lines.alone(comment)
        lines.add(token.text)
        for comment in notes[solid].behind:
            lines.behind(comment)
    lines.new("")
    for comment in notes[len(own)].above:
        lines.alone(comment)
    return lines.text()


def _breaks(tokens: list[Token], at: int) -> bool:
    """Tell whether a line is too long and a part of its pattern begins here."""
    if tokens[at].kind not in _BREAKS or tokens[at - 1].kind != SPACE:
        return False
    first = at
    while first > 0 and "\n" not in tokens[first - 1].text:
        first -= 1
    last, depth = at, 0
    for each in tokens[first:at]:
        depth += (each.kind in ("(", "[", "{", ":{")) - (each.kind in (")", "]", "}"))
    while last < len(tokens) and "\n" not in tokens[last].text:
        last += 1
    joined = tokens[at].kind == tokens[at - 2].kind if at > 1 else False  # NOT FOLLOWED BY
    return not depth and not joined and sum(len(t.text) for t in tokens[first:last]) > WIDTH


def _notes(original: str, printed: list[Token]) -> defaultdict[int, _Notes]:
    """Return the comments of the original by the number of the printed token that they are at."""
    tokens = scan(original)
    solid = [token for token in tokens if token.kind not in (SPACE, COMMENT)]
    places = _aligned(solid, printed)
    notes: defaultdict[int, _Notes] = defaultdict(_Notes)
    seen, line_has_token = 0, False
    for token in tokens:
        if token.kind == SPACE:
            line_has_token = line_has_token and "\n" not in token.text
        elif token.kind == COMMENT:
            text = token.text.rstrip()
            before = [places[i] for i in range(seen) if i in places]
            after = [places[i] for i in range(seen, len(solid)) if i in places]
            if line_has_token and before:
                notes[before[-1]].behind.append(text)
            else:
                notes[after[0] if after else len(printed)].above.append(text)
            line_has_token = line_has_token and "\n" not in text
        else:
            seen += 1
            line_has_token = True
    return notes


def _aligned(solid: list[Token], printed: list[Token]) -> dict[int, int]:
    """Align tokens: from the numbers of those in the original to those of the printed text."""
    matcher = SequenceMatcher(
        None, [_key(token) for token in solid], [_key(token) for token in printed], autojunk=False
    )
    return {
        block.a + i: block.b + i
        for block in matcher.get_matching_blocks()
        for i in range(block.size)
    }


def _key(token: Token) -> str:
    return token.kind if token.kind in RESERVED else f"{token.kind}:{str(token.value).upper()}"


class _Lines:
    """Lines of text; a comment to the end of a line ends it."""

    def __init__(self) -> None:
        self._lines: list[str] = [""]
        self._ended = False
        """Whether a comment has ended the last line."""

    def space(self, text: str) -> None:
        if "\n" in text:
            self._lines.append(text.rsplit("\n", 1)[1])
            self._ended = False
        elif not self._ended:
            self._lines[-1] += text

    def new(self, indent: str) -> None:
        if self._lines[-1].strip():
            self._lines[-1] = self._lines[-1].rstrip()
            self._lines.append(indent)
        self._ended = False

    def add(self, text: str) -> None:
        if self._ended:
            self.new(_INDENT * 2)
        self._lines[-1] += text

    def alone(self, comment: str) -> None:
        """Add a comment on lines of its own; what follows begins a line as it would have."""
        self._ended = False
        rest = self._lines.pop()
        if rest.strip():
            self._lines.append(rest.rstrip())
            rest = _INDENT * 2
        self._lines += [rest + comment, rest]

    def behind(self, comment: str) -> None:
        self._lines[-1] = f"{self._lines[-1].rstrip()} {comment}"
        self._ended = True

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self._lines).rstrip("\n") + "\n"
