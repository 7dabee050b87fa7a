"""How a query is spread over a cluster: by key, by slices of time, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ensue.analysis.schema import AttributePath
from ensue.spark.program import Program

Kind = Literal["keys", "slices", "one"]

_WINDOWS_A_SLICE = 8
"""A slice is at least so many windows long: each is read with the window before it."""


@dataclass(frozen=True, slots=True)
class Way:
    """How the events of a query are brought together, and why."""

    kind: Kind
    why: str
    time: AttributePath
    keys: tuple[AttributePath, ...] = ()
    window: int = 0
    """For slices: the longest match, as the engine counts time."""


def way_of(program: Program) -> Way:
    """Choose how to spread a query."""
    bound, time = program.bound, program.time
    if bound.consume == "ANY":
        return Way("one", "CONSUME BY ANY forgets across all partitions", time)
    if bound.partition:
        keys = ", ".join(".".join(path) for path in bound.partition)
        return Way(
            "keys", f"PARTITION BY {keys}: no match has events of two keys", time, bound.partition
        )
    if bound.consume == "PARTITION":
        return Way("one", "CONSUME BY PARTITION without PARTITION BY forgets everything", time)
    if program.asks_start:
        return Way(
            "one", "START asks for the first event of all, and there is no PARTITION BY", time
        )
    if bound.window is None:
        return Way("one", "without PARTITION BY and WITHIN a match may reach over all events", time)
    if bound.window.kind == "events":
        return Way("one", "WITHIN … EVENTS counts all events, and there is no PARTITION BY", time)
    if bound.every is not None:
        return Way("one", "EVERY adds up over all events, and there is no PARTITION BY", time)
    return Way("slices", "WITHIN bounds a match in time", time, window=bound.window.size)


@dataclass(frozen=True, slots=True)
class Slices:
    """Time cut into slices of one length, from the first event on."""

    first: int
    length: int
    count: int


def slices_of(first: int, last: int, window: int, most: int) -> Slices:
    """Cut a stretch of time into at most so many slices, each much longer than the window.

    >>> slices_of(0, 999, 10, 4)
    Slices(first=0, length=250, count=4)
    >>> slices_of(0, 999, 100, 4)
    Slices(first=0, length=800, count=2)
    """
    span = last - first + 1
    length = max(-(-span // most), _WINDOWS_A_SLICE * window, 1)
    return Slices(first, length, -(-span // length))
