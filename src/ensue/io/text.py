"""Texts of one record after the other, read in blocks of whole records.

A block ends where a record ends, so that it can be parsed by itself, and reading can go on from
there at another time. A text that is followed is never over: what is not whole yet waits for the
rest.
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

_PIECE = 1 << 20


class Block(NamedTuple):
    """Some whole records, and where they stand."""

    data: bytes
    start: int
    """How many bytes of the text come before, unpacked."""
    whole: bool = True
    """False: the text ended before the last record did."""
    fresh: bool = False
    """Whether it is the first of another file, which has taken the place of the one before."""
    origin: Origin | None = None
    """Which file it is from, where the text is followed."""

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
        """The file, where errors look for the line; None: it cannot be read again."""
        self.delimiter = ","
        """What separates values, in CSV."""
        self.nulls: tuple[str, ...] = ()
        """Which values mean NULL, besides empty ones."""
        self._open = open
        self._follower = follower

    @classmethod
    def of_file(cls, path: Path, follower: Follower | None = None) -> Text:
        """Open a file, compressed or not; with a follower, read it as it grows."""
        return cls(str(path), partial(open_binary, path), path, follower)

    def called(self, name: str) -> Text:
        """Return a text that is only called something, for errors about what was read of it."""
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

        `boundary` returns where the last whole record of some bytes ends, 0 where there is none.
        Reading starts at an offset; of a file that is followed, in the one of this origin.
        """
        try:
            if self._follower is not None:
                yield from self._followed(self._follower, size, boundary, start, origin)
                return
            with self._open() as stream:
                self._skip(stream, start)
                rest = b""
                # Blocks are counted from where they start, so that reading which goes on from one
                # of them finds the same blocks again.
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
        """Read blocks of a file that grows; what is not whole yet waits for the rest."""
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
            data = stream.read(min(count, _PIECE))
            if not data:
                raise EventError(f"{self.name}: the text is shorter than it was")
            count -= len(data)


def end_of_lines(data: bytes) -> int:
    """Return where the last whole line ends."""
    return data.rfind(b"\n") + 1


def as_text(line: bytes) -> str:
    """Return a line without its end as text, whatever bytes it has."""
    return line.rstrip(b"\r\n").decode(errors="backslashreplace")


def origin_from(position: Mapping[str, Any]) -> Origin | None:
    """Return which followed file a position is in, if it is in one."""
    found = position.get("origin")
    return None if found is None else Origin(*found)
