"""Functions of strings, addresses, dates and places on single values: their definitions.

A function is given no NULL. It returns None where it has no value.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from datetime import date
from functools import cache, lru_cache
from ipaddress import ip_network
from typing import Any

from ensue.analysis.special_calls import DATE_UNITS
from ensue.analysis.types import NANOSECONDS

_DAY = NANOSECONDS["DAY"]


# --- strings ---------------------------------------------------------------------------------


def substring(text: str, start: int, length: int | None = None) -> str:
    """Cut a string from position `start`, counted from 1, or from the end if it is negative.

    >>> substring("market", 2, 3), substring("market", -3), substring("market", -8, 4)
    ('ark', 'ket', 'ma')
    """
    first, end = substring_bounds(start, length, len(text))
    return text[max(first, 0) : max(end, 0)]


def substring_bounds(start: int, length: int | None, size: int) -> tuple[int, int]:
    """Return where a substring begins and ends, counted from 0; it may lie outside."""
    first = start - 1 if start > 0 else size + start if start < 0 else 0
    return first, (size if length is None else first + max(length, 0))


def replace(text: str, old: str, new: str) -> str:
    """Replace every occurrence of a string that is not empty."""
    return text.replace(old, new) if old else text


def split_part(text: str, delimiter: str, number: int) -> str | None:
    """Return a part between delimiters, counted from 1, or from the end if negative.

    >>> split_part("a,b,c", ",", 2), split_part("a,b,c", ",", -1), split_part("a", ",", 7)
    ('b', 'c', '')
    """
    if number == 0:
        return None
    parts = text.split(delimiter) if delimiter else [text]
    at = number - 1 if number > 0 else len(parts) + number
    return parts[at] if 0 <= at < len(parts) else ""


@lru_cache(maxsize=10_000)
def regexp_extract(text: str, pattern: str, group: str) -> str | None:
    """Return what a named group of an RE2 pattern finds first, or None if there is no match."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.extract_regex(pa.scalar(text), pattern=pattern).as_py()
    result: str | None = None if found is None else found[group]
    return result


@cache
def _network(text: str) -> tuple[int, int, int]:
    """Return the family of a network, its address, and how many bits are the host's."""
    network = ip_network(text, strict=False)
    family = socket.AF_INET if network.version == 4 else socket.AF_INET6
    return family, int(network.network_address), network.max_prefixlen - network.prefixlen


def cidr_match(address: str, network: str) -> bool | None:
    """Return whether an address lies in a network; None if it is no address.

    >>> cidr_match("10.1.2.3", "10.0.0.0/8"), cidr_match("fd00::1", "10.0.0.0/8")
    (True, False)
    """
    family, start, host_bits = _network(network)
    for each in (family, socket.AF_INET6 if family == socket.AF_INET else socket.AF_INET):
        try:
            packed = socket.inet_pton(each, address)
        except (OSError, ValueError):  # ValueError: a NUL character
            continue
        return each == family and (int.from_bytes(packed) ^ start) >> host_bits == 0
    return None


# --- dates -----------------------------------------------------------------------------------


def _fixed_difference(unit: int) -> Callable[[int, int], int]:
    def apply(start: int, end: int) -> int:
        whole = abs(end - start) // unit
        return whole if end >= start else -whole

    return apply


def _calendar_difference(months: int) -> Callable[[int, int], int | None]:
    """Count whole calendar months from start to end, `months` at a time."""

    def apply(start: int, end: int) -> int | None:
        try:
            (first, before), (last, after) = _in_month(start), _in_month(end)
        except (ValueError, OverflowError):
            return None
        whole = last - first
        if whole > 0 and after < before:
            whole -= 1
        elif whole < 0 and after > before:
            whole += 1
        return whole // months if whole >= 0 else -(-whole // months)

    return apply


def _in_month(moment: int) -> tuple[int, int]:
    """Return the number of the month of an instant, and the nanoseconds since it began."""
    days, rest = divmod(moment, _DAY)
    day = date.fromordinal(date(1970, 1, 1).toordinal() + days)
    return day.year * 12 + day.month, (day.day - 1) * _DAY + rest


DATE_DIFFERENCES: dict[str, Callable[[int, int], int | None]] = {
    **{unit: _fixed_difference(length) for unit, length in DATE_UNITS.items() if length},
    "month": _calendar_difference(1),
    "year": _calendar_difference(12),
}
"""Whole units from one instant to another, by unit."""


# --- numbers ---------------------------------------------------------------------------------


def _computed(name: str) -> Callable[..., float]:
    """Return a function of numeric.py for single numbers."""

    def apply(*values: Any) -> float:
        from ensue.logic import numeric

        return numeric.single(name, *map(float, values))

    return apply


def sign(value: float) -> int:
    """Return -1, 0 or 1."""
    return (value > 0) - (value < 0)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "substring": substring,
    "trim": lambda text: text.strip(" "),
    "replace": replace,
    "concat": lambda *texts: "".join(texts),
    "split_part": split_part,
    "regexp_extract": regexp_extract,
    "cidr_match": cidr_match,
    "sign": sign,
    **{name: _computed(name) for name in ("power", "ln", "exp", "geo_distance")},
    **{f"date_diff {unit}": function for unit, function in DATE_DIFFERENCES.items()},
}
"""Functions by the names of their operations."""
