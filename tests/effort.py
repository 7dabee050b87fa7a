"""How many random examples a property test tries: said here, and nowhere else.

`make test` tries enough to notice a mistake in what was changed, and ends in minutes. `make fuzz`
looks for the mistakes that are there already, and takes hours. A test takes the profile's number,
or says that it spans the whole language (`broad`) or that one example is slow (`costly`, `heavy`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

T = TypeVar("T")

FUZZ = bool(os.environ.get("ENSUE_FUZZ"))

settings.register_profile(
    "tests",
    deadline=None,
    max_examples=35,
    derandomize="CI" in os.environ,
    print_blob=True,
)
# Hypothesis remembers all it has tried, some 25 MB for a thousand pairs, so `make fuzz` takes many
# rounds of a moderate size.
settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=10_000,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fuzz" if FUZZ else "tests")

broad = settings(max_examples=40_000 if FUZZ else 150)
"""For the few equalities that hold of every query and every stream."""

costly = settings(max_examples=2_000 if FUZZ else 15)
"""For examples that take ten times as long as others: sessions with a snapshot at every event."""

heavy = settings(max_examples=1_000 if FUZZ else 6)
"""For examples that evaluate dozens of queries each, of tests that have many parameters besides."""


def look_at(
    values: st.SearchStrategy[T], count: int, number: int, look: Callable[[T], object]
) -> None:
    """Show a function some random values, the same in every run: the number says which."""

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(values)
    def show(value: T) -> None:
        look(value)

    show()


def drawn(values: st.SearchStrategy[T], count: int, number: int) -> list[T]:
    """Draw random values, the same in every run: the number says which."""
    found: list[T] = []
    look_at(values, count, number, found.append)
    return found
