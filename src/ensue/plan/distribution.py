"""How the events of a query may be spread over tasks: by key, by slices of time, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ensue.analysis.bound import BoundQuery
from ensue.analysis.schema import AttributePath
from ensue.logic import formula as f

Kind = Literal["keys", "slices", "one"]


@dataclass(frozen=True, slots=True)
class Distribution:
    """Which events have to meet in one task, and why."""

    kind: Kind
    why: str
    keys: tuple[AttributePath, ...] = ()
    window: int = 0
    """For slices: the longest match, in the engine's units of time."""

    def __str__(self) -> str:
        if self.kind == "keys":
            return f"by key ({', '.join('.'.join(path) for path in self.keys)}): {self.why}"
        if self.kind == "slices":
            return f"by slices of time that overlap by the window: {self.why}"
        return f"in one task: {self.why}"


def distribution_of(bound: BoundQuery, formula: f.Formula) -> Distribution:
    """Decide how the events of a query may be spread.

    Matches never have events of two keys, so keys are independent. Without keys, a window in time
    bounds how far a match reaches, so slices of time are, if each is read with the window before
    it and gives only the matches that end in it.
    """
    if bound.consume == "ANY":
        return Distribution("one", "CONSUME BY ANY forgets across all partitions")
    if bound.partition:
        return Distribution("keys", "no match has events of two keys", bound.partition)
    if bound.not_followed is not None:
        return Distribution("one", "what must not follow may be anywhere, without PARTITION BY")
    if bound.consume == "PARTITION":
        return Distribution("one", "CONSUME BY PARTITION without PARTITION BY forgets everything")
    if asks_start(formula):
        return Distribution(
            "one", "START asks for the first event of all, and there is no PARTITION BY"
        )
    if bound.window is None:
        return Distribution(
            "one", "without PARTITION BY and WITHIN a match may reach over all events"
        )
    if bound.window.kind == "events":
        return Distribution(
            "one", "WITHIN … EVENTS counts all events, and there is no PARTITION BY"
        )
    if bound.every is not None:
        return Distribution("one", "EVERY adds up over all events, and there is no PARTITION BY")
    return Distribution("slices", "WITHIN bounds a match in time", window=bound.window.size)


def shared_distribution(levels: Sequence[BoundQuery]) -> Distribution:
    """Decide how events may be spread for queries that read each other's matches: by common keys.

    What is partitioned by more keys is also partitioned by these.
    """
    if any(bound.consume == "ANY" for bound in levels):
        return Distribution("one", "CONSUME BY ANY forgets across all partitions")
    common = [
        path for path in levels[0].partition if all(path in each.partition for each in levels)
    ]
    if not common:
        why = "the query and its derived streams have no key of PARTITION BY in common"
        return Distribution("one", why)
    why = "the query and its derived streams share the key"
    return Distribution("keys", why, tuple(common))


def asks_start(formula: f.Formula) -> bool:
    """Tell whether a formula asks for the first event of the stream, or of its partition."""
    return any(
        isinstance(each, f.Select) and each.strategy == "START" for each in f.subformulas(formula)
    )
