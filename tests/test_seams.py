"""Tests replace private names through seams only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import seams
from tests.seams import Seam

SEAMS = [each for each in vars(seams).values() if isinstance(each, Seam)]
FOLDER = Path(__file__).parent


@pytest.mark.parametrize("seam", SEAMS, ids=lambda seam: seam.place)
def test_a_seam_is_there_and_comes_back(seam: Seam) -> None:
    before, other = seam.original, object()
    with pytest.MonkeyPatch.context() as patch:
        seam.put(patch, other)
        assert seam.original is other
    assert seam.original is before
    assert seam.why.endswith(".")


def test_private_names_are_replaced_through_seams_only() -> None:
    """Mutations replace whatever they mutate, and say so in their names."""
    direct = re.compile(r"\.(?:setattr|delattr)\(\s*[^()]*?,\s*\"_[a-zA-Z]")
    found = [
        str(path.relative_to(FOLDER))
        for path in sorted(FOLDER.rglob("*.py"))
        if "mutat" not in path.name and direct.search(path.read_text())
    ]
    assert found == []
