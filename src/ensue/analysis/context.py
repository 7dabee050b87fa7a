"""Context of one analysis: the source, the schema, the parameters and the problems found."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ensue.analysis.schema import OPEN, Schema
from ensue.analysis.types import TIME_UNITS
from ensue.errors import Diagnostic, Fix, Source, Span
from ensue.language.tokens import quoted

if TYPE_CHECKING:
    from ensue.analysis.user_functions import UserAggregate, UserFunction


@dataclass(frozen=True, slots=True)
class Clock:
    """The time column: its name and, for integers, its unit."""

    column: tuple[str, ...] | None = None
    unit: str | None = None
    known: bool = False
    """False while a query is compiled without data: then a missing time column is no error yet."""

    @property
    def nanoseconds(self) -> int | None:
        return None if self.unit is None else TIME_UNITS[self.unit]


@dataclass(slots=True)
class Context:
    """The state of one analysis: problems are collected, not raised, so that all are shown."""

    source: Source
    schema: Schema = OPEN
    parameters: Mapping[str, object] | None = field(default_factory=dict)
    """None: parameters are not known yet, as when a file is checked."""
    clock: Clock = Clock()
    problems: list[Diagnostic] = field(default_factory=list)
    functions: Mapping[str, UserFunction] = field(default_factory=dict)
    """Those of the user, by their names in lower case."""
    aggregates: Mapping[str, UserAggregate] = field(default_factory=dict)
    """Likewise."""

    def report(
        self, code: str, span: Span, message: str, hint: str | None = None, fix: Fix | None = None
    ) -> None:
        self.problems.append(Diagnostic(code, span, message, hint, fix))

    def report_name(
        self, code: str, span: Span, message: str, name: str, known: Iterable[str], otherwise: str
    ) -> None:
        """Report an unknown name, with the most similar known one."""
        near = nearest(name, known)
        if near is None:
            self.report(code, span, message, otherwise)
        else:
            written = ".".join(quoted(part) for part in near.split("."))
            self.report(code, span, message, f"did you mean '{near}'?", Fix(span, written))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the most similar known name, or None if none is similar.

    >>> nearest("prise", ["name", "price"]), nearest("MSFT", ["price"])
    ('price', None)
    """
    names = sorted(set(known) - {name})
    folded = {each.lower(): each for each in reversed(names)}
    close = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close and abs(len(close[0]) - len(name)) <= 2 else None


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number of things.

    >>> count(1, "error"), count(2000, "match", "matches"), count(0, "warning")
    ('1 error', '2,000 matches', 'no warnings')
    """
    plural = plural or noun + "s"
    return f"{f'{number:,}' if number else 'no'} {noun if number == 1 else plural}"


def listing(names: Iterable[str], most: int = 8) -> str:
    """Join names by commas; of many names, show the first and the number."""
    ordered = list(dict.fromkeys(names))
    text = ", ".join(ordered[:most])
    return text if len(ordered) <= most else f"{text}, … ({len(ordered)} in all)"
