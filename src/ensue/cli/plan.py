"""What a run is asked for, apart from the query and the events."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Format(StrEnum):
    """How to write matches."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True)
class Every:
    """How often a checkpoint is written: after so many events, or so many seconds."""

    events: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Where matches go and how, and how the run goes on."""

    format: Format
    out: Path | None
    show_events: bool
    long: bool
    """Whether every event of a match is a row."""
    most_rows: int
    """So many matches are shown in a table."""
    follow: bool
    checkpoint: Path | None
    every: Every
    rejected: Path | None = None
    """Where events are kept that cannot be read; None: they stop the run."""
