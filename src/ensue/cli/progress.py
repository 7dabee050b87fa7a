"""How far a run has come: a bar and a rate, on a terminal only."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from ensue.cli.terminal import remarks

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Told(Protocol):
    """Somebody who wants to know how far the run has come."""

    def __call__(self, done: int, total: int | None, /) -> None:
        """Hear how many events were read, of how many if that is known or can be guessed."""


@contextmanager
def progress() -> Iterator[Told]:
    """Show how many events were read, how many a second, and how long the rest will take."""
    console = remarks()
    if not console.is_terminal:
        yield _say_nothing
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TextColumn("{task.fields[told]}"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        yield _Bar(bar, bar.add_task("events", total=None, told="Looking for matches"))


def _say_nothing(_: int, __: int | None) -> None:
    """Say nothing: there is no terminal."""


class _Bar:
    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar = bar
        self._task = task
        self._start = clock.perf_counter()

    def __call__(self, done: int, total: int | None) -> None:
        seconds = clock.perf_counter() - self._start
        self._bar.update(self._task, completed=done, total=total, told=told(done, seconds))


def told(done: int, seconds: float) -> str:
    """Say how many events were read, and how many a second.

    >>> told(12_300_000, 2.0), told(500, 2.0), told(0, 0.0)
    ('12,300,000 events, 6.2M/s', '500 events, 250/s', '0 events')
    """
    said = f"{done:,} events"
    if not done or seconds <= 0:
        return said
    rate = done / seconds
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if rate >= size:
            return f"{said}, {rate / size:.1f}{letter}/s"
    return f"{said}, {rate:.0f}/s"
