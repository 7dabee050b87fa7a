"""Counts of events of one time that are not kept any more.

Ids of matches number events of one time, tiebreak and partition (see ordinals.py). A store that
drops some events of a time keeps these counts instead of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ensue.plan.result_schema import Numbering
from ensue.state.container import below, part

COUNT = "count"
"""The column of counts; those of partition and tiebreak are called by their numbers."""


@dataclass(frozen=True, slots=True)
class Ties:
    """How many events of one time came before a position, by partition and tiebreak."""

    time: int
    position: int
    counts: Mapping[Numbering, pa.Table]

    @property
    def size(self) -> int:
        """How many counts there are."""
        return sum(each.num_rows for each in self.counts.values())

    def save(self) -> dict[str, Any]:
        """Return the counts as plain values and tables."""
        saved: dict[str, Any] = {
            "time": self.time,
            "position": self.position,
            "of": tuple(tuple(each) for each in self.counts),
        }
        for number, table in enumerate(self.counts.values()):
            saved |= below(str(number), {"counts": table})
        return saved


def load_ties(saved: Mapping[str, Any]) -> Ties | None:
    """Read counts that were saved, if any; ValueError where they cannot be."""
    if not saved:
        return None
    counts = {
        Numbering(*each): part(saved, str(number))["counts"]
        for number, each in enumerate(saved["of"])
    }
    if any(COUNT not in each.column_names for each in counts.values()):
        raise ValueError("counts of events are missing")
    return Ties(saved["time"], saved["position"], counts)
