"""Errors as data: diagnostics with their span, rendered when they are shown.

A `Diagnostic` names a span of the query's text, the problem and a hint. A
`CeqlError` carries one or more of them; its text is rendered on demand, so that the same error can
be plain in a log and coloured on a terminal.
"""

from __future__ import annotations

import bisect
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NamedTuple, TypeVar

from ensue.messages import Spelling, spelled


class Span(NamedTuple):
    """A half-open range of character offsets in a query's text."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """Return the span from the start of this one to the end of the other."""
        return Span(self.start, other.end)


@dataclass(frozen=True, slots=True)
class Fix:
    """A replacement that corrects the query: `text` instead of `span`."""

    span: Span
    text: str

    def apply(self, source: str) -> str:
        """Return the source with the replacement made."""
        return source[: self.span.start] + self.text + source[self.span.end :]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """An error (code E…) or a warning (code W…) about a query."""

    code: str
    span: Span
    message: str
    hint: str | None = None
    fix: Fix | None = None

    @property
    def is_warning(self) -> bool:
        return self.code.startswith("W")


@dataclass(frozen=True, slots=True)
class Source:
    """A query's text and its name."""

    text: str
    name: str = "query"
    _starts: list[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = [0]
        starts.extend(at + 1 for at, char in enumerate(self.text) if char == "\n")
        object.__setattr__(self, "_starts", starts)

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column, both from 1, of an offset.

        >>> Source("SELECT *\\nFROM S").place(14)
        (2, 6)
        """
        line = bisect.bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return the text of a line, without its end."""
        start = self._starts[number - 1]
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self.text[start:end].rstrip("\r")


_LONGEST_LINE = 160
"""Longer lines are cut to an excerpt around the caret."""

_PLAIN = {"bold": "", "red": "", "yellow": "", "blue": "", "reset": ""}
_COLOURS = {
    "bold": "\x1b[1m",
    "red": "\x1b[1;31m",
    "yellow": "\x1b[1;33m",
    "blue": "\x1b[34m",
    "reset": "\x1b[0m",
}


def render(
    diagnostic: Diagnostic, source: Source, *, colour: bool = False, spelling: Spelling = str
) -> str:
    """Render a diagnostic: message, place, the line of text, carets under the span, hint."""
    paint = _COLOURS if colour else _PLAIN
    line, column = source.place(min(diagnostic.span.start, len(source.text)))
    text = source.line(line)
    width = max(1, min(diagnostic.span.end, len(source.text)) - diagnostic.span.start)
    text, left = _excerpt(_printable(text), column - 1)
    before = "".join(char if char == "\t" else " " for char in text[:left])
    carets = "^" * max(1, min(width, len(text) - left))
    gutter = " " * len(str(line))
    tone = paint["yellow"] if diagnostic.is_warning else paint["red"]
    word = "warning" if diagnostic.is_warning else "error"
    blue, reset = paint["blue"], paint["reset"]
    message = spelled(diagnostic.message, spelling)
    lines = [
        f"{tone}{word}[{diagnostic.code}]{reset}{paint['bold']}: {message}{reset}",
        f"{gutter} {blue}-->{reset} {source.name}:{line}:{column}",
        f"{blue}{line} |{reset} {text}",
        f"{blue}{gutter} |{reset} {before}{tone}{carets}{reset}",
    ]
    if diagnostic.hint:
        lines.append(f"{blue}{gutter} ={reset} {spelled(diagnostic.hint, spelling)}")
    return "\n".join(lines)


def _printable(text: str) -> str:
    """Replace characters that are not printable by a dot."""
    return "".join(char if char.isprintable() or char == "\t" else "·" for char in text)


def _excerpt(text: str, left: int) -> tuple[str, int]:
    """Cut a very long line to an excerpt; return it and the new column of the caret."""
    if len(text) <= _LONGEST_LINE:
        return text, left
    start = max(0, left - _LONGEST_LINE // 2)
    end = min(len(text), start + _LONGEST_LINE)
    head = "… " if start else ""
    tail = " …" if end < len(text) else ""
    return head + text[start:end] + tail, left - start + len(head)


class EnsueError(Exception):
    """The base of all errors that Ensue raises on purpose.

    Its message says what to do, so the frames inside Ensue are hidden: a notebook shows the message
    alone, and pytest the test's own lines (`--full-trace` shows all).
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        frame = sys._getframe(1)
        while frame.f_back is not None and _is_ours(frame):
            frame.f_globals.setdefault("__tracebackhide__", _is_on_purpose)
            frame = frame.f_back

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows instead of a traceback."""
        return [f"{type(self).__name__}:", *str(self).splitlines()]


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("ensue.")


def _is_on_purpose(raised: Any) -> bool:
    """Return whether pytest, which passes its ExceptionInfo, hides the frames of a module."""
    return isinstance(raised.value, EnsueError)


class CeqlError(EnsueError, ValueError):
    """A query that cannot be compiled; subclasses for syntax, names, types and semantics."""

    def __init__(self, diagnostics: Diagnostic | Sequence[Diagnostic], source: Source) -> None:
        if isinstance(diagnostics, Diagnostic):
            diagnostics = (diagnostics,)
        self.diagnostics = tuple(diagnostics)
        self.source = source
        super().__init__(self.diagnostics, source)

    def __str__(self) -> str:
        return self.render()

    def __reduce__(self) -> tuple[type[CeqlError], tuple[tuple[Diagnostic, ...], Source]]:
        return type(self), (self.diagnostics, self.source)

    def render(self, *, colour: bool = False, spelling: Spelling = str) -> str:
        """Draw all diagnostics, the first one first, with options in this spelling."""
        return "\n\n".join(
            render(each, self.source, colour=colour, spelling=spelling) for each in self.diagnostics
        )

    @property
    def code(self) -> str:
        """The stable code of the first error, such as 'E203'."""
        return self.diagnostics[0].code

    @property
    def line(self) -> int:
        """The line, from 1, of the first error."""
        return self.source.place(self.diagnostics[0].span.start)[0]

    @property
    def column(self) -> int:
        """The column, from 1, of the first error."""
        return self.source.place(self.diagnostics[0].span.start)[1]

    @property
    def hint(self) -> str | None:
        """The hint of the first error, if it has one."""
        return self.diagnostics[0].hint


class CeqlSyntaxError(CeqlError):
    """The text is not CEQL (codes E1xx)."""


class CeqlNameError(CeqlError):
    """An unknown name (codes E2xx)."""


class CeqlTypeError(CeqlError):
    """Incompatible types (codes E3xx)."""


class CeqlSemanticError(CeqlError):
    """A well-formed and well-typed query that has no meaning (codes E4xx)."""


class EventError(EnsueError, ValueError):
    """Bad data: the message names the row or column, and what to do."""

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row
        """The index of the bad row in its batch, from 0, if it is one row."""


class FunctionError(EventError):
    """A function or aggregate of the user failed: the message names it, the query and the row."""


class SnapshotError(EnsueError, ValueError):
    """A snapshot that is damaged, of a newer version, or of another query."""


class BudgetError(EnsueError, RuntimeError):
    """A limit was exceeded; the state is unchanged."""

    matches: Any = None
    """The matches found before the limit was reached, if a session raised this."""


class CeqlWarning(UserWarning):
    """A valid query that probably does not do what was intended."""


class EventWarning(UserWarning):
    """Data that can be read but probably contain mistakes."""


class UnseenWarning(EventWarning):
    """A query without matches requires types, attributes or values that no event has."""


def warn(message: str, kind: type[Warning]) -> None:
    """Warn at the line of the user's code that called Ensue."""
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, kind, stacklevel=depth)


_T = TypeVar("_T")


def renamed(old: str, new: str, value: _T) -> _T:
    """Return what an attribute of an old name stands for, with a warning."""
    warn(f"'{old}' is deprecated: write '{new}'", DeprecationWarning)
    return value


_KINDS: dict[str, type[CeqlError]] = {
    "E1": CeqlSyntaxError,
    "E2": CeqlNameError,
    "E3": CeqlTypeError,
    "E4": CeqlSemanticError,
}


def ceql_error(diagnostics: Iterable[Diagnostic], source: Source) -> CeqlError:
    """Return the error of the class that belongs to the first diagnostic's code."""
    ordered = sorted(diagnostics, key=lambda each: each.span)
    return _KINDS[ordered[0].code[:2]](ordered, source)
