"""Text files read in blocks of complete records.

A block ends where a record ends, so that it can be parsed by itself and reading can continue there
later. A followed file has no end: an incomplete record waits for its rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple

from ensue.errors import EventError
from ensue.io.files import UNREADABLE, open_binary, reason
from ensue.io.follow import Follower, Origin

_SKIP_BYTES = 1 << 20


class Block(NamedTuple):
    """Complete records, and their offset."""

    data: bytes
    start: int
    """The offset in the decompressed text."""
    whole: bool = True
    """False if the text ended inside the last record."""
    fresh: bool = False
    """Whether it is the first of a file that replaced another."""
    origin: Origin | None = None
    """The file that it is from, if the text is followed."""

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
        follower: Follower | None = None,
    ) -> None:
        self.name = name
        self.path = path
        """The file, read again to find the line of an error; None: it cannot be read again."""
        self.delimiter = ","
        """The delimiter of CSV."""
        self.nulls: tuple[str, ...] = ()
        """The values that mean NULL, besides empty ones."""
        self._open = open
        self._follower = follower

    @classmethod
    def of_file(cls, path: Path, follower: Follower | None = None) -> Text:
        """Open a file, compressed or not; with a follower, read it as it grows."""
        return cls(str(path), partial(open_binary, path), path, follower)

    def called(self, name: str) -> Text:
        """Return an empty text of another name, for errors about parts of this one."""
        text = Text(name, BytesIO)
        text.delimiter, text.nulls = self.delimiter, self.nulls
        return text

    def blocks(
        self,
        size: int,
        boundary: Callable[[bytes], int],
        start: int = 0,
        origin: Origin | None = None,
    ) -> Iterator[Block]:
        """Read blocks of about this size, the last one up to the end of the text.

        `boundary` returns the end of the last complete record, 0 if there is none. Reading starts
        at an offset; if the text is followed, in the file of this origin.
        """
        try:
            if self._follower is not None:
                yield from self._followed(self._follower, size, boundary, start, origin)
                return
            with self._open() as stream:
                self._skip(stream, start)
                rest = b""
                # Block sizes count from the start of a block, so that reading from a position
                # yields the same blocks again.
                while data := stream.read(size - len(rest) % size):
                    rest += data
                    end = boundary(rest)
                    if end:
                        yield Block(rest[:end], start)
                        start += end
                        rest = rest[end:]
                if rest:
                    yield Block(rest, start, whole=False)
        except UNREADABLE as error:
            problem = f"cannot be read any further: {reason(error)}"
            raise EventError(f"{self.name}: {problem}") from error

    def _followed(
        self,
        follower: Follower,
        size: int,
        boundary: Callable[[bytes], int],
        start: int,
        origin: Origin | None,
    ) -> Iterator[Block]:
        """Read blocks of a growing file; an incomplete record waits for its rest."""
        rest, fresh = b"", False
        for part in follower.parts(size, start, origin):
            if part.fresh:
                if rest and part.over:
                    yield Block(rest, start, False, fresh, origin)
                rest, start, fresh = b"", 0, True
            rest += part.data
            origin = part.origin
            end = boundary(rest)
            if end:
                yield Block(rest[:end], start, True, fresh, origin)
                start, rest, fresh = start + end, rest[end:], False

    def _skip(self, stream: IO[bytes], count: int) -> None:
        if count and stream.seekable():
            stream.seek(count)
            return
        while count > 0:
            data = stream.read(min(count, _SKIP_BYTES))
            if not data:
                raise EventError(f"{self.name}: the text is shorter than it was")
            count -= len(data)


def end_of_lines(data: bytes) -> int:
    """Return the end of the last complete line."""
    return data.rfind(b"\n") + 1


def as_text(line: bytes) -> str:
    """Return a line without its end as text, whatever bytes it has."""
    return line.rstrip(b"\r\n").decode(errors="backslashreplace")


def origin_from(position: Mapping[str, Any]) -> Origin | None:
    """Return the followed file of a position, if any."""
    found = position.get("origin")
    return None if found is None else Origin(*found)
