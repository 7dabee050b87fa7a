"""Options that only one engine has, and limits of the local one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import ensue

QUERY = "SELECT * FROM S WHERE A ; B"
EVENTS = "type,x\n" + "".join(f"{kind},{x}\n" for x, kind in enumerate("A" * 9 + "B" * 9 + "C"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.csv").write_text(EVENTS)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "way_out"),
    [
        (["--follow"], "call ensue.spark.recognize on a streaming DataFrame"),
        (["--checkpoint", "c", "-o", "m.jsonl"], "write it with a checkpointLocation"),
        (["--on-error", "collect", "bad.jsonl"], "read the files with spark.read in Python"),
        (["--long"], "explode the arrays of events"),
        (["--positions"], "--output positions"),
        (["--exact"], "stop at 2^63 - 1"),
        (["--time-format", "%d/%m/%Y"], "timestampFormat"),
        (["--null", "ERR"], "nullValue"),
        (["--delimiter", ";"], "sep"),
    ],
)
def test_an_option_that_spark_lacks_is_refused_with_a_way_out(
    arguments: list[str], way_out: str
) -> None:
    outcome = ensue("run", QUERY, "e.csv", "--engine", "spark", *arguments)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"error: {arguments[0]} goes with --engine local only: ")
    assert way_out in outcome.stderr


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("arguments", [["--explain"], ["--master", "local[1]"]])
def test_an_option_of_spark_is_refused_by_the_local_engine(arguments: list[str]) -> None:
    outcome = ensue("run", QUERY, "e.csv", *arguments)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("error: --explain and --master go with --engine spark")


HALVES = " ; ".join(f"(ANY AS v{i} FILTER v{i}[x % {i + 2} = 0])+" for i in range(6))
HALVES = f"SELECT * FROM S WHERE {HALVES} WITHIN 50 EVENTS"
LISTED = """
    SELECT count(*) AS n FROM S WHERE (A ; (B AS b)+ ; C)
    AGGREGATE Y[mean = avg(b.x)] FILTER Y[mean > 0] WITHIN 100 EVENTS
"""


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("query", "option", "least"),
    [
        (HALVES, "--max-states", 5),
        (f"{QUERY} FILTER A.x < B.x", "--max-configurations", 2),
        (LISTED, "--max-matches", 3),
    ],
)
def test_a_limit_stops_the_run_and_names_its_option(query: str, option: str, least: int) -> None:
    outcome = ensue("run", query, "e.csv", option, least)
    assert outcome.code == 1
    assert f"and {option} raises the budget" in outcome.stderr
    assert ensue("run", query, "e.csv", option, 100_000).code == 0


@pytest.mark.usefixtures("folder")
def test_a_limit_that_is_no_number_is_bad_usage() -> None:
    outcome = ensue("run", QUERY, "e.csv", "--max-matches=-1")
    assert outcome.code == 2
    assert outcome.stderr == "error: --max-matches must be a number from 0 on, not -1\n"


@pytest.mark.usefixtures("folder")
def test_exact_counts_have_all_their_digits(tmp_path: Path) -> None:
    (tmp_path / "many.csv").write_text("type\n" + "A\n" * 70 + "B\n")
    query = "SELECT count(*) AS n FROM S WHERE A+ ; B WITHIN 100 EVENTS"
    outcome = ensue("run", query, "many.csv", "--exact", "--format", "csv")
    assert str(2**70 - 1) in outcome.stdout
    outcome = ensue("run", query, "many.csv", "--format", "csv")
    assert str(2**63 - 1) in outcome.stdout
