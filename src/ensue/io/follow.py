"""Follow a file of lines as it grows, also when it is rotated or truncated.

Logs are rotated in two ways: the file is renamed and another one takes its place, or it is copied
and truncated. A renamed file is read to its end before the new one is begun; a truncated one is
read from its beginning again. A file is identified by its inode and its first bytes, so
that reading continues at its position after a restart, even if the file was renamed.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

Wait = Callable[[], bool]
"""Waits for more data; returns False if following should end."""

_HEAD_BYTES = 1 << 12
"""The number of first bytes that identify a file."""
_ENOUGH_HEAD_BYTES = 64
"""A file with another inode is the same if at least so many first bytes are equal."""


class Origin(NamedTuple):
    """The identity of a file, as stored in a position."""

    inode: int
    length: int
    """The number of first bytes in the digest."""
    digest: str


class Part(NamedTuple):
    """Some bytes of a followed file."""

    data: bytes
    offset: int
    """Their offset in the file."""
    fresh: bool
    """Whether they are the first of a file that replaced another."""
    over: bool
    """Whether the previous file has ended, so that its last line is complete."""
    origin: Origin


@dataclass(slots=True)
class Follower:
    """Reads a file part by part, and waits at its end."""

    path: Path
    wait: Wait
    remark: Callable[[str], None]
    _is_over: bool = False

    def parts(self, size: int, start: int, origin: Origin | None) -> Iterator[Part]:
        """Read from an offset in the file of that origin, then the files that came after it."""
        files = [(self.path, start)] if origin is None else self._files(start, origin)
        fresh = over = files[0][1] != start
        while files:
            path, offset = files.pop(0)
            with path.open("rb", buffering=0) as stream:
                stream.seek(offset)
                for data, at, again in self._of_file(stream, offset, size, last=not files):
                    yield Part(data, at, fresh or again, over, _origin(stream, at + len(data)))
                    fresh = over = False
            fresh = over = True
            if not files and not self._is_over:
                self.remark(f"{self.path}: the file was replaced, and the new one is followed")
                files.append((self.path, 0))
            while files and not files[0][0].exists():
                if not self.wait():
                    return

    def _of_file(
        self, stream: IO[bytes], offset: int, size: int, *, last: bool
    ) -> Iterator[tuple[bytes, int, bool]]:
        """Read a file to its end; the last one until it is replaced or following ends.

        Yields bytes, their offset, and whether the file was truncated before them.
        """
        again = False
        head = os.pread(stream.fileno(), min(offset, _HEAD_BYTES), 0)
        while True:
            replaced = last and self._is_replaced(stream)
            data = stream.read(size)
            if last and _is_truncated(stream, offset, head):
                self.remark(f"{self.path}: the file was truncated, and is read from its beginning")
                offset, head, again = 0, b"", True
                stream.seek(0)
                continue
            if data:
                yield data, offset, again
                offset, again = offset + len(data), False
                if len(head) < _HEAD_BYTES:
                    head = os.pread(stream.fileno(), min(offset, _HEAD_BYTES), 0)
            elif replaced or not last:
                return
            elif not self.wait():
                self._is_over = True
                return

    def _is_replaced(self, stream: IO[bytes]) -> bool:
        try:
            now = self.path.stat()
        except FileNotFoundError:
            return False  # renamed, and the new one does not exist yet
        there = os.fstat(stream.fileno())
        return (now.st_dev, now.st_ino) != (there.st_dev, there.st_ino)

    def _files(self, start: int, origin: Origin) -> list[tuple[Path, int]]:
        """Return the file that an offset belongs to, and those that came after it."""
        if self.path.stat().st_ino == origin.inode and _fits(self.path, start, origin):
            return [(self.path, start)]
        rotated = self._rotated()
        identified = origin.length >= _ENOUGH_HEAD_BYTES
        for at, each in enumerate(rotated):
            if (identified or each.stat().st_ino == origin.inode) and _fits(each, start, origin):
                self.remark(f"{self.path}: what was read before is {each.name} now, and read on")
                later = [(other, 0) for other in rotated[at + 1 :]]
                return [(each, start), *later, (self.path, 0)]
        if _fits(self.path, start, origin):
            return [(self.path, start)]
        self.remark(
            f"{self.path}: this is another file than before, and the old one is not to be found "
            "beside it; the new one is read from its beginning"
        )
        return [(self.path, 0)]

    def _rotated(self) -> list[Path]:
        """List rotated files (same name with a number or a date) by modification time."""
        name, suffix = re.escape(self.path.stem), re.escape(self.path.suffix)
        number = r"[.-][\dT:_.-]+"
        pattern = re.compile(f"{name}(?:{suffix}{number}|{number}{suffix})")
        folder = self.path.absolute().parent
        found = [each for each in folder.iterdir() if pattern.fullmatch(each.name)]
        return sorted(
            (each for each in found if each.is_file()), key=lambda each: each.stat().st_mtime_ns
        )


def _is_truncated(stream: IO[bytes], offset: int, head: bytes) -> bool:
    """Return whether a file is shorter than what was read, or begins with other bytes."""
    if os.fstat(stream.fileno()).st_size < offset:
        return True
    return os.pread(stream.fileno(), len(head), 0) != head


def _origin(stream: IO[bytes], known: int) -> Origin:
    """Return the identity of a file of which `known` bytes were read."""
    head = os.pread(stream.fileno(), min(known, _HEAD_BYTES), 0)
    return Origin(os.fstat(stream.fileno()).st_ino, len(head), _digest(head))


def _fits(path: Path, start: int, origin: Origin) -> bool:
    """Return whether a file has this origin and is long enough."""
    with path.open("rb") as file:
        head = file.read(origin.length)
    return path.stat().st_size >= start and _digest(head) == origin.digest


def _digest(head: bytes) -> str:
    return hashlib.sha256(head).hexdigest()[:16]
