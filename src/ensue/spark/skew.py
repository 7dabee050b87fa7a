"""Keys that are too heavy: a key is never cut in two, so its task takes as long as it does."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.analysis.schema import AttributePath
from ensue.predicates.vectors import column_at

_LOG = logging.getLogger("ensue.spark")

_SAMPLED_EVERY = 64
"""One event of so many is looked at."""

_WARNS_FROM_EVENTS = 100_000
"""Fewer events are not worth a warning."""

_LEAST_KEYS = 8
"""With fewer keys in a task, it is no wonder that one of them has half of its events."""

_MOST_KEYS = 100_000
HALF = 0.5


@dataclass(slots=True)
class Skew:
    """Looks for a key that half of the events of a task have."""

    keys: Sequence[AttributePath]
    _rows: int = 0
    _seen: Counter[tuple[Any, ...]] = field(default_factory=Counter)

    def look(self, table: pa.Table) -> None:
        """Count the keys of some of the events."""
        chosen = pa.array(np.arange(-self._rows % _SAMPLED_EVERY, table.num_rows, _SAMPLED_EVERY))
        self._rows += table.num_rows
        columns = [column_at(table, path).take(chosen).to_pylist() for path in self.keys]
        self._seen.update(zip(*columns, strict=True))
        if len(self._seen) > _MOST_KEYS:
            self._seen = Counter(dict(self._seen.most_common(_MOST_KEYS // 10)))

    def report(self) -> None:
        """Say so in the log of the worker, which local Spark shows, where a key is too heavy."""
        if self._rows < _WARNS_FROM_EVENTS or len(self._seen) < _LEAST_KEYS:
            return
        ((key, count),) = self._seen.most_common(1)
        share = count / self._seen.total()
        if share >= HALF:
            keys = ", ".join(
                f"{'.'.join(path)} = {value!r}" for path, value in zip(self.keys, key, strict=True)
            )
            _LOG.warning(
                "the key %s has %.0f%% of the %s events of its task, which takes longer than "
                "others, whatever the cluster: a key is never cut in two",
                keys,
                100 * share,
                f"{self._rows:,}",
            )
