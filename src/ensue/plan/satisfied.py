"""What every match of a query satisfies: conditions and windows, kept for explanations.

Only what stands outside UNLESS, NOT FOLLOWED BY and NOT is here: the rest is about events that are
not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ensue.analysis.bound import BoundQuery, Window
from ensue.analysis.conditions import AllOf, AnyOf, Condition, Each, Relation
from ensue.analysis.expressions import calls_of
from ensue.analysis.patterns import partition_place
from ensue.analysis.windows import window_of
from ensue.language import tree
from ensue.language.printer import format_pattern, format_window
from ensue.logic.formula import Atomic


@dataclass(frozen=True, slots=True)
class Required:
    """A condition of FILTER, or of PARTITION BY inside a pattern."""

    condition: Atomic
    optional: bool
    """Whether a match need not satisfy it, because it stands beside an OR."""


@dataclass(frozen=True, slots=True)
class Satisfied:
    """What every match of a query satisfies."""

    conditions: tuple[Required, ...] = ()
    window: Window | None = None
    window_text: str = ""
    absences: tuple[str, ...] = ()
    """What must not happen inside a match, as it was written."""

    def __reduce__(self) -> tuple[type[Satisfied], tuple[object, ...]]:
        """Be pickled without conditions that call the user's functions, which pickle may refuse."""
        kept = tuple(each for each in self.conditions if not _calls(each.condition))
        return Satisfied, (kept, self.window, self.window_text, self.absences)


def satisfied(bound: BoundQuery) -> Satisfied:
    """Collect what every match of a query satisfies."""
    pattern = bound.tree.pattern
    window = window_of(bound.tree)
    return Satisfied(
        tuple(_conditions(pattern, bound, optional=False)),
        bound.window,
        "" if window is None else format_window(window),
        tuple(_absences(pattern)),
    )


def _conditions(pattern: tree.Pattern, bound: BoundQuery, optional: bool) -> Iterator[Required]:
    match pattern:
        case tree.Event() | tree.Absent():
            return
        case tree.Sequence(items=items) | tree.Combined(items=items):
            beside = optional or (isinstance(pattern, tree.Combined) and pattern.operator == "OR")
            for item in items:
                yield from _conditions(item, bound, beside)
            return
        case tree.Filtered(condition=condition):
            yield from _parts(bound.conditions[condition.span], optional)
        case tree.Partitioned(keys=keys):
            yield from _parts(bound.conditions[partition_place(keys)], optional)
    yield from _conditions(pattern.pattern, bound, optional)


def _parts(condition: Condition, optional: bool) -> Iterator[Required]:
    match condition:
        case AllOf(conditions=parts):
            for part in parts:
                yield from _parts(part, optional)
        case AnyOf(conditions=parts):
            for part in parts:
                yield from _parts(part, True)
        case _:
            yield Required(condition, optional)


def _absences(pattern: tree.Pattern) -> Iterator[str]:
    match pattern:
        case tree.Event() | tree.Absent():
            return
        case tree.Sequence(items=items) | tree.Combined(items=items):
            for item in items:
                yield from _absences(item)
            return
        case tree.Unless(absent=absent):
            yield format_pattern(absent)
    yield from _absences(pattern.pattern)


def _calls(condition: Atomic) -> bool:
    return isinstance(condition, Each | Relation) and bool(calls_of(condition.predicate))
