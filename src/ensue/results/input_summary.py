"""What became of the events behind some matches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from ensue.io.rejected import Rejected
from ensue.logic.evaluate import Tally


@dataclass(slots=True)
class InputSummary:
    """What became of the events behind some matches."""

    tally: Tally = field(default_factory=Tally)
    events: int = 0
    """How many got a position."""
    late: list[pa.Table] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)

    def add(self, late: pa.Table | None, rejected: Iterable[Rejected]) -> None:
        """Add rows that do not take part."""
        if late is not None:
            self.late.append(late)
        self.rejected.extend(rejected)
