"""`ensue explain`: parameters and types are used where they are given."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from ensue.cli.app import app
from tests.cli.command import ensue

QUERY = "SELECT * FROM S WHERE A ; B FILTER B[price > $low]"


def test_parameters_need_no_values() -> None:
    outcome = ensue("explain", QUERY)
    assert (outcome.code, outcome.stderr) == (0, "")
    assert "$low" in outcome.stdout


def test_a_given_value_is_in_the_plan() -> None:
    outcome = ensue("explain", QUERY, "--param", "low=17.5")
    assert (outcome.code, outcome.stderr) == (0, "")
    assert "price > 17.5" in outcome.stdout


def test_a_schema_is_bound_to(tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"price": "string"}')
    outcome = ensue("explain", QUERY, "--schema", schema, "--param", "low=17.5")
    assert (outcome.code, outcome.stdout) == (1, "")
    assert outcome.stderr.startswith("error[E3")
    schema.write_text('{"price": "double"}')
    assert ensue("explain", QUERY, "--schema", schema).code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--param", "high=1"], "--param high: the query has no such parameter; it has $low"),
        (["--schema", "no.json"], "no.json: there is no such file"),
    ],
)
def test_what_cannot_be_used_is_bad_usage(arguments: list[str], sentence: str) -> None:
    outcome = ensue("explain", QUERY, *arguments)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"error: {sentence}")


def test_cost_and_plan_come_first() -> None:
    lines = ensue("explain", QUERY).stdout.splitlines()
    titles = [line for line in lines if line and not line.startswith(" ")]
    assert titles == ["cost", "plan", "query", "formula", "predicates", "automaton"]


def test_every_query_of_a_chain_is_explained() -> None:
    chain = (
        "CREATE STREAM D AS SELECT a.v AS v FROM S WHERE A AS a ; B; "
        "SELECT * FROM D WHERE (D AS d ; D AS e) FILTER e.v > d.v"
    )
    shown = ensue("explain", chain).stdout
    titles = [line for line in shown.splitlines() if line and not line.startswith(" ")]
    each = ["cost", "plan", "query", "formula", "predicates", "automaton"]
    last = ["cost", "plan", "conditions", *each[2:]]
    first = ["cost", "plan", "aggregates", *each[2:]]
    assert titles == ["chain", "stream D", *first, "the query", *last]
    assert "S ──▶ D" in shown
    assert "FROM S" in shown


def test_the_automaton_is_drawn() -> None:
    assert ensue("explain", QUERY, "--format", "svg").stdout.startswith("<svg")


def test_a_terminal_shows_colours() -> None:
    outcome = CliRunner().invoke(app, ["explain", QUERY], env={"FORCE_COLOR": "1", "TERM": "xterm"})
    assert "\x1b[1;36mcost" in outcome.stdout
    assert "\x1b[1;34mSELECT" in outcome.stdout
