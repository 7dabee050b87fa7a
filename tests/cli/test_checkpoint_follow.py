"""ensue run --follow --checkpoint: files that grow, are rotated, are cut off."""

from __future__ import annotations

import signal
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from ensue.cli.run.checkpoint import Saver
from ensue.cli.run.options import Interval
from tests.cli.command import ensue
from tests.cli.test_checkpoint import (
    OPTIONS,
    QUERY,
    uninterrupted,
    write_trades,
)
from tests.seams import POLL_SLEEP


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.ceql").write_text(QUERY)
    return tmp_path


# Files that grow


def test_following_goes_on_where_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = write_trades(folder, "whole.csv").read_bytes()
    expected = uninterrupted(folder, "whole.csv", out="m.csv")
    grown = folder / "e.csv"
    cuts = [0, 30, 100_000, 100_001, 400_000, len(whole)]
    grown.write_bytes(b"")
    looks: list[int] = []

    def sleep(_: float) -> None:
        looks.append(1)
        if len(looks) > 2:
            signal.raise_signal(signal.SIGINT)

    POLL_SLEEP.put(monkeypatch, sleep)
    for start, end in pairwise(cuts):
        with grown.open("ab") as file:
            file.write(whole[start:end])
        # Two looks without anything new, then Ctrl-C.
        looks.clear()
        outcome = ensue("run", "q.ceql", "e.csv", *OPTIONS, "-o", "m.csv", "--follow")
        assert outcome.code == 130, outcome.stderr
        assert outcome.stderr.startswith("stopped")
    assert (folder / "m.csv").read_bytes() == expected


@pytest.mark.parametrize("how", ["rename", "truncate"])
@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
def test_rotated_eq_whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch, how: str, stopped: bool
) -> None:
    """A file that is rotated while it is followed, or while nobody follows it."""
    whole = write_trades(folder, "whole.csv").read_bytes().splitlines(keepends=True)
    expected = uninterrupted(folder, "whole.csv", out="m.csv")
    log = folder / "e.csv"
    middle = len(whole) // 2
    log.write_bytes(b"".join(whole[:middle]))

    def rotate() -> None:
        if how == "rename":
            log.rename(folder / "e.csv.1")
            log.write_bytes(whole[0] + b"".join(whole[middle:]))
        else:
            (folder / "e.csv.1").write_bytes(log.read_bytes())
            log.write_bytes(b"")
            with log.open("ab") as file:
                file.write(whole[0] + b"".join(whole[middle:]))

    steps: list[Callable[[], object]] = []

    def sleep(_: float) -> None:
        (steps.pop(0) if steps else lambda: signal.raise_signal(signal.SIGINT))()

    POLL_SLEEP.put(monkeypatch, sleep)
    arguments = ["run", "q.ceql", "e.csv", *OPTIONS, "-o", "m.csv", "--follow"]
    if stopped:
        assert ensue(*arguments).code == 130
        rotate()
    else:
        steps.append(rotate)
    outcome = ensue(*arguments)
    assert outcome.code == 130
    remark = {"rename": "the file was replaced", "truncate": "the file was truncated"}[how]
    said = "what was read before is e.csv.1 now" if stopped else remark
    assert outcome.stderr.startswith(f"e.csv: {said}, and")
    assert (folder / "m.csv").read_bytes() == expected


def test_what_is_new_is_saved_while_nothing_comes(folder: Path) -> None:
    now = [0.0]
    saved = []
    saver = Saver(
        folder / "c",
        {},
        {},
        Interval(seconds=10),
        lambda: saved.append(now[0]) or b"",  # type: ignore[func-returns-value]
        lambda: 0,
        lambda: now[0],
    )
    saver.idle()
    saver.step(5, {"at": 1})
    now[0] = 9.0
    saver.idle()
    assert saved == []
    now[0] = 10.0
    saver.idle()
    now[0] = 99.0
    saver.idle()
    assert saved == [10.0]
