"""Events that do not take part in a session: late ones and rejected ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from ensue.engine.pipeline import PreparedPush
from ensue.io.rejected import Rejected

KEPT = 10_000
"""So many late events, and rejected ones, are kept: the last ones."""


@dataclass(slots=True)
class LeftOut:
    """How many events were late or rejected, and the last of them."""

    late: int = 0
    rejected: int = 0
    rejected_rows: deque[Rejected] = field(default_factory=lambda: deque(maxlen=KEPT))
    _late_tables: deque[pa.Table] = field(default_factory=deque)

    def add(self, prepared: Sequence[PreparedPush]) -> None:
        """Save what does not take part; pipelines on one clock agree on it."""
        by_clock = {each.reorder.time_path: each for each in reversed(prepared)}
        for each in by_clock.values():
            if each.late is not None:
                self.late += each.late.num_rows
                self._late_tables.append(each.late)
                kept = sum(table.num_rows for table in self._late_tables)
                while kept - self._late_tables[0].num_rows >= KEPT:
                    kept -= self._late_tables.popleft().num_rows
            if each.rejected:
                self.rejected += len(each.rejected)
                self.rejected_rows.extend(each.rejected)

    def late_table(self, fields: Mapping[str, pa.DataType]) -> pa.Table:
        """Return the last late events; where there are none, a table of these columns."""
        if not self._late_tables:
            return pa.schema(list(fields.items())).empty_table()
        every = pa.concat_tables(list(self._late_tables), promote_options="permissive")
        return every.slice(max(every.num_rows - KEPT, 0))
