"""What only the command line has: where matches go, in which format, and how a run goes on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from ensue.cli.inputs import STDIN
from ensue.cli.terminal import UsageError
from ensue.io.files import COMPRESSED, with_compressed


class Engine(StrEnum):
    """Where a query is evaluated."""

    LOCAL = "local"
    SPARK = "spark"


class Format(StrEnum):
    """How to write matches."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"

    @property
    def is_uniform(self) -> bool:
        """Whether all rows have the same columns, whatever the query."""
        return self in (Format.CSV, Format.PARQUET)


_SUFFIXES = {
    (".parquet", ".pq"): Format.PARQUET,
    with_compressed(".csv"): Format.CSV,
    with_compressed(".json", ".jsonl", ".ndjson"): Format.JSON,
    (".txt",): Format.TABLE,
}


@dataclass(frozen=True, slots=True)
class Interval:
    """How often a checkpoint is written: after so many events, or so many seconds."""

    events: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Where matches go and how, and how the run goes on."""

    format: Format
    out: Path | None
    show_events: bool
    long: bool
    """Whether every event of a match is a row."""
    limit_rows: int
    """How many matches a table shows."""
    follow: bool
    checkpoint: Path | None
    checkpoint_every: Interval
    rejected: Path | None = None
    """The file of events that cannot be read; None: they stop the run."""
    until: int | datetime | None = None
    """The time that has come after the last event."""
    tick: float | None = None
    """How many seconds pass between two looks at the clock, where no events come."""

    @property
    def outputs(self) -> dict[str, Path | None]:
        """The files that are written, by the option that names them."""
        return {
            "-o": self.out,
            "--checkpoint": self.checkpoint,
            "--on-error collect": self.rejected,
        }


def output_format(format: Format | None, out: Path | None, *, follow: bool) -> Format:
    """Decide how to write, before the work is done."""
    if out is None:
        if format is Format.PARQUET:
            raise UsageError("--format parquet needs a file: add -o matches.parquet")
        return format or (Format.JSON if follow else Format.TABLE)
    refuse_bad_file("-o", out)
    name = out.name.lower()
    by_name = next((each for ends, each in _SUFFIXES.items() if name.endswith(ends)), None)
    if Format.PARQUET in (format, by_name) and format not in (None, by_name):
        raise UsageError(f"-o {out} and --format {format} do not go together")
    chosen = format or by_name
    if chosen is None:
        raise UsageError(
            f"-o {out}: the name must end in .csv, .jsonl, .parquet or .txt, or add --format"
        )
    return chosen


def rejected_file(given: tuple[str, Path] | None) -> Path | None:
    """Read --on-error: where rejected events are kept."""
    if given is None:
        return None
    word, path = given
    if word != "collect":
        raise UsageError(
            f"--on-error {word}: write --on-error collect FILE; without it, the run stops"
        )
    refuse_bad_file("--on-error collect", path)
    return path


def shows_events(wanted: bool | None, *, positions_only: bool, long: bool) -> bool:
    """Read --events, --positions and --output, which must agree."""
    if long and wanted is False:
        raise UsageError("--long writes events, so it does not go with --positions")
    if positions_only:
        if wanted:
            raise UsageError("--events and --output positions do not go together")
        return False
    return wanted is not False


def checkpoint_interval(text: str) -> Interval:
    """Read how often a checkpoint is written.

    >>> checkpoint_interval("5000")
    Interval(events=5000, seconds=None)
    >>> checkpoint_interval("1.5 s").seconds, checkpoint_interval("2m").seconds
    (1.5, 120.0)
    """
    number = text.replace(",", "").replace("_", "")
    if number.isdecimal() and int(number):
        return Interval(events=int(number))
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *(ms|s|m|h)", text)
    if found is None:
        raise UsageError(f"--checkpoint-every {text}: write a number of events, or a time as 10s")
    seconds = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[found[2]]
    return Interval(seconds=float(found[1]) * seconds)


def refuse_bad_file(option: str, path: Path) -> None:
    """Stop where a file cannot be written, because of what there is or is not."""
    if path.is_dir():
        raise UsageError(f"{option} {path}: this is a folder")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{option} {path}: there is no such folder")


def refuse_conflicts(paths: Mapping[str, Sequence[str]], options: RunOptions) -> None:
    """Stop before anything is done when options do not go together."""
    if options.follow and len(paths) > 1:
        raise UsageError("--follow reads one stream, and these are several")
    if options.follow and options.format is Format.PARQUET:
        raise UsageError(
            "--follow writes matches at once, and a Parquet file is written at the end"
        )
    if options.checkpoint is None:
        return
    if options.out is None or options.format not in (Format.JSON, Format.CSV):
        raise UsageError(
            "--checkpoint needs a file of matches that can be continued: -o matches.jsonl or "
            "-o matches.csv"
        )
    if options.out.suffix.lower() in COMPRESSED:
        raise UsageError(
            f"-o {options.out}: a compressed file cannot be continued, as --checkpoint does"
        )
    if any(STDIN in files for files in paths.values()):
        raise UsageError(
            "--checkpoint needs events that can be read again: write them to a file, and follow it"
        )
    refuse_bad_file("--checkpoint", options.checkpoint)
