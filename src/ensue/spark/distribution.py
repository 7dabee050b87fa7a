"""How a query is spread over a cluster: by key, by slices of time, or not at all."""

from __future__ import annotations

from dataclasses import dataclass

from ensue.analysis.schema import AttributePath
from ensue.plan.distribution import Kind
from ensue.spark.program import Program

_WINDOWS_A_SLICE = 8
"""A slice is at least so many windows long: each is read with the window before it."""


@dataclass(frozen=True, slots=True)
class TimedDistribution:
    """How the events of a query are brought together, and why."""

    kind: Kind
    why: str
    time: AttributePath
    keys: tuple[AttributePath, ...] = ()
    window: int = 0
    """For slices: the longest match, as the engine counts time."""


def timed_distribution(program: Program) -> TimedDistribution:
    """Return how the plan of a query spreads its events."""
    spread = program.distribution
    return TimedDistribution(spread.kind, spread.why, program.time, spread.keys, spread.window)


@dataclass(frozen=True, slots=True)
class Slices:
    """Time cut into slices of one length, from the first event on."""

    first: int
    length: int
    count: int


def slices_of(first: int, last: int, window: int, most: int) -> Slices:
    """Cut a batch of time into at most so many slices, each much longer than the window.

    >>> slices_of(0, 999, 10, 4)
    Slices(first=0, length=250, count=4)
    >>> slices_of(0, 999, 100, 4)
    Slices(first=0, length=800, count=2)
    """
    span = last - first + 1
    length = max(-(-span // most), _WINDOWS_A_SLICE * window, 1)
    return Slices(first, length, -(-span // length))
