"""Files, compressed or not, and the reasons why they cannot be read."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import IO, Any, cast

UNREADABLE = (OSError, EOFError, zlib.error)
"""The exceptions that reading a file, compressed or not, may raise."""

COMPRESSED = (".gz", ".zst")
"""The suffixes of compressed files."""


def with_compressed(*suffixes: str) -> tuple[str, ...]:
    """Return the suffixes, then those of the same files compressed.

    >>> with_compressed(".csv")
    ('.csv', '.csv.gz', '.csv.zst')
    """
    return tuple(f"{suffix}{end}" for end in ("", *COMPRESSED) for suffix in suffixes)


def open_binary(path: Path) -> IO[bytes]:
    """Open a file for reading, decompressed if its name ends in .gz or .zst."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return cast(IO[bytes], gzip.open(path))
    if suffix == ".zst":
        import pyarrow as pa

        return cast(IO[bytes], pa.CompressedInputStream(pa.OSFile(str(path)), "zstd"))
    return path.open("rb")


def unpacked(raw: IO[bytes], suffix: str) -> IO[bytes]:
    """Decompress a pipe as files of this suffix are decompressed."""
    if suffix == ".gz":
        return cast(IO[bytes], gzip.GzipFile(fileobj=raw))
    import pyarrow as pa

    return cast(IO[bytes], pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd"))


def create_binary(path: Path) -> IO[bytes]:
    """Open a file for writing, compressed if its name ends in .gz or .zst."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return cast(IO[bytes], _GzipWriter(path))
    if suffix == ".zst":
        import pyarrow as pa

        # An OSFile, which Arrow closes when the compressed stream is closed.
        sink: Any = pa.OSFile(str(path), "wb")
        return cast(IO[bytes], pa.CompressedOutputStream(sink, "zstd"))
    return path.open("wb")


class _GzipWriter(gzip.GzipFile):
    """A gzip file without name and time in its header, so that equal events give equal files."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        super().__init__("", "wb", compresslevel=6, fileobj=self._file, mtime=0)

    def close(self) -> None:
        """Close the file too: GzipFile closes only what it opened itself."""
        super().close()
        self._file.close()


def reason(error: BaseException) -> str:
    """Return why a file cannot be read, without details of the library."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.partition(" Detail:")[0]
    return str(error)
