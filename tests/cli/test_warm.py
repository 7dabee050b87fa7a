"""`ensue warm`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ensue.engine import warming
from ensue.kernels.compile.cache import FOLDER
from tests.cli.command import ensue


def test_warm_says_how_far_it_has_come_and_where_kernels_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []

    def steps() -> Iterator[str]:
        for step in warming.STEPS:
            done.append(step.name)
            yield step.name

    monkeypatch.setattr(warming, "steps", steps)
    outcome = ensue("warm")
    assert outcome.code == 0
    assert done == [step.name for step in warming.STEPS]
    count = len(done)
    assert outcome.stderr.splitlines() == [
        f"{number}/{count} {name}" for number, name in enumerate(done, 1)
    ]
    assert str(FOLDER) in outcome.stdout.replace("\n", "")
