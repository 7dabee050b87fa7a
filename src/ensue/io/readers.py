"""Open files of events: one, several, a folder, a pattern, or standard input."""

from __future__ import annotations

import glob
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, cast

import pyarrow as pa

from ensue.errors import EventError
from ensue.io.arrow import conform, parquet_files, read_arrow, read_arrow_stream, read_parquet
from ensue.io.columns import (
    Position,
    ReadBatch,
    Reader,
    TextOptions,
    refuse_same_names,
    schema_to_text,
)
from ensue.io.csv import read_csv
from ensue.io.files import reason, unpacked, with_compressed
from ensue.io.follow import Follower, Wait
from ensue.io.jsonl import read_json
from ensue.io.kinds import first_difference
from ensue.io.text import Text

_CSV = with_compressed(".csv", ".tsv")
_JSON = with_compressed(".jsonl", ".ndjson", ".json")
_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather")

STDIN = "<stdin>"


def files_of(path: Path) -> list[Path]:
    """Return a file, the Parquet files of a folder, or the files that fit a pattern, by name."""
    if path.is_dir():
        return parquet_files(path)
    if path.exists():
        return [path]
    if glob.has_magic(str(path)):
        found = [Path(each) for each in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207
        files = [each for each in found if each.is_file()]
        if files:
            return files
        raise EventError(f"{path}: no file fits this pattern")
    raise EventError(f"{path}: there is no such file")


def open_files(
    files: Sequence[Path],
    options: TextOptions | None = None,
    start: Position | None = None,
    wait: Wait | None = None,
    remark: Callable[[str], None] = lambda _: None,
) -> Reader:
    """Open files as one stream, each after the one before it.

    Args:
        files: at least one file; the format is given by its suffix.
        options: how to read formats that have no types of their own.
        start: the position to continue from, if not the beginning.
        wait: follow the last file, which must be plain text, as it grows.
        remark: called with a message when that file was replaced or truncated.
    """
    follower = None if wait is None else Follower(files[-1], wait, remark)
    options = options or TextOptions()
    if len(files) == 1:
        return _open(files[0], options, start, follower)
    if all(_is(each, _PARQUET) for each in files):
        with _named(files[0]):
            return _checked(read_parquet(files, start), str(files[0]))
    return _joined(files, options, start, follower)


def _is(path: Path, suffixes: tuple[str, ...]) -> bool:
    return path.name.lower().endswith(suffixes)


def _open(
    path: Path, options: TextOptions, start: Position | None, follower: Follower | None
) -> Reader:
    """Open a file by its suffix."""
    if follower is not None and not _is(path, (*_CSV[:2], *_JSON[:3])):
        raise EventError(f"{path}: only plain files of CSV or JSON lines can be followed")
    with _named(path):
        if not path.exists():
            raise EventError(f"{path}: there is no such file")
        if _is(path, _CSV):
            return _checked(read_csv(Text.of_file(path, follower), options, start), str(path))
        if _is(path, _JSON):
            return _checked(read_json(Text.of_file(path, follower), options, start), str(path))
        if _is(path, _PARQUET):
            return _checked(read_parquet([path], start), str(path))
        if _is(path, _ARROW):
            return _checked(read_arrow(path, start), str(path))
    known = ", ".join((*_CSV[:2], *_JSON[:3], *_PARQUET, *_ARROW))
    raise EventError(
        f"{path}: events are read from files that end in {known}, or in .gz or .zst after one of "
        "the first five; rename or convert it"
    )


def _checked(reader: Reader, where: str) -> Reader:
    """Check that column names are distinct; name the file in errors of Arrow."""
    refuse_same_names(reader.schema, where)

    def read_batches(names: Collection[str] | None) -> Iterator[ReadBatch]:
        try:
            for read in reader.read_batches(names):
                if read.batch.num_rows or read.rejected:
                    yield read
        except (pa.ArrowException, OSError) as error:
            raise EventError(f"{where}: cannot be read any further: {reason(error)}") from error

    return reader._replace(read_batches=read_batches)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise EventError(f"{path}: cannot be read: {reason(error)}") from error


# Several files


def _joined(
    files: Sequence[Path], options: TextOptions, start: Position | None, follower: Follower | None
) -> Reader:
    """Read files of any formats one after the other, with the columns of all of them."""
    # A followed file may still be empty, and its columns do not count before its turn.
    readers = [_open(path, options, None, None) for path in (files[:-1] if follower else files)]
    rows = [each.rows for each in readers]
    closed = all(each.closed for each in readers) and follower is None
    try:
        schemas = [_plain(each.schema) for each in readers]
        schema = pa.unify_schemas(schemas, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        names = ", ".join(map(str, files))
        raise EventError(
            f"{names} have columns of different types: {first_difference(schemas)}"
        ) from error
    del readers

    def read_batches(names: Collection[str] | None) -> Iterator[ReadBatch]:
        first = 0 if start is None else start["file"]
        known = schema if start is None else None
        for number, path in enumerate(files[first:], first):
            inner = start["within"] if start is not None and number == first else None
            last = follower if number == len(files) - 1 else None
            if inner is None and _is(path, _JSON) and known is not None:
                # The columns of the files before keep their types.
                inner = {"bytes": 0, "lines": 0, "columns": schema_to_text(known)}
            for read in _open(path, options, inner, last).read_batches(names):
                batch = conform(read.batch, _part(schema, names)) if closed else read.batch
                known = batch.schema
                yield read._replace(batch=batch, position={"file": number, "within": read.position})

    total = None if None in rows else sum(each or 0 for each in rows)
    return Reader(schema, closed, read_batches, total)


def _plain(schema: pa.Schema) -> pa.Schema:
    """Replace dictionary types by their value types: other files may have plain columns."""
    return pa.schema(
        [
            (each.name, each.type.value_type if pa.types.is_dictionary(each.type) else each.type)
            for each in schema
        ]
    )


def _part(schema: pa.Schema, names: Collection[str] | None) -> pa.Schema:
    return pa.schema([each for each in schema if names is None or each.name in names])


# Standard input

_MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}
_LONGEST_MAGIC = 6
_READ_BYTES = 1 << 16


def open_pipe(
    raw: IO[bytes],
    options: TextOptions | None = None,
    *,
    live: bool = False,
    name: str = STDIN,
) -> Reader:
    """Open a pipe; its first bytes determine the format.

    With `live`, events are read as soon as they arrive, line by line. Errors call it by `name`.
    """
    options = options or TextOptions()
    head = raw.read(_LONGEST_MAGIC)
    stream: IO[bytes] = cast(IO[bytes], _Rest(head, raw, live))
    for magic, suffix in _MAGIC.items():
        if head.startswith(magic):
            if live:
                raise EventError(f"{name}: a compressed stream cannot be followed; unpack it")
            stream = unpacked(stream, suffix)
            head = stream.read(_LONGEST_MAGIC)
            stream = cast(IO[bytes], _Rest(head, stream, live))
    with _named(Path(name)):
        if head.startswith((b"PAR1", b"ARROW1")):
            raise EventError(
                f"{name}: this is a Parquet or Arrow file, which is not read from front to back; "
                "pass the file's name"
            )
        if head.startswith(b"\xff\xff\xff\xff"):
            return _checked(read_arrow_stream(pa.PythonFile(stream, "r")), name)
        text = Text(name, lambda: stream)
        if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b""):
            return _checked(read_json(text, options), name)
        return _checked(read_csv(text, options), name)


class _Rest(BytesIO):
    """A stream with bytes put back in front that were read already."""

    def __init__(self, head: bytes, rest: IO[bytes], live: bool) -> None:
        super().__init__()
        self._head = head
        self._more = rest
        self._live = live

    def read(self, size: int | None = -1) -> bytes:
        """Read the bytes put back, then the stream; if live, return what has arrived."""
        if size is None or size < 0:
            size = sys.maxsize
        parts, self._head = [self._head[:size]], self._head[size:]
        left = size - len(parts[0])
        # In small reads, because Python handles signals between calls, not during one.
        while left and not (self._live and parts[-1]):
            part = self._more.read(min(left, _READ_BYTES))
            if not part:
                break
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def seekable(self) -> bool:
        """Return False: a pipe cannot seek."""
        return False
