"""A block of bytes: named sections of arrays, tables and plain values, versioned and checksummed.

    magic (8) | version (2) | number of sections (4) | sections | SHA-256 of all before (32)

A section is its name, its kind, its length, and its bytes. Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.errors import SnapshotError
from ensue.state.codec import DamagedError, decode, encode

MAGIC = b"\x89ENSUE\r\n"
VERSION = 2

_PLAIN, _ARRAY, _TABLE, _STRINGS = range(4)
_TYPES = ("<i4", "<i8", "|b1", "<f8")

Sections = Mapping[str, Any]
"""By name: NumPy arrays, Arrow tables, or plain values."""


def pack(sections: Sections) -> bytes:
    """Write named sections as one block."""
    out: list[Any] = [MAGIC, struct.pack(">HI", VERSION, len(sections))]
    for name, content in sections.items():
        kind, data = _written(content)
        title, size = name.encode(), sum(each.nbytes for each in data)
        out += [struct.pack(">H", len(title)), title, struct.pack(">BQ", kind, size), *data]
    checksum = hashlib.sha256()
    for each in out:
        checksum.update(each)
    return b"".join([*out, checksum.digest()])


def _written(content: Any) -> tuple[int, list[memoryview]]:
    if isinstance(content, np.ndarray):
        kind = content.dtype.newbyteorder("<").str
        head = struct.pack(">BB", _TYPES.index(kind), content.ndim)
        head += struct.pack(f">{content.ndim}Q", *content.shape)
        plain = np.ascontiguousarray(content, kind).reshape(-1)
        return _ARRAY, [memoryview(head), plain.view(np.uint8).data]
    if isinstance(content, list) and content and all(type(each) is str for each in content):
        content = pa.table({"": pa.array(content, pa.string())})
        return _STRINGS, _written(content)[1]
    if isinstance(content, pa.Table):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, content.schema) as writer:
            writer.write_table(content)
        return _TABLE, [memoryview(sink.getvalue())]
    return _PLAIN, [memoryview(encode(content))]


def unpack(block: bytes) -> dict[str, Any]:
    """Read a block; a SnapshotError says what is wrong with it."""
    if not isinstance(block, bytes | bytearray | memoryview):
        raise SnapshotError(f"a snapshot is bytes, not a {type(block).__name__}")
    view = memoryview(block)
    if bytes(view[: len(MAGIC)]) != MAGIC:
        raise SnapshotError("this is no snapshot of Ensue: it does not begin like one")
    if len(view) < len(MAGIC) + 6 + 32:
        raise SnapshotError("this snapshot is damaged: its end is missing")
    (version,) = struct.unpack(">H", view[8:10])
    if hashlib.sha256(view[:-32]).digest() != bytes(view[-32:]):
        raise SnapshotError(
            "this snapshot is damaged: its checksum does not fit; go back to an older one"
        )
    if version > VERSION:
        raise SnapshotError(
            f"this snapshot has version {version}, and this Ensue reads up to {VERSION}; resume it "
            "with the release that wrote it, or a newer one"
        )
    try:
        return _sections(view[10:-32])
    except _DAMAGES as error:
        raise SnapshotError(f"this snapshot is damaged: {error}") from error


_DAMAGES = (DamagedError, struct.error, pa.ArrowException, OSError, ValueError, IndexError)


def _sections(view: memoryview) -> dict[str, Any]:
    (count,) = struct.unpack(">I", view[:4])
    at, found = 4, {}
    for _ in range(count):
        (length,) = struct.unpack(">H", view[at : at + 2])
        name = bytes(view[at + 2 : at + 2 + length]).decode()
        at += 2 + length
        kind, size = struct.unpack(">BQ", view[at : at + 9])
        at += 9
        if at + size > len(view):
            raise DamagedError("a section's end is missing")
        found[name] = _read(kind, view[at : at + size])
        at += size
    if at != len(view):
        raise DamagedError("there is something after the last section")
    return found


def _read(kind: int, data: memoryview) -> Any:
    if kind == _PLAIN:
        return decode(data)
    if kind in (_TABLE, _STRINGS):
        with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
            table = reader.read_all()
        table.validate(full=True)
        return table if kind == _TABLE else table.column(0).to_pylist()
    if kind != _ARRAY:
        raise DamagedError("an unknown kind of section")
    number, dimensions = struct.unpack(">BB", data[:2])
    shape = struct.unpack(f">{dimensions}Q", data[2 : 2 + 8 * dimensions])
    array = np.frombuffer(data[2 + 8 * dimensions :], np.dtype(_TYPES[number]))
    return array.reshape(shape).copy()


def part(sections: Sections, name: str) -> dict[str, Any]:
    """Return the sections below a name, by the rest of theirs."""
    prefix = f"{name}/"
    return {
        each.removeprefix(prefix): content
        for each, content in sections.items()
        if each.startswith(prefix)
    }


def below(name: str, sections: Sections) -> dict[str, Any]:
    """Put sections below a name."""
    return {f"{name}/{each}": content for each, content in sections.items()}
