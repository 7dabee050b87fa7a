"""Plain values as bytes: the same bytes for the same value in every process.

Values are None, booleans, whole numbers of any size, doubles, strings, bytes, decimals, tuples,
frozensets and dicts by strings. The elements of a frozenset are written in the order of their
bytes, so that equal sets are written alike.
"""

from __future__ import annotations

import struct
import sys
from decimal import Decimal
from typing import Any

_DEEPEST = 500


class DamagedError(Exception):
    """Bytes that no plain value was written as."""


def encode(value: Any) -> bytes:
    """Write a value.

    >>> decode(encode((1, "between", frozenset({(0, None), (1, None)}))))
    (1, 'between', frozenset({...}))
    """
    out = bytearray()
    _write(value, out)
    return bytes(out)


def _write(value: Any, out: bytearray) -> None:
    match value:
        case None:
            out += b"N"
        case True:
            out += b"T"
        case False:
            out += b"F"
        case int():
            _sized(b"i", value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True), out)
        case float():
            out += b"d" + struct.pack(">d", value)
        case str():
            _sized(b"s", value.encode("utf-8", "surrogatepass"), out)
        case bytes():
            _sized(b"b", value, out)
        case Decimal():
            _sized(b"D", str(value).encode(), out)
        case tuple() | list():
            out += b"t" + struct.pack(">I", len(value))
            for each in value:
                _write(each, out)
        case frozenset() | set():
            out += b"f" + struct.pack(">I", len(value))
            for each in sorted(map(encode, value)):
                out += each
        case dict():
            out += b"m" + struct.pack(">I", len(value))
            for key, each in value.items():
                _write(key, out)
                _write(each, out)
        case _:
            raise TypeError(f"a {type(value).__name__} is no plain value")


def _sized(tag: bytes, data: bytes, out: bytearray) -> None:
    out += tag + struct.pack(">I", len(data)) + data


def decode(data: bytes | memoryview) -> Any:
    """Read a value that was written by `encode`; strings are interned, as machines expect."""
    view = memoryview(data)
    value, end = _read(view, 0, 0)
    if end != len(view):
        raise DamagedError("there is something after the value")
    return value


def _read(data: memoryview, at: int, depth: int) -> tuple[Any, int]:
    if depth > _DEEPEST:
        raise DamagedError("values are nested too deep")
    tag, at = bytes(data[at : at + 1]), at + 1
    if tag in _SINGLE:
        return _SINGLE[tag], at
    if tag == b"d":
        return struct.unpack(">d", _cut(data, at, 8))[0], at + 8
    if tag not in (b"i", b"s", b"b", b"D", b"t", b"f", b"m"):
        raise DamagedError("an unknown kind of value")
    (size,) = struct.unpack(">I", _cut(data, at, 4))
    at += 4
    if tag in (b"i", b"s", b"b", b"D"):
        piece = bytes(_cut(data, at, size))
        return _leaf(tag, piece), at + size
    count = 2 * size if tag == b"m" else size
    if count > len(data) - at:
        raise DamagedError("fewer values than there should be")
    items: list[Any] = []
    for _ in range(count):
        item, at = _read(data, at, depth + 1)
        items.append(item)
    try:
        if tag == b"m":
            return dict(zip(items[::2], items[1::2], strict=True)), at
        return (tuple(items) if tag == b"t" else frozenset(items)), at
    except TypeError as error:
        raise DamagedError("a value that cannot be in a set") from error


_SINGLE: dict[bytes, Any] = {b"N": None, b"T": True, b"F": False}


def _leaf(tag: bytes, piece: bytes) -> Any:
    try:
        match tag:
            case b"i":
                return int.from_bytes(piece, "big", signed=True)
            case b"s":
                return sys.intern(piece.decode("utf-8", "surrogatepass"))
            case b"D":
                return Decimal(piece.decode())
            case _:
                return piece
    except (ValueError, ArithmeticError) as error:
        raise DamagedError("a value that cannot be read") from error


def _cut(data: memoryview, at: int, size: int) -> memoryview:
    if at + size > len(data):
        raise DamagedError("the end is missing")
    return data[at : at + size]
