"""Mutations of the engine, each of which the suite of query-stream pairs must notice.

A suite that passes says little unless it would have failed on an engine that is wrong. Kernels are
compiled: their tables and callers are mutated here, they themselves in a process without Numba.
"""

from __future__ import annotations

import pytest

from tests.equivalence import mutated_engine, mutated_machines  # noqa: F401
from tests.equivalence.mutations import Patch, mutation, noticed_by
from tests.equivalence.suite import first_failure, suite

pytestmark = pytest.mark.adequacy


def test_the_engine_passes_the_suite() -> None:
    failure = first_failure()
    assert failure is None, f"{failure.query}\n{failure.rows}"


@pytest.mark.parametrize("name", mutation)
def test_a_mutation_fails_the_suite(name: str, monkeypatch: Patch) -> None:
    suite()  # The reference shares expressions with the engine: ask it before anything is mutated.
    mutation[name](monkeypatch)
    assert first_failure() is not None, "nothing notices"


def test_mutations_of_kernels_fail_the_suite() -> None:
    noticed = noticed_by("tests.equivalence.mutated_kernels")
    assert noticed.pop("none") is False
    assert noticed
    assert all(noticed.values()), noticed
