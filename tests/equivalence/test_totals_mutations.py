"""Mutations of the kernels that count, add up, aggregate and prune: each must be noticed."""

from __future__ import annotations

import pytest

from tests.equivalence.mutations import noticed_by

pytestmark = pytest.mark.adequacy


def test_mutations_of_totals_are_noticed() -> None:
    noticed = noticed_by("tests.equivalence.mutated_totals")
    assert noticed.pop("none") is None
    assert len(noticed) >= 17
    assert all(noticed.values()), noticed
