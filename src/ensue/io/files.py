"""Files that may be compressed, and why one of them cannot be read."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import IO

UNREADABLE = (OSError, EOFError, zlib.error)
"""What reading a file may raise, when it is compressed."""


def open_binary(path: Path) -> IO[bytes]:
    """Open a file for reading, unpacked if its name ends in .gz."""
    if path.suffix.lower() == ".gz":
        return gzip.open(path)  # type: ignore[return-value]
    return path.open("rb")


def reason(error: BaseException) -> str:
    """Say why a file cannot be read, without the details of the library that reads it."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.partition(" Detail:")[0]
    return str(error)
