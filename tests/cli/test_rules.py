"""`ensue run` with a folder of rules: one pass, one stream of alerts that name their rule."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.cli.command import Outcome, ensue, start

PAIR = """+++
title = "Sell, then buy"
severity = "high"
tags = ["a", "b"]
params = {low = 1}
+++
SELECT * FROM S WHERE SELL AS s ; BUY AS b FILTER b[price > $low] WITHIN 3 EVENTS
"""
EVENTS = "type,price,name\nSELL,1,x\nBUY,2,y\nBUY,3,x\nSELL,4,x\n"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    folder = tmp_path / "rules"
    (folder / "more").mkdir(parents=True)
    (folder / "pair.ceql").write_text(PAIR)
    (folder / "more" / "buys.ceql").write_text("SELECT * FROM T WHERE BUY AS x")
    (tmp_path / "events.csv").write_text(EVENTS)
    return folder


def run(rules: Path, *options: object) -> Outcome:
    return ensue("run", rules, rules.parent / "events.csv", *options)


def alerts(outcome: Outcome) -> list[dict[str, Any]]:
    assert outcome.code == 0, outcome.stderr
    return [json.loads(line) for line in outcome.stdout.splitlines()]


def test_alerts_come_in_the_order_of_their_ends_with_their_rule(rules: Path) -> None:
    outcome = run(rules, "--format", "json", "--positions")
    found = alerts(outcome)
    assert [(each["query"], each["end"]) for each in found] == [
        ("more/buys", 1),
        ("pair", 1),
        ("more/buys", 2),
        ("pair", 2),
    ]
    assert [found[1][key] for key in ("title", "severity", "tags")] == [
        "Sell, then buy",
        "high",
        ["a", "b"],
    ]
    assert found[0]["severity"] is None
    assert "s" not in found[0]
    said = outcome.stderr.splitlines()
    assert said[0].startswith("4 matches in 4 events")
    assert said[1:] == ["  more/buys: 2 matches", "  pair: 2 matches"]


def test_formats_have_the_same_rows(rules: Path, tmp_path: Path) -> None:
    found = alerts(run(rules, "--format", "json"))
    rows = list(csv.DictReader(io.StringIO(run(rules, "--format", "csv").stdout)))
    assert run(rules, "-o", tmp_path / "alerts.parquet").code == 0
    columns = pq.read_table(tmp_path / "alerts.parquet").to_pylist()
    assert len(found) == len(rows) == len(columns) == 4
    for one, two, three in zip(found, rows, columns, strict=True):
        assert one == {key: three[key] for key in one}
        assert all(three[key] is None for key in three.keys() - one.keys())
        assert (two["query"], two["end"]) == (one["query"], str(one["end"]))
        assert json.loads(two["BUY"]) == one["BUY"]
        assert two["s"] == "" or json.loads(two["s"]) == one["s"]
    table = run(rules).stdout
    assert "Sell, then buy" in table
    assert [line.split()[0] for line in table.splitlines() if "  " in line and ".." in line] == [
        "more/buys",
        "pair",
        "more/buys",
        "pair",
    ]


def test_several_files_and_options_that_go_before_settings(rules: Path) -> None:
    events = rules.parent / "events.csv"
    files = rules / "pair.ceql", rules / "more" / "buys.ceql"
    found = alerts(ensue("run", *files, events, "--format", "json", "--param", "low=2.5"))
    assert [each["query"] for each in found] == ["buys", "pair", "buys"]
    # A single file with settings is a rule too; one without is a query as before.
    found = alerts(ensue("run", files[0], events, "--format", "json"))
    assert [each["severity"] for each in found] == ["high", "high"]
    found = alerts(ensue("run", files[1], events, "--format", "json"))
    assert "severity" not in found[0]
    outcome = ensue("run", rules, events, "--param", "hihg=3")
    assert outcome.code == 2
    assert "no rule has a parameter $hihg; they have $low" in outcome.stderr


def test_settings_decide_how_events_are_read(rules: Path) -> None:
    (rules / "by_name.ceql").write_text(
        "+++\ntype = 'name'\nschema = {price = 'double'}\n+++\nSELECT * FROM S WHERE x ; y"
    )
    found = alerts(run(rules, "--format", "json", "--positions"))
    assert [each["end"] for each in found if each["query"] == "by_name"] == [1]
    assert len(found) == 5


def test_wrong_rules_stop_the_run_unless_told_to_keep_going(rules: Path) -> None:
    (rules / "bad.ceql").write_text("+++\nseverity = 'low'\n+++\nSELECT * FRM S")
    (rules / "worse.ceql").write_text("+++\nseverty = 'low'\n+++\nSELECT * FROM S WHERE A")
    outcome = run(rules, "--format", "json")
    assert (outcome.code, outcome.stdout) == (1, "")
    assert "bad.ceql:4:10" in outcome.stderr
    assert "worse.ceql:2: 'severty' means nothing here; did you mean 'severity'?" in outcome.stderr
    assert "2 rules are wrong; --keep-going runs the others" in outcome.stderr
    outcome = run(rules, "--format", "json", "--keep-going")
    assert outcome.code == 1
    assert len(outcome.stdout.splitlines()) == 4
    assert "2 rules are left out" in outcome.stderr


def test_check_knows_settings(rules: Path) -> None:
    assert ensue("check", rules).stdout == "2 files: no errors, no warnings\n"
    (rules / "bad.ceql").write_text(
        "+++\nschema = {price = 'int'}\n+++\nSELECT * FROM S WHERE A FILTER A[prise > 3]"
    )
    (rules / "worse.toml").write_text("tags = 3\n")
    (rules / "worse.ceql").write_text("SELECT * FROM S WHERE A")
    outcome = ensue("check", rules)
    assert outcome.code == 1
    assert "bad.ceql:4:34" in outcome.stdout
    assert "worse.toml:1: 'tags' must be a list, not 3" in outcome.stdout
    assert outcome.stdout.endswith("4 files: 2 errors, no warnings\n")


def test_rule_tests_know_settings(rules: Path) -> None:
    (rules / "pair.ceql.toml").write_text(
        'events = [{type = "SELL", price = 1}, {type = "BUY", price = 2}]\ncount = 1\n'
    )
    outcome = ensue("test", rules)
    assert outcome.code == 0, outcome.stdout


def test_checkpointed_rules_go_on(rules: Path, tmp_path: Path) -> None:
    options = ("-o", tmp_path / "alerts.jsonl", "--checkpoint", tmp_path / "ckpt")
    assert run(rules, *options).code == 0
    assert len((tmp_path / "alerts.jsonl").read_text().splitlines()) == 4
    assert "this run is complete" in run(rules, *options).stderr
    (rules / "pair.ceql").write_text(PAIR.replace("low = 1", "low = 2"))
    outcome = run(rules, *options)
    assert outcome.code != 0
    assert "ckpt" in outcome.stderr


def test_rules_of_other_streams_are_refused(rules: Path) -> None:
    (rules / "two.ceql").write_text("SELECT * FROM S, R WHERE S>A ; R>B")
    outcome = run(rules)
    assert outcome.code == 2
    assert "some rules read the streams S, R" in outcome.stderr


def test_conflicting_columns_are_refused_with_a_way_out(rules: Path) -> None:
    (rules / "other.ceql").write_text("SELECT b, max(b.price) AS s FROM S WHERE BUY AS b")
    assert run(rules, "--format", "json").code == 0
    outcome = run(rules, "--format", "csv")
    assert outcome.code == 1
    assert "write JSON lines: --format json" in outcome.stderr


def test_folder_without_rules_is_bad_usage(rules: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    outcome = ensue("run", tmp_path / "empty", tmp_path / "events.csv")
    assert outcome.code == 2
    assert "there is no .ceql file in this folder" in outcome.stderr


def test_example_runs() -> None:
    folder = Path(__file__).parents[2] / "examples" / "alerts"
    found = alerts(ensue("run", folder / "rules", folder / "log.jsonl", "--format", "json"))
    assert [(each["query"], each["severity"], each["end"]) for each in found] == [
        ("guessed_password", "high", 4),
        ("two_countries", "medium", 5),
        ("new_admin", "low", 6),
    ]


def test_rules_follow_a_stream(rules: Path) -> None:
    with start("run", rules, "-", "--follow") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("type,price\nSELL,1\nBUY,2\n")
        process.stdin.flush()
        first = [json.loads(process.stdout.readline())["query"] for _ in range(2)]
        process.stdin.close()
        assert first == ["more/buys", "pair"]
        assert process.wait() == 0
        assert process.stderr is not None
        process.stderr.read()
