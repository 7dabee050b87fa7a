"""Read JSON lines as chunks of dicts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from ensue.errors import EventError
from ensue.io.dicts import Chunk
from ensue.io.files import UNREADABLE, open_binary, reason
from ensue.io.places import Place

_CHUNK_LINES = 16384


def chunks_of_json(path: Path) -> Iterator[Chunk]:
    """Read JSON lines; Python's parser, for it tells the line and leaves text as it is."""
    objects = _objects(path)
    while chunk := list(islice(objects, _CHUNK_LINES)):
        place = Place(f"{path}, line ", "", [number for number, _ in chunk])
        yield [row for _, row in chunk], place


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read the objects with the numbers of their lines."""
    try:
        with open_binary(path) as file:
            for number, line in enumerate(file, 1):
                if not line.isspace():
                    yield number, _object(line, number, path)
    except UNREADABLE as error:
        raise EventError(f"{path}: cannot be read any further: {reason(error)}") from error


def _object(line: bytes, number: int, path: Path) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError as error:
        raise EventError(f"{path}, line {number}: not UTF-8; convert the file first") from error
    except (ValueError, RecursionError) as error:
        where = f" at column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        problem = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise EventError(
            f"{path}, line {number}: not JSON{where} ({problem}); every line must hold one object"
        ) from error
    if isinstance(row, dict):
        return row
    raise EventError(
        f"{path}, line {number}: every line must hold one object {{…}}, not a {type(row).__name__}"
    )
