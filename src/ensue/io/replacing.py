"""Atomic replacement of files: write beside the target, rename when complete."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a new empty file to write to, which replaces `path` at the end.

    The file is in the same folder, and its name starts with a dot, so that no folder or pattern of
    events includes it; it has the suffix of `path`, which determines the format. If the block
    raises, the new file is removed and `path` is unchanged. A symbolic link stays one. What is not
    a regular file, such as a pipe or /dev/stdout, is written to directly.
    """
    target = Path(os.path.realpath(path))
    before = _status(target)
    if before is not None and not stat.S_ISREG(before.st_mode):
        yield path
        return
    name, suffix = target.stem, target.suffix
    new = target.with_name(f".{name}.{token_hex(4)}{suffix}")
    # Fail before any work is done if the file cannot be written.
    os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        if before is not None:
            new.chmod(stat.S_IMODE(before.st_mode))
        yield new
        _sync(new)
        new.replace(target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _sync(path: Path) -> None:
    """Flush the content to disk before the rename."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
