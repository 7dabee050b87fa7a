"""Events that cannot be read or take part: kept in a file, counted, and shown at the end."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from ensue.cli.flags import as_flag
from ensue.cli.terminal import count, remark
from ensue.io.columns import Locate
from ensue.io.rejected import Rejected
from ensue.messages import spelled

_SHOWN = 5
"""So many of them are shown at the end."""


class RejectedEvents:
    """JSON lines of rejected events: file, line, reason, and the event or the text of its line."""

    def __init__(self, stream: IO[bytes], path: Path, before: int = 0) -> None:
        self._stream = stream
        self._path = path
        self._first: list[str] = []
        self.count = before
        """How many there are, with those of runs that this one goes on from."""

    def write(self, rejected: Iterable[Rejected]) -> None:
        """Keep events, and hand them to the system at once."""
        for each in rejected:
            record = {"file": each.file, "line": each.line, "reason": _reason(each)}
            record |= {"text" if isinstance(each.event, str) else "event": each.event}
            self._stream.write(f"{_encode(record)}\n".encode())
            self.count += 1
            if len(self._first) < _SHOWN:
                self._first.append(_sentence(each))
        self._stream.flush()

    def position(self) -> tuple[int, int]:
        """Return how many bytes were written, all of them on the disk, and how many events."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        return self._stream.tell(), self.count

    def show(self) -> None:
        """Say how many there are, and why the first ones are among them."""
        if not self.count:
            return
        for sentence in self._first:
            remark(f"  {sentence}")
        more = self.count - len(self._first)
        if more and self._first:
            remark(f"  … and {more:,} more")
        remark(f"{count(self.count, 'event')} rejected, kept in {self._path}")


def _sentence(rejected: Rejected) -> str:
    place = rejected.file or ""
    if rejected.line is not None:
        place += f", line {rejected.line}"
    reason = _reason(rejected)
    return reason if not place or reason.startswith(place) else f"{place}: {reason}"


def _reason(rejected: Rejected) -> str:
    return spelled(rejected.reason, as_flag)


def located(rejected: Iterable[Rejected], locate: Locate | None) -> Iterator[Rejected]:
    """Add file and line to rejected events of a batch that could be read."""
    for each in rejected:
        if each.file is None and each.row is not None and locate is not None:
            file, line = locate(each.row)
            yield Rejected(each.event, each.reason, file, line, each.row)
        else:
            yield each


_encode = json.JSONEncoder(ensure_ascii=False, default=str).encode
