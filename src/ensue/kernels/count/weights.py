"""What is known of a set of runs without listing them: how many, and sums over their events.

The weight of a set of runs is their number and, for each term, the total over all events that
they bind. Weights are added where sets are joined and multiplied where every run of one set goes
on as every run of another: (c, s)(d, t) = (c d, c t + s d); the least value of a product is the
lesser of the two. Counts and whole sums are kept modulo 2^64, each beside its size as a double,
which tells whether 64 bits were enough: so every smaller one is exact.

The same code runs on arrays of Python's integers (see `exact`), which have any size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ensue.kernels.compile.jit import helper
from ensue.kernels.layout import Bool, Float64, Int64
from ensue.kernels.minmax import smaller

NO_VALUE = 2**63 - 1
"""The least of no values."""


class Weights(NamedTuple):
    """Weights of many sets of runs."""

    whole: Int64
    """[set, term]: how many runs there are, then sums of whole numbers."""
    real: Float64
    """[set, term]: the same number as a double, then sums of doubles."""
    least: Int64
    """[set, term]: least values."""


class Values(NamedTuple):
    """What each event adds to the terms if it is bound to their variables.

    The first column of `whole` and of `real`, where weights have the number of runs, is not used.
    """

    whole: Int64
    real: Float64
    least: Int64


class Binds(NamedTuple):
    """[label, term]: whether an event with this label is bound to the variable of a term."""

    whole: Bool
    real: Bool
    least: Bool


def binds_of(labels: Sequence[int], terms: Iterable[Sequence[int]]) -> Binds:
    """Tell which labels, by number, have the bit of each term."""
    return Binds(
        *(
            np.array([[bool(label & bit) for bit in bits] for label in labels], bool).reshape(
                len(labels), len(bits)
            )
            for bits in terms
        )
    )


def new_weights(count: int, like: Values, *, exact: bool) -> Weights:
    """Allocate weights with as many terms as the values have."""
    return Weights(
        np.zeros((count, like.whole.shape[1]), object if exact else np.int64),
        np.zeros((count, like.real.shape[1]), np.float64),
        np.full((count, like.least.shape[1]), NO_VALUE, np.int64),
    )


WEIGHTS = ("whole", "real", "least")
"""The names of the arrays of weights in a snapshot, whatever they are called in the code."""


def save_weights(weights: Weights | Values) -> dict[str, Any]:
    """Write weights down; whole numbers of any size as plain values."""
    whole: Any = weights.whole
    if whole.dtype == object:
        whole = tuple(map(tuple, whole.T.tolist()))
    return dict(zip(WEIGHTS, (whole, weights.real, weights.least), strict=True))


def load_weights(saved: Mapping[str, Any]) -> Weights:
    """Return weights that were written down."""
    whole, real, least = (saved[name] for name in WEIGHTS)
    if isinstance(whole, tuple):
        exact = np.empty((len(real), len(whole)), object)
        for term, numbers in enumerate(whole):
            exact[:, term] = numbers
        whole = exact
    return Weights(whole, real, least)


@helper
def set_number(weights: Weights, at: int, number: int) -> None:
    """Write the weight of so many runs that have bound nothing."""
    weights.whole[at, 0] = number
    weights.real[at, 0] = number
    for term in range(1, weights.whole.shape[1]):
        weights.whole[at, term] = 0
    for term in range(1, weights.real.shape[1]):
        weights.real[at, term] = 0.0
    for term in range(weights.least.shape[1]):
        weights.least[at, term] = NO_VALUE


@helper
def copy_row(a: Any, i: int, b: Any, j: int) -> None:
    """Copy row j of b, weights or values, to row i of a."""
    for term in range(a.whole.shape[1]):
        a.whole[i, term] = b.whole[j, term]
    for term in range(a.real.shape[1]):
        a.real[i, term] = b.real[j, term]
    for term in range(a.least.shape[1]):
        a.least[i, term] = b.least[j, term]


@helper
def add_product(weights: Weights, at: int, a: int, b: int) -> None:
    """Add the runs of one set, each going on as every run of another."""
    for term in range(1, weights.whole.shape[1]):
        weights.whole[at, term] += (
            weights.whole[a, 0] * weights.whole[b, term]
            + weights.whole[a, term] * weights.whole[b, 0]
        )
    weights.whole[at, 0] += weights.whole[a, 0] * weights.whole[b, 0]
    for term in range(1, weights.real.shape[1]):
        weights.real[at, term] += (
            weights.real[a, 0] * weights.real[b, term] + weights.real[a, term] * weights.real[b, 0]
        )
    weights.real[at, 0] += weights.real[a, 0] * weights.real[b, 0]
    for term in range(weights.least.shape[1]):
        lesser = smaller(weights.least[a, term], weights.least[b, term])
        weights.least[at, term] = smaller(weights.least[at, term], lesser)


@helper
def add_step(
    weights: Weights, at: int, a: int, binds: Binds, label: int, values: Values, event: int
) -> None:
    """Add runs that read one more event."""
    for term in range(1, weights.whole.shape[1]):
        weights.whole[at, term] += weights.whole[a, term]
        if binds.whole[label, term]:
            weights.whole[at, term] += weights.whole[a, 0] * values.whole[event, term]
    weights.whole[at, 0] += weights.whole[a, 0]
    for term in range(1, weights.real.shape[1]):
        weights.real[at, term] += weights.real[a, term]
        if binds.real[label, term]:
            weights.real[at, term] += weights.real[a, 0] * values.real[event, term]
    weights.real[at, 0] += weights.real[a, 0]
    for term in range(weights.least.shape[1]):
        least = smaller(weights.least[at, term], weights.least[a, term])
        if binds.least[label, term]:
            least = smaller(least, values.least[event, term])
        weights.least[at, term] = least


def uncompiled(*modules: ModuleType) -> SimpleNamespace:
    """Return the functions of kernel modules as plain Python, for integers of any size."""
    names: dict[str, Any] = {}
    for module in modules:
        names.update(vars(module))
    for name, value in list(names.items()):
        plain = getattr(value, "py_func", value)
        if isinstance(plain, FunctionType):
            names[name] = FunctionType(plain.__code__, names, name, plain.__defaults__)
    return SimpleNamespace(**names)
