"""Timelines: matches on a time axis, their events in colours, those between in grey.

The axis has the times of events, or their positions where they have no time or the window counts
events. Events in between are those that the result still has: all of a table, and of a live stream
only those that partial matches needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ensue.drawing.axis import Axis
from ensue.drawing.svg import COLOURS, Canvas, Picture, shortened, text_width, title
from ensue.plan.satisfied import Satisfied
from ensue.results.explanation import rows_inside, shown

if TYPE_CHECKING:
    from ensue.results.chunk import ResultChunk
    from ensue.results.match import Match

_WIDTH, _LANE, _TOP, _RIGHT = 760, 34, 20, 24
_ROW = 26
_MARGIN = 12
"""Left and right of the axis."""
_LONGEST_LABEL = 24
_MOST_BETWEEN = 100_000
"""Of more events between, so many are looked at."""

_MOST_ATTRIBUTES = 12
_TICK = 3.0
"""The width of an event between, in pixels: of those that would overlap, one is drawn."""


@dataclass(frozen=True, slots=True)
class Marked:
    """An event of a match: where it is on the axis, its variables and what is shown over it."""

    time: int
    position: int
    variables: tuple[str, ...]
    about: str


@dataclass(frozen=True, slots=True)
class Clock:
    """What the axis shows of events."""

    counts: bool
    """Positions instead of times."""
    instants: bool
    window: int | None
    """The length of the window, in units of the axis."""

    @classmethod
    def of(cls, chunk: ResultChunk, satisfied: Satisfied) -> Clock:
        """Choose the axis for some matches."""
        window, column = satisfied.window, chunk.stream.time_column
        counts = column is None or (window is not None and window.kind == "events")
        instants = not counts and column is not None and not pa.types.is_integer(column.type)
        return cls(counts, instants, None if window is None else window.size)

    def times(self, chunk: ResultChunk, rows: np.ndarray) -> np.ndarray:
        """Return where some rows are on the axis."""
        stream = chunk.stream
        times: np.ndarray = stream.all_positions()[rows] if self.counts else stream.times[rows]
        return times

    def at(self, chunk: ResultChunk, position: int) -> int:
        """Return where the event at a position is."""
        return int(self.times(chunk, chunk.stream.rows_at(np.array([position])))[0])


def match_timeline(match: Match) -> Picture:
    """Draw one match: a lane for each variable, the window as a band, what is between in grey."""
    chunk = match.chunk
    clock = Clock.of(chunk, chunk.schema.satisfied)
    marks = _marks(match, clock)
    lanes = _lanes([marks], chunk.schema.variables) or [""]
    start, end = clock.at(chunk, match.start), clock.at(chunk, match.end)
    until = end if clock.window is None else max(end, start + clock.window)
    left = _left(lanes)
    axis = _axis(clock, start, until, left)
    between = _between(match, clock, {mark.position for mark in marks})
    height = _TOP + _LANE * (len(lanes) + 1) + 34
    canvas = Canvas(_WIDTH, height)
    bottom = _TOP + _LANE * (len(lanes) + 1)
    if clock.window is not None:
        text = title(chunk.schema.satisfied.window_text)
        canvas.rect(
            axis(start), _TOP, axis(start + clock.window) - axis(start), bottom - _TOP, "band", text
        )
        text = shortened(chunk.schema.satisfied.window_text, 40)
        canvas.text(axis(start + clock.window) - 6, bottom - 6, text, "soft", "end")
    _draw_axis(canvas, axis, bottom)
    for number, name in enumerate([*lanes, "between"]):
        y = _TOP + _LANE * (number + 0.5)
        canvas.line(left, y, _WIDTH - _RIGHT, y)
        style = "soft" if number == len(lanes) else f"mono f{number % len(COLOURS)}"
        canvas.text(left - 10, y + 4, shortened(name, _LONGEST_LABEL), style, "end")
    _draw_between(canvas, axis, between, _TOP + _LANE * (len(lanes) + 0.5))
    places = [
        (axis(mark.time), _TOP + _LANE * (lanes.index(name) + 0.5), lanes.index(name), mark)
        for mark in marks
        for name in (mark.variables or ("",))
        if name in lanes
    ]
    if len(places) > 1:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y, *_ in places)
        canvas.add("polyline", points=points, class_="edge", stroke_opacity=0.5)
    for x, y, lane, mark in places:
        canvas.circle(x, y, 6.5, f"f{lane % len(COLOURS)}", title(mark.about))
        canvas.text(x, y - 10, str(mark.position), "soft halo", "middle")
    return canvas.picture(f"timeline of the match {match.start} to {match.end}")


@dataclass(frozen=True, slots=True)
class Group:
    """Matches that are drawn together, with what is written above them."""

    heading: str
    matches: Sequence[Match]


def matches_timeline(matches: Sequence[Match], more: bool) -> Picture:
    """Draw some matches, one below the other; events have the colours of their variables."""
    note = f"the first {len(matches)} matches" if more else ""
    return groups_timeline([Group("", matches)], note)


def groups_timeline(groups: Sequence[Group], note: str = "") -> Picture:
    """Draw groups of matches of the same events on one time axis."""
    every = [match for group in groups for match in group.matches]
    if not every:
        canvas = Canvas(_WIDTH, 40)
        canvas.text(16, 25, "no matches", "soft")
        return canvas.picture("no matches")
    chunk = every[0].chunk
    clock = Clock.of(chunk, chunk.schema.satisfied)
    marks = [_marks(match, clock) for match in every]
    lanes = _lanes(marks, chunk.schema.variables)
    starts = [clock.at(match.chunk, match.start) for match in every]
    ends = [clock.at(match.chunk, match.end) for match in every]
    left = _left([f"{match.start}..{match.end}" for match in every])
    last = max(*ends, *(start + (clock.window or 0) for start in starts), min(starts) + 1)
    axis = _axis(clock, min(starts), last, left)
    top = _TOP + (26.0 if lanes else 0.0)
    headings = sum(bool(group.heading) for group in groups)
    bottom = top + _ROW * (len(every) + headings + 1)
    canvas = Canvas(_WIDTH, bottom + 34 + (18 if note else 0))
    _draw_legend(canvas, lanes, left)
    y, number = top, 0
    for group in groups:
        if group.heading:
            canvas.text(left, y + _ROW / 2 + 4, group.heading, "mono")
            y += _ROW
        for match in group.matches:
            _draw_row(canvas, axis, clock, match, marks[number], lanes, y)
            y, number = y + _ROW, number + 1
    _draw_axis(canvas, axis, bottom)
    y = bottom - _ROW / 2
    canvas.text(left - 10, y + 4, "events", "soft", "end")
    bound = {mark.position for own in marks for mark in own}
    between = {each for match in every for each in _between(match, clock, bound)}
    _draw_between(canvas, axis, sorted(between), y)
    for time in sorted({mark.time for own in marks for mark in own}):
        canvas.rect(axis(time) - 1, y - 6, 2, 12, "tip")
    if note:
        canvas.text(left, bottom + 46, note, "soft")
    return canvas.picture(f"timeline of {len(every)} matches")


def _draw_row(
    canvas: Canvas,
    axis: Axis,
    clock: Clock,
    match: Match,
    marks: Sequence[Marked],
    lanes: Sequence[str],
    y: float,
) -> None:
    """Draw a match in a row: its window, its interval and its events."""
    chunk, middle = match.chunk, y + _ROW / 2
    start, end = clock.at(chunk, match.start), clock.at(chunk, match.end)
    if clock.window is not None:
        width = axis(start + clock.window) - axis(start)
        text = title(chunk.schema.satisfied.window_text)
        canvas.rect(axis(start), y + 3, width, _ROW - 6, "band", text)
    label = f"{match.start}..{match.end}"
    canvas.text(axis.left - _MARGIN - 10, middle + 4, label, "mono soft", "end")
    canvas.line(axis(start), middle, axis(end), middle, "edge")
    for mark in marks:
        name = next((each for each in mark.variables if each in lanes), "")
        colour = f"f{lanes.index(name) % len(COLOURS)}" if name else "tip"
        canvas.circle(axis(mark.time), middle, 5, colour, title(mark.about))


# Parts


def _marks(match: Match, clock: Clock) -> list[Marked]:
    explanation = match.explain()
    return [
        Marked(
            clock.at(match.chunk, event.position),
            event.position,
            event.variables,
            _about(event.position, event.variables, event.attributes),
        )
        for event in explanation.events
    ]


def _about(position: int, variables: Iterable[str], attributes: dict[str, Any] | Any) -> str:
    lines = [f"{position}  {', '.join(variables)}"]
    lines += [
        f"{name} = {shortened(shown(value), 60)}"
        for name, value in list(attributes.items())[:_MOST_ATTRIBUTES]
    ]
    return "\n".join(lines)


def _lanes(marks: Sequence[Sequence[Marked]], variables: Iterable[str]) -> list[str]:
    """Return the variables that have events, in the order of the query."""
    used = {name for own in marks for mark in own for name in mark.variables}
    return [name for name in variables if name in used]


def _left(labels: Iterable[str]) -> float:
    longest = max(
        text_width(shortened(each, _LONGEST_LABEL), mono=True) for each in [*labels, "between"]
    )
    return longest + 26


def _axis(clock: Clock, low: int, high: int, left: float) -> Axis:
    right = _WIDTH - _RIGHT - _MARGIN
    return Axis(low, max(high, low + 1), left + _MARGIN, right, clock.instants)


def _draw_axis(canvas: Canvas, axis: Axis, y: float) -> None:
    canvas.line(axis.left - _MARGIN, y, axis.right + _MARGIN, y, "edge")
    for time, text in axis.ticks():
        x = axis(time)
        canvas.line(x, y, x, y + 5, "edge")
        canvas.text(x, y + 19, text, "soft", "middle")


def _draw_legend(canvas: Canvas, lanes: Sequence[str], x: float) -> None:
    for number, name in enumerate(lanes):
        text = shortened(name, _LONGEST_LABEL)
        if x > _WIDTH - _RIGHT - 80:
            canvas.text(x, _TOP + 4, "…", "soft")
            return
        canvas.circle(x + 6, _TOP, 5, f"f{number % len(COLOURS)}")
        canvas.text(x + 16, _TOP + 4, text, "mono")
        x += text_width(text, mono=True) + 34


def _draw_between(canvas: Canvas, axis: Axis, times: Iterable[int], y: float) -> None:
    """Draw events that no variable has, where there is room beside the one before."""
    last = float("-inf")
    for time in times:
        x = axis(time)
        if x - last >= _TICK:
            canvas.rect(x - 1.5, y - 5, _TICK, 10, "grey")
            last = x


def _between(match: Match, clock: Clock, bound: set[int]) -> list[int]:
    """Return where the other events inside a match are, of its own partition, in order."""
    rows = rows_inside(match, _MOST_BETWEEN)
    rows = rows[~np.isin(match.chunk.stream.all_positions()[rows], list(bound))]
    return [int(time) for time in clock.times(match.chunk, rows)]
