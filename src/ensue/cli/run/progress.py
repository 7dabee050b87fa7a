"""How far a run has come: a bar and a rate, on a terminal only."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from ensue.cli.terminal import remarks

if TYPE_CHECKING:
    from rich import progress as rich_progress


class Progress(Protocol):
    """Shows how far the run has come."""

    def __call__(self, done: int, total: int | None, /) -> None:
        """Show how many events were read, of how many where that is known or can be guessed."""


@contextmanager
def progress() -> Iterator[Progress]:
    """Show how many events were read, how many a second, and how long the rest will take."""
    console = remarks()
    if not console.is_terminal:
        yield _show_nothing
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        yield _Bar(bar, bar.add_task("events", total=None, rate="Looking for matches"))


def _show_nothing(_: int, __: int | None) -> None:
    """Show nothing: there is no terminal."""


class _Bar:
    def __init__(self, bar: rich_progress.Progress, task: rich_progress.TaskID) -> None:
        self._bar = bar
        self._task = task
        self._start = clock.perf_counter()

    def __call__(self, done: int, total: int | None) -> None:
        seconds = clock.perf_counter() - self._start
        self._bar.update(self._task, completed=done, total=total, rate=rate(done, seconds))


def rate(done: int, seconds: float) -> str:
    """Say how many events were read, and how many a second.

    >>> rate(12_300_000, 2.0), rate(500, 2.0), rate(0, 0.0)
    ('12,300,000 events, 6.2M/s', '500 events, 250/s', '0 events')
    """
    read = f"{done:,} events"
    if not done or seconds <= 0:
        return read
    a_second = done / seconds
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if a_second >= size:
            return f"{read}, {a_second / size:.1f}{letter}/s"
    return f"{read}, {a_second:.0f}/s"
