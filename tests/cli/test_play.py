"""`ensue play`: what it shows at first, and how it starts and ends."""

from __future__ import annotations

import json
import signal
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import ensue, start

QUERY = "SELECT * FROM S WHERE A AS a ; B AS b FILTER b.v > $low"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.ceql").write_text(QUERY)
    (tmp_path / "e.csv").write_text("type,v,at\nA,1,5\nB,2,6\n")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["missing.ceql"], "missing.ceql: there is no such file"),
        (["q.ceql", "missing.csv"], "missing.csv: there is no such file"),
        (["-"], "not standard input"),
        (["q.ceql", "e.csv", "--time-unit", "h"], "--time-unit"),
        (["--host", "no.such.host.invalid"], "no.such.host.invalid port 8765"),
    ],
)
def test_what_cannot_be_shown_is_said(arguments: list[str], says: str) -> None:
    outcome = ensue("play", "--no-browser", *arguments)
    assert outcome.code == 2
    assert says in outcome.stderr


def shown(url: str) -> dict[str, Any]:
    request = urllib.request.Request(
        f"{url}ask", json.dumps({"kind": "start"}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as response:
        answer: dict[str, Any] = json.load(response)
        return answer


def test_a_query_and_its_events_are_shown_until_it_is_interrupted(folder: Path) -> None:
    options = ["--time", "at", "--time-unit", "s", "--param", "low=1", "--port", "0"]
    (folder / "q.toml").write_text('title = "rising"\n')
    with start("play", "q.ceql", "e.csv", "--no-browser", *options, folder=folder) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        assert url.startswith("http://127.0.0.1:")
        first = shown(url)
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 0
    assert first["query"] == f'+++\ntitle = "rising"\n+++\n{QUERY}'
    assert (first["events"], first["name"]) == ("type,v,at\nA,1,5\nB,2,6\n", "e.csv")
    assert first["settings"] == {"time": "at", "time_unit": "s", "params": {"low": 1}}
