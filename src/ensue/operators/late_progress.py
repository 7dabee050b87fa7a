"""What a query has consumed and completed, where only listing tells.

The matches of a batch are listed for it before the next batch is read. Where that takes more than a
budget, they stay as they are, in their match graph with the events that they need: nothing more is
read until the budget is larger, and snapshots hold them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ensue.analysis.schema import AttributePath
from ensue.errors import BudgetError
from ensue.kernels.graph.gathered import GatheredGraph
from ensue.kernels.layout import CLIP, Hits
from ensue.kernels.match.state import check_graph, saved_labels
from ensue.kernels.tables import Table
from ensue.results.aggregates import AggregatedMatches
from ensue.results.deadlines import Deadlines
from ensue.results.progress import NO_PROGRESS, Progress
from ensue.results.residual_filter import ResidualFilter
from ensue.state.container import below, part
from ensue.stream.store import EventStore


@dataclass(slots=True)
class LateProgress:
    """What was consumed and completed, and the last matches, which may tell more."""

    progress: Progress = NO_PROGRESS
    newest: ResidualFilter | None = None

    def settle(self, oldest: int) -> None:
        """List the last matches; BudgetError where they are too many, and nothing has changed.

        What is before the first event that partial matches may refer to is forgotten.
        """
        if self.newest is not None:
            self.newest.found.query = None
            self.progress = self.newest.after().since(oldest)
            self.newest = None

    def save(self, oldest: int, table: Table) -> dict[str, Any]:
        """Return what is known, and matches that are too many to be listed."""
        try:
            self.settle(oldest)
        except BudgetError:
            assert self.newest is not None
            return self.progress.save() | below("unlisted", save_matches(self.newest, table))
        return self.progress.save()

    def load(
        self,
        saved: Mapping[str, Any],
        fresh: ResidualFilter | None,
        table: Table,
        time_path: AttributePath | None,
    ) -> None:
        """Go on with what was saved; matches that were not listed become those of `fresh`."""
        self.progress = Progress.load(saved)
        unlisted = part(saved, "unlisted")
        if unlisted and fresh is not None:
            load_matches(fresh, unlisted, table, time_path)
            fresh.before = self.progress
            self.newest = fresh


def save_matches(found: ResidualFilter | AggregatedMatches, table: Table) -> dict[str, Any]:
    """Return matches that are not listed, with their graph and the events that they need."""
    graph = GatheredGraph()
    every = [graph.add(segment) for segment in found.found.segments]
    hits = Hits(*(np.concatenate(each) for each in zip(*every, strict=True)))
    positions = np.concatenate([graph.positions(), hits.end])
    store = EventStore()
    assert found.events is not None
    store.add(found.events())
    nodes = graph.save()
    saved: dict[str, Any] = {
        **nodes,
        "labels": saved_labels(nodes["graph/label"], table),
        **below("hits", hits._asdict()),
        **below("events", store.trimmed(int(positions.min()), positions).save()),
    }
    if found.deadlines is not None:
        late = found.deadlines
        saved |= {"late/end": late.end, "late/time": late.time, "late/last": late.last}
    return saved


def load_matches(
    found: ResidualFilter | AggregatedMatches,
    saved: Mapping[str, Any],
    table: Table,
    time_path: AttributePath | None,
) -> None:
    """Put matches that were not listed into a fresh set; ValueError where they cannot be."""
    hits = Hits(*(saved[f"hits/{name}"] for name in Hits._fields))
    check_graph(part(saved, "graph"), [CLIP, *saved["labels"]], hits.root)
    if {len(each) for each in hits} != {len(hits.end)} or not len(hits.end):
        raise ValueError("the matches that were not listed are inconsistent")
    label = saved["graph/label"].copy()
    for number, bits in saved["labels"].items():
        label[saved["graph/label"] == number] = table.label_of(bits)
    graph, store = GatheredGraph(), EventStore()
    graph.load(saved, label)
    store.load(part(saved, "events"), time_path)
    found.found.segments = [graph.segment(hits, -1)]
    found.events = store.view()
    if "late/end" in saved:
        found.deadlines = Deadlines(saved["late/end"], saved["late/time"], saved["late/last"])
