"""Write files beside their place and rename them when they are whole."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a new empty file to write to, which takes the place of `path` at the end.

    The file is in the same folder, and its name starts with a dot, so that no folder or pattern of
    events has it; it ends as `path` does, for the suffix tells the format. When the block is left
    by an exception, the new file is removed and `path` is what it was before. A symbolic link stays
    one. What is no regular file, as a pipe or /dev/stdout, is written to directly.
    """
    target = Path(os.path.realpath(path))
    before = _status(target)
    if before is not None and not stat.S_ISREG(before.st_mode):
        yield path
        return
    name, suffix = target.stem, target.suffix
    new = target.with_name(f".{name}.{token_hex(4)}{suffix}")
    # The file is there, and can be written, before the work begins.
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
    """Make sure that the content is on the disk before the name is."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
