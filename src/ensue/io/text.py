"""Texts of one record after the other, read in blocks of whole records.

A block ends where a record ends, so that it can be parsed by itself, and reading can go on from
there at another time. A text that is followed is never over: what is not whole yet waits for the
rest.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, NamedTuple

from ensue.errors import EventError
from ensue.io.files import UNREADABLE, open_binary, reason

Wait = Callable[[], bool]
"""Waits a while for more; False: there is no use in waiting any longer."""

_PIECE = 1 << 20


class Block(NamedTuple):
    """Some whole records, and where they stand."""

    data: bytes
    start: int
    """How many bytes of the text come before, unpacked."""
    whole: bool = True
    """False: the text ended before the last record did."""

    @property
    def end(self) -> int:
        """Where the next block starts."""
        return self.start + len(self.data)


class Text:
    """The bytes of a file or a pipe, to be read once."""

    def __init__(
        self,
        name: str,
        open: Callable[[], IO[bytes]],
        path: Path | None = None,
        wait: Wait | None = None,
    ) -> None:
        self.name = name
        self.path = path
        """The file, where errors look for the line; None: it cannot be read again."""
        self._open = open
        self._wait = wait

    @classmethod
    def of_file(cls, path: Path, wait: Wait | None = None) -> Text:
        """Open a file, compressed or not; with `wait`, follow it as it grows."""
        if wait is None:
            return cls(str(path), partial(open_binary, path), path)
        return cls(str(path), lambda: path.open("rb", buffering=0), path, wait)

    @classmethod
    def nameless(cls, name: str) -> Text:
        """Return a text that is only called something, for errors about what was read of it."""
        return cls(name, BytesIO)

    def blocks(
        self, size: int, boundary: Callable[[bytes], int], start: int = 0
    ) -> Iterator[Block]:
        """Read blocks of about this size, the last one up to the end of the text.

        `boundary` returns where the last whole record of some bytes ends, 0 where there is none.
        """
        try:
            with self._open() as stream:
                self._skip(stream, start)
                rest = b""
                # Blocks are counted from where they start, so that reading which goes on from one
                # of them finds the same blocks again.
                while data := self._read(stream, size - len(rest) % size, start + len(rest)):
                    rest += data
                    end = boundary(rest)
                    if end:
                        yield Block(rest[:end], start)
                        start += end
                        rest = rest[end:]
                if rest and not (self._wait and self.path):
                    yield Block(rest, start, whole=False)
        except UNREADABLE as error:
            problem = f"cannot be read any further: {reason(error)}"
            raise EventError(f"{self.name}: {problem}") from error

    def _skip(self, stream: IO[bytes], count: int) -> None:
        if count and stream.seekable():
            stream.seek(count)
            return
        while count > 0:
            data = stream.read(min(count, _PIECE))
            if not data:
                raise EventError(f"{self.name}: the text is shorter than it was")
            count -= len(data)

    def _read(self, stream: IO[bytes], size: int, offset: int) -> bytes:
        """Read about `size` bytes; of a text that is followed what there is, after waiting."""
        while True:
            data = stream.read(size)
            if data or self._wait is None or self.path is None:
                return data
            _refuse_another_file(stream, self.path, offset)
            if not self._wait():
                return b""


def _refuse_another_file(stream: IO[bytes], path: Path, offset: int) -> None:
    """Stop when the file that is followed is not the same any more."""
    there = os.fstat(stream.fileno())
    try:
        now = path.stat()
    except FileNotFoundError:
        raise EventError(f"{path}: the file was removed while it was followed") from None
    if (now.st_dev, now.st_ino) != (there.st_dev, there.st_ino):
        raise EventError(f"{path}: the file was replaced by another while it was followed")
    if now.st_size < offset:
        raise EventError(
            f"{path}: the file was cut to {now.st_size:,} bytes while it was followed, after "
            f"{offset:,} bytes had been read"
        )


def end_of_lines(data: bytes) -> int:
    """Return where the last whole line ends."""
    return data.rfind(b"\n") + 1


def as_text(line: bytes) -> str:
    """Return a line without its end as text, whatever bytes it has."""
    return line.rstrip(b"\r\n").decode(errors="backslashreplace")
