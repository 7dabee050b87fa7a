"""Checkpoints: what a run needs to go on after it was stopped, in one file.

A checkpoint holds the session, how far the events were read, and how long the file of matches was
at that moment. It is written beside and then put in its place in one step, after the matches are
on the disk; so whenever the run dies, the last checkpoint is whole, the file of matches is at
least as long as it says, and what was written after it is cut off and found again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ensue.cli.run.options import Interval
from ensue.cli.terminal import UsageError
from ensue.errors import SnapshotError
from ensue.io.columns import Position
from ensue.io.replacing import replacing

_MAGIC = b"ensue checkpoint 1\n"
_HEAD_BYTES = 1 << 12
"""How many of its first bytes identify a file."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a run, and where its input and outputs stood then."""

    about: Mapping[str, Any]
    """What the run is: query and options. Another run must not go on from it."""
    files: Mapping[str, Any]
    """The files of each stream, and what they begin with."""
    position: Position
    rows: int
    """How many events were read."""
    output: int
    """How many bytes of matches were written."""
    finished: bool
    session: bytes = field(repr=False)
    rejected: tuple[int, int] = (0, 0)
    """How many bytes of rejected events were written, and how many events they are."""


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Put a checkpoint in place of the one before it, in one step."""
    header = {
        "about": checkpoint.about,
        "files": checkpoint.files,
        "position": checkpoint.position,
        "rows": checkpoint.rows,
        "output": checkpoint.output,
        "finished": checkpoint.finished,
        "rejected": checkpoint.rejected,
    }
    content = json.dumps(header).encode() + b"\n" + checkpoint.session
    with replacing(path) as new:
        new.write_bytes(_MAGIC + hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
    _sync_folder(path)


def _sync_folder(path: Path) -> None:
    """Make sure that the name is on the disk too, where folders can be opened."""
    try:
        folder = os.open(path.absolute().parent, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_checkpoint(path: Path) -> Checkpoint | None:
    """Read a checkpoint; None where there is none yet."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    version, _, rest = data.partition(b"\n")
    if version + b"\n" != _MAGIC:
        if version.startswith(b"ensue checkpoint "):
            raise SnapshotError(
                f"{path}: this checkpoint was written by another version of Ensue; start anew "
                "with another file"
            )
        raise SnapshotError(f"{path}: this is not a checkpoint; choose another file")
    digest, _, content = rest.partition(b"\n")
    if hashlib.sha256(content).hexdigest().encode() != digest:
        raise SnapshotError(
            f"{path}: this checkpoint is damaged; remove it to start from the beginning"
        )
    header, _, session = content.partition(b"\n")
    known = json.loads(header)
    known["rejected"] = tuple(known.get("rejected", (0, 0)))
    return Checkpoint(**known, session=session)


def refuse_other_run(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Stop when a checkpoint belongs to another run than this one."""
    for key, value in now.items():
        if before.get(key) != value:
            raise SnapshotError(
                f"{path}: this checkpoint was made with another {key} ({_shown(before.get(key))}, "
                f"now {_shown(value)}); remove it to start from the beginning, or name another file"
            )


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"


def describe_files(files: Mapping[str, Sequence[Path]]) -> dict[str, Any]:
    """Name files and what they begin with, as far as they go by now."""
    return {
        name: [[str(path), *_head(path, _HEAD_BYTES)] for path in each]
        for name, each in files.items()
    }


def refuse_other_files(
    path: Path, before: Checkpoint, files: Mapping[str, Sequence[Path]], *, follow: bool
) -> None:
    """Stop when files are not those that a checkpoint was made with; they may have grown.

    A file that is followed may also have been rotated: its position says which one it was.
    """
    for name, known in before.files.items():
        now = [str(each) for each in files.get(name, ())]
        rotating = len(known) - 1 if follow and _has_origin(before.position.get(name)) else None
        for number, (was, length, digest) in enumerate(known):
            if now[number : number + 1] != [was]:
                raise SnapshotError(
                    f"{path}: this checkpoint was made with other events: {was} is not where it "
                    "was among the files; remove the checkpoint to start from the beginning"
                )
            if number != rotating and _head(Path(was), length) != (length, digest):
                raise SnapshotError(
                    f"{path}: this checkpoint was made with other events: {was} does not begin as "
                    "it did; remove the checkpoint to start from the beginning"
                )


def _has_origin(position: Position | None) -> bool:
    """Return whether a position is in a file that was followed."""
    within = (position or {}).get("within", position or {})
    return within.get("origin") is not None


def _head(path: Path, length: int) -> tuple[int, str]:
    with path.open("rb") as file:
        head = file.read(length)
    return len(head), hashlib.sha256(head).hexdigest()[:16]


def open_output(path: Path, length: int | None, option: str = "-o") -> Any:
    """Open a file that a run goes on with: anew, or cut to where the checkpoint was made."""
    if length is None:
        return path.open("wb")
    try:
        file = path.open("r+b")
    except FileNotFoundError:
        raise UsageError(
            f"{option} {path}: the file that the checkpoint belongs to is gone; remove the "
            "checkpoint to start from the beginning"
        ) from None
    size = file.seek(0, os.SEEK_END)
    if size < length:
        file.close()
        raise UsageError(
            f"{option} {path}: the file has {size:,} bytes, fewer than the {length:,} when the "
            "checkpoint was made; remove the checkpoint to start from the beginning"
        )
    file.truncate(length)
    file.seek(length)
    return file


class Saver:
    """Writes checkpoints now and then."""

    def __init__(
        self,
        path: Path,
        about: Mapping[str, Any],
        files: Mapping[str, Sequence[Path]],
        every: Interval,
        snapshot: Callable[[], bytes],
        output: Callable[[], int],
        now: Callable[[], float] = clock.monotonic,
        *,
        rejected: Callable[[], tuple[int, int]] = lambda: (0, 0),
    ) -> None:
        self._path = path
        self._about = about
        self._files = files
        self._every = every
        self._snapshot = snapshot
        self._output = output
        self._rejected = rejected
        self._now = now
        self._saved_at = now()
        self._saved_rows = 0
        self._rows = 0
        self._position: Position | None = None

    def started(self, rows: int) -> None:
        """Start from so many events that were read before."""
        self._rows = self._saved_rows = rows

    def step(self, rows: int, position: Position) -> None:
        """Note that more events were read and their matches written; save if it is time."""
        self._rows += rows
        self._position = position
        self.idle()

    def idle(self) -> None:
        """Save if it is time, and if anything is new."""
        new = self._rows - self._saved_rows
        if new and self._is_time(new):
            self.save()

    def _is_time(self, new: int) -> bool:
        if self._every.events is not None:
            return new >= self._every.events
        return self._now() - self._saved_at >= (self._every.seconds or 0.0)

    def save(self, *, finished: bool = False) -> None:
        """Write a checkpoint now."""
        if self._position is None and not finished:
            return
        output = self._output()
        checkpoint = Checkpoint(
            self._about,
            describe_files(self._files),
            self._position or {},
            self._rows,
            output,
            finished,
            self._snapshot(),
            self._rejected(),
        )
        write_checkpoint(self._path, checkpoint)
        self._saved_rows, self._saved_at = self._rows, self._now()
