"""What a session has seen and what it keeps, in numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import pyarrow as pa

from ensue.drawing.html import Cell, table, view
from ensue.engine.pipeline import Pipeline
from ensue.results.chunk import MatchCount
from ensue.stream.time_errors import shown_time


def gather(
    pipelines: Sequence[Pipeline], counts: Mapping[str, MatchCount], late: int, rejected: int
) -> dict[str, Any]:
    """Return the statistics of the queries of some pipelines on one stream."""
    instances = [each for pipeline in pipelines for each in pipeline.instances.values()]
    executions = [pipeline.execution for pipeline in pipelines]
    live = [instance.operator.live for instance in instances]
    tallies = [*(each.tally for each in instances), *(each.tally for each in executions)]
    return {
        "events": _released(pipelines),
        "matches": sum(each.total for each in counts.values()),
        "late": late,
        "rejected": rejected,
        "waiting": _waiting(pipelines),
        "watermark": _watermark(pipelines),
        "nodes": sum(nodes for nodes, _ in live),
        "bytes": sum(size for _, size in live) + sum(each.store.nbytes for each in executions),
        "rows": sum(each.store.rows for each in executions),
        "nulls": sum(tally.nulls for tally in tallies),
        "queries": {name: each.total for name, each in counts.items()},
    }


class StatsView(ABC):
    """Statistics as HTML, for notebooks."""

    @property
    @abstractmethod
    def stats(self) -> dict[str, Any]:
        """The statistics at this moment."""

    def _repr_html_(self) -> str:
        rows: list[list[Cell]] = []
        for name, value in self.stats.items():
            inner = value.items() if isinstance(value, Mapping) else [("", value)]
            rows += [[f"{name} {own}".strip(), _cell(each)] for own, each in inner]
        return view(f"<p>{escape(repr(self))}</p>", table(["", "now"], rows))


def _cell(value: object) -> Cell:
    if isinstance(value, bool) or not isinstance(value, int):
        return "" if value is None else str(value)
    return value


def progress(pipelines: Sequence[Pipeline]) -> str:
    """Say how far a stream was read."""
    events, waiting = _released(pipelines), _waiting(pipelines)
    read = f"{events:,} event{'' if events == 1 else 's'} read"
    return read + (f", {waiting:,} waiting" if waiting else "")


def _released(pipelines: Sequence[Pipeline]) -> int:
    return max((pipeline.released for pipeline in pipelines), default=0)


def _waiting(pipelines: Sequence[Pipeline]) -> int:
    buffers = [pipeline.reorder for pipeline in pipelines if pipeline.reorder is not None]
    return max((buffer.waiting for buffer in buffers), default=0)


def _watermark(pipelines: Sequence[Pipeline]) -> Any:
    """Return the watermark as the time column has it; None: there is none yet."""
    for pipeline in pipelines:
        buffer = pipeline.reorder
        if buffer is None or buffer.time_path is None or buffer.watermark is None:
            continue
        shown = shown_time(buffer.watermark, buffer.kind)
        return shown.as_py() if isinstance(shown, pa.Scalar) else shown
    return None
