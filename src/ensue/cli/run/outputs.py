"""Files that a run writes must not be among those that it reads."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO

from ensue.cli.inputs import STDIN
from ensue.cli.terminal import UsageError

_Identity = tuple[int, int]
"""Device and inode: the same for all names, symbolic links and hard links of a file."""


def refuse_reading_outputs(
    outputs: Mapping[str, Path | None], inputs: Mapping[str, Iterable[str | Path]]
) -> None:
    """Stop when a file would be written that is also read, or is written twice.

    Args:
        outputs: by the option that names it, what is written.
        inputs: by what they are, the files that are read; folders stand for all files below them.
    """
    read: dict[_Identity, tuple[str, str]] = {}
    for role, paths in inputs.items():
        for path in paths:
            for identity in _below(path):
                read.setdefault(identity, (role, str(path)))
    written: dict[_Identity | str, str] = {}
    for option, output in outputs.items():
        if output is None:
            continue
        found = identity_of(output)
        if found is not None and found in read:
            role, name = read[found]
            shown = "standard input" if name == STDIN else name
            raise UsageError(
                f"{option} {output}: this file is read by the run, as the {role} {shown}; it would "
                "be overwritten, so choose another name"
            )
        key = found or os.path.realpath(output)
        if key in written:
            raise UsageError(f"{option} and {written[key]} name the same file")
        written[key] = option
    if not any(option == "-o" and path is not None for option, path in outputs.items()):
        _refuse_standard_output(read)


def _refuse_standard_output(read: Mapping[_Identity, tuple[str, str]]) -> None:
    """Stop when the shell appends standard output to a file that is read."""
    found = _identity_of_stream(sys.stdout)
    if found is not None and found in read:
        role, name = read[found]
        raise UsageError(
            f"standard output goes to a file that is read by the run, as the {role} {name}; "
            "choose another name"
        )


def identity_of(path: str | Path) -> _Identity | None:
    """Return what identifies a regular file under all its names; None where there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _below(path: str | Path) -> Iterator[_Identity]:
    if path == STDIN:
        found = _identity_of_stream(sys.stdin)
    elif os.path.isdir(path):  # noqa: PTH112
        for each in Path(path).rglob("*"):
            yield from _below(each) if each.is_file() else ()
        return
    else:
        found = identity_of(path)
    if found is not None:
        yield found


def _identity_of_stream(stream: IO[str]) -> _Identity | None:
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):  # none of the system's
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
