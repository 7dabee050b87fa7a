"""Where a cursor stands in a query: what was written before it, and what could come there."""

from __future__ import annotations

from dataclasses import dataclass

from ensue.editor.document import Document
from ensue.language.automaton import expected_after
from ensue.language.scan import COMMENT
from ensue.language.tokens import Token


@dataclass(frozen=True)
class Place:
    """A place in a document, behind the tokens `before`; a word that touches it is left out."""

    document: Document
    offset: int
    before: list[Token]
    expected: frozenset[str] | None
    """The kinds of tokens that can come here; None where there is a mistake before it."""
    literal: bool
    """Whether it is inside a comment, a string or a number."""

    @property
    def last(self) -> str:
        """The kind of the token before it."""
        return self.before[-1].kind if self.before else ""

    @property
    def clause(self) -> str:
        """The word that the clause begins with which it is in: SELECT, FROM, WHERE, …."""
        for token in reversed(self.before):
            if token.kind in _CLAUSES:
                return token.kind
        return ""

    @property
    def open_brackets(self) -> list[int]:
        """The brackets around it, as indexes of `before`, the innermost one last."""
        found: list[int] = []
        for at, token in enumerate(self.before):
            if token.kind in ("(", "[", "{", ":{"):
                found.append(at)
            elif token.kind in (")", "]", "}") and found:
                found.pop()
        return found

    @property
    def owner(self) -> str | None:
        """The variable in whose brackets `x[…]` it is, perhaps in parentheses there."""
        for at in reversed(self.open_brackets):
            if self.before[at].kind == "[" and at and self.before[at - 1].kind in ("NAME", "ANY"):
                computed = at > 1 and self.before[at - 2].kind == "AGGREGATE"
                return None if computed else str(self.before[at - 1].value)
        return None

    @property
    def lists_attributes(self) -> bool:
        """Whether it is in the brackets of PARTITION BY or of WITHIN n."""
        at = self.open_brackets[-1] if self.open_brackets else 0
        if not at or self.before[at].kind != "[":
            return False
        before = {token.kind for token in self.before[max(0, at - 2) : at]}
        return self.before[at - 1].kind in ("BY", ",") or "WITHIN" in before or self._after_window

    @property
    def _after_window(self) -> bool:
        """Whether the bracket follows a duration, which has a number and a unit."""
        at = self.open_brackets[-1]
        return at >= 2 and self.before[at - 2].kind in ("INTEGER", "DECIMAL")

    def path(self) -> list[str]:
        """Return the words of the dotted path before it: `a.b.` has a and b."""
        names: list[str] = []
        at = len(self.before) - 1
        while (
            at > 0 and self.before[at].kind == "." and self.before[at - 1].kind in ("NAME", "ANY")
        ):
            names.insert(0, str(self.before[at - 1].value))
            at -= 2
        return names


_CLAUSES = frozenset("SELECT FROM WHERE FILTER AGGREGATE PROJECT PARTITION WITHIN CONSUME".split())


def place_at(document: Document, offset: int) -> Place:
    """Return the place of a cursor."""
    before = [token for token in document.tokens if token.span.end <= offset]
    touched = next((t for t in document.scanned if t.span.start < offset <= t.span.end), None)
    literal = False
    if touched is not None:
        word = touched.text[:1].isalpha() or touched.text[:1] in "_`$"
        closed = touched.span.end == offset and touched.kind == "STRING"
        literal = touched.kind in (COMMENT, "STRING", "INTEGER", "DECIMAL") and not closed
        if word:
            before = [token for token in before if token.span.start < touched.span.start]
    expected = expected_after(token.kind for token in before)
    return Place(document, offset, before, expected, literal)
