"""ensue run where time passes without events: --until, and --tick for files that are followed."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from ensue.cli.run import ticking
from tests.cli.command import ensue
from tests.seams import POLL_SLEEP

ALARM = "SELECT NONE FROM S WHERE BEAT NOT FOLLOWED BY BEAT WITHIN 5 MINUTES PARTITION BY [host]"
BEATS = "type,host,ts\nBEAT,a,2026-01-31T09:00:00\nBEAT,b,2026-01-31T09:04:00\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.csv").write_text(BEATS)
    return tmp_path


def hosts(text: str) -> list[str]:
    return [json.loads(line)["host"] for line in text.splitlines()]


@pytest.mark.parametrize(
    ("until", "found"),
    [(None, []), ("2026-01-31T09:06:00", ["a"]), ("2026-01-31T10:00:00Z", ["a", "b"])],
)
def test_time_goes_on_after_the_last_event(until: str | None, found: list[str]) -> None:
    options = [] if until is None else ["--until", until]
    outcome = ensue("run", ALARM, "e.csv", "--time", "ts", "--format", "json", *options)
    assert outcome.code == 0, outcome.stderr
    assert hosts(outcome.stdout) == found


def test_ticks_of_the_clock_decide_what_waits_in_a_followed_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments = iter(["09:05:05", "09:05:20", "09:30:00"])

    def tick(self: ticking.Ticker) -> None:
        moment = next(moments, None)
        if moment is None:
            signal.raise_signal(signal.SIGINT)
        else:
            now = ticking.datetime.fromisoformat(f"2026-01-31T{moment}Z")
            self.now, self.elapsed = (lambda: now), (lambda: self._due)
            idle(self)

    idle = ticking.Ticker.idle
    monkeypatch.setattr(ticking.Ticker, "idle", tick)
    POLL_SLEEP.put(monkeypatch, lambda _: None)
    options = ["--follow", "--time", "ts", "--lateness", "10s", "--tick", "1s"]
    outcome = ensue("run", ALARM, "e.csv", *options)
    assert outcome.code == 130
    assert hosts(outcome.stdout) == ["a", "b"]
    assert outcome.stderr.startswith("stopped: 2 matches in 2 events")


def test_a_tick_comes_when_it_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    passed, advanced = [0.0], []

    class Session:
        def advance(self, time: object) -> object:
            advanced.append(time)
            return time

    class Sink:
        def write(self, found: object) -> None:
            assert found == advanced[-1]

    ticker = ticking.Ticker(Session(), Sink(), 2.0, elapsed=lambda: passed[0])  # type: ignore[arg-type]
    for passed[0] in (0.0, 1.9, 2.0, 2.1, 4.0):
        ticker.idle()
    assert len(advanced) == 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--until", "soon"], "--until soon: write a time as in 2026-01-31T09:30:00Z"),
        (["--tick", "1s"], "--tick goes with --follow"),
        (["--follow", "--tick", "1s"], "--tick needs --lateness"),
        (["--follow", "--lateness", "1s", "--tick", "often"], "--tick often: write a time"),
        (["--follow", "--lateness", "1s", "--tick", "0s"], "--tick 0s: time has to pass"),
    ],
)
def test_times_that_make_no_sense_are_refused(options: list[str], sentence: str) -> None:
    outcome = ensue("run", ALARM, "e.csv", "--time", "ts", *options)
    assert outcome.code == 2
    assert sentence in " ".join(outcome.stderr.split())
