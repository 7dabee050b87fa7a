"""A run of the benchmarks ends in time: first it repeats less, then it leaves out and says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console
from rich.status import Status

from bench import __main__ as main
from bench.lab import Lab
from bench.measure import Case
from bench.pace import Pace
from bench.streams import CALM, Source
from bench.tables import Column, Group


def paced(clock: list[float], groups: int = 4) -> Pace:
    return Pace(100, groups, lambda: 60 * clock[0])


def test_what_falls_behind_is_repeated_less() -> None:
    now = [0.0]
    pace = paced(now)
    lab = Lab(False, Path(), Status("", console=Console(quiet=True)), pace)
    assert (lab.patience, lab.hurries) == (4.0, False)
    now[0] = 30
    assert (lab.patience, lab.hurries) == (1.0, True)
    pace.done = 1
    assert (lab.patience, lab.hurries) == (4.0, False)


def test_nothing_more_is_measured_when_the_time_is_over() -> None:
    lab = Lab(False, Path(), Status("", console=Console(quiet=True)), paced([100.0]))
    lab.pace._began = 0
    found = lab.measure(Case("A", "SELECT * FROM S WHERE A", Source(10, CALM)))
    assert found.failed == "the 100 minutes of the run were over"


def test_groups_that_do_not_fit_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]

    def measure(_: Lab) -> list[dict[str, object]]:
        now[0] += 60 * 60
        return [{"query": "A"}]

    groups = [Group(f"g{n}", "", (Column("query", "query", "text"),), measure) for n in range(3)]
    monkeypatch.setattr(main, "GROUPS", groups)
    monkeypatch.setattr(main, "NAMES", [group.name for group in groups])
    monkeypatch.setattr(main, "Pace", lambda minutes, of: Pace(minutes, of, lambda: now[0]))
    monkeypatch.setattr(Lab, "warm_up", lambda _: None)
    main.run(["g0", "g1", "g2"], False, tmp_path / "results.json", 100)
    assert "not measured, the time was over: g2" in capsys.readouterr().out
