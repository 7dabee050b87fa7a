"""Functions of doubles that are not exact: powers, logarithms, distances on the earth.

They are defined by NumPy, on columns: a single value is computed as a column is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_EARTH_RADIUS = 6_371_008.8
"""The mean radius of the earth in metres."""


def elementwise(name: str, *columns: np.ndarray) -> np.ndarray:
    """Apply a function to columns; what has no value is NaN or infinite.

    A result depends on its own row only. NumPy computes a column of one value, and one that
    repeats a value without storing it, in other ways with other roundings, so both are avoided.
    """
    doubles = [np.ascontiguousarray(column, np.float64) for column in columns]
    alone = len(doubles[0]) == 1
    with np.errstate(all="ignore"):
        rows = [np.repeat(each, 2) if alone else each for each in doubles]
        found: np.ndarray = FUNCTIONS[name](*rows)
    return found[:1] if alone else found


def single(name: str, *values: float) -> float:
    """Apply a function to single values.

    >>> round(single("geo_distance", 52.52, 13.40, 48.86, 2.35) / 1000)
    877
    """
    return float(elementwise(name, *(np.array([value]) for value in values))[0])


def _great_circle(
    lat1: np.ndarray, lon1: np.ndarray, lat2: np.ndarray, lon2: np.ndarray
) -> np.ndarray:
    """Return distances on a sphere in metres (haversine); NaN for what is no place on earth."""
    lat1, lon1, lat2, lon2 = (
        np.radians(np.where(np.abs(each) <= most, each, np.nan))
        for each, most in ((lat1, 90), (lon1, 360), (lat2, 90), (lon2, 360))
    )
    half = np.sin((lat2 - lat1) / 2) ** 2
    half += np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    distance: np.ndarray = 2 * _EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(half, 1)))
    return distance


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "power": np.power,
    "ln": np.log,
    "exp": np.exp,
    "geo_distance": _great_circle,
}
