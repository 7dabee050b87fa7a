"""The stories in examples/: their scripts, notebooks and jobs run and agree with each other."""

from __future__ import annotations

import importlib
import json
import sys
from contextlib import chdir, redirect_stdout
from io import StringIO
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import ensue
from ensue.cli.testing.files import find_rule_tests, read_rule_tests
from ensue.cli.testing.judge import judge, report
from ensue.spark import recognize
from examples.story import frame, rules_of
from tests.docs.test_docs import ROOT

STORIES = {
    "factory": "readings",
    "fraud": "payments",
    "funnel": "clicks",
    "intrusion": "logs",
    "trades": "market",
    "vessels": "positions",
}


def module(story: str, name: str) -> Any:
    return importlib.import_module(f"examples.{story}.{name}")


def generated(story: str, count: int) -> pa.Table:
    return getattr(module(story, "data"), STORIES[story])(count, 0)


def rules(story: str) -> dict[str, ensue.Rule]:
    return rules_of(ROOT / "examples" / story / "run.py")


@pytest.mark.parametrize("story", STORIES)
def test_each_rule_finds_something_and_a_seed_says_what(story: str) -> None:
    events = generated(story, 1500)
    found = ensue.run(rules(story), events)
    assert len(found) == 2
    assert all(matches.count for matches in found.values())
    assert events.equals(generated(story, 1500))


@pytest.mark.parametrize("story", STORIES)
def test_tests_of_the_rules_pass(story: str) -> None:
    files = find_rule_tests(ROOT / "examples" / story)
    tested = {file.name.removesuffix(".ceql.toml") for file in files}
    assert tested == set(rules(story))
    for verdict in (judge(test) for file in files for test in read_rule_tests(file)):
        assert verdict.passed, report(verdict)


@pytest.mark.parametrize("story", STORIES)
def test_scripts_print_a_line_for_each_alert(story: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["run.py", "--events", "1500"])
    script, shared = module(story, "run"), importlib.import_module("examples.story")
    with redirect_stdout(StringIO()) as out:
        shared.main(script.__file__, getattr(script, STORIES[story]), script.describe)
    *lines, last = out.getvalue().splitlines()
    found = ensue.run(rules(story), generated(story, 1500))
    assert len(lines) == sum(matches.count for matches in found.values())
    assert last.startswith(f"{len(lines)} alerts in 1,5")


@pytest.mark.parametrize("story", STORIES)
def test_notebooks_print_what_they_show(story: str, request: pytest.FixtureRequest) -> None:
    path = ROOT / "examples" / story / "story.ipynb"
    book = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    told = []
    cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        with chdir(ROOT), redirect_stdout(StringIO()) as out:
            exec(compile("".join(cell["source"]), f"{story}.ipynb", "exec"), names)
        text = out.getvalue().splitlines(keepends=True)
        told.append([{"name": "stdout", "output_type": "stream", "text": text}])
    if request.config.getoption("--update-golden"):
        for number, (cell, outputs) in enumerate(zip(cells, told, strict=True), 1):
            cell.update(execution_count=number, outputs=outputs)
        path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert len(cells) >= 3
    assert [cell["outputs"] for cell in cells] == told


@pytest.mark.parametrize("story", STORIES)
def test_jobs_on_spark_see_the_alerts_of_the_scripts(story: str, spark: SparkSession) -> None:
    events, given = generated(story, 1500), rules(story)
    rows = frame(spark, events)
    local = ensue.run(given, events)
    ids = {match.id for matches in local.values() for match in matches}
    assert {row.match_id for row in recognize(rows, given).select("match_id").collect()} == ids
    job = module(story, "job").job
    assert job(rows, given).count() > 0
