"""ensue test and the plugin of pytest: rule tests as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ensue.cli.testing.files import RuleFileError, rule_tests
from ensue.cli.testing.judge import judge
from tests.cli.command import ensue

ROOT = Path(__file__).parents[2]
QUERY = "SELECT * FROM S WHERE SELL AS s ; BUY AS b"
EVENTS = [{"type": "SELL", "n": 1}, {"type": "BUY", "n": 2}, {"type": "BUY", "n": 3}]
TOML_EVENTS = '[{type = "SELL", n = 1}, {type = "BUY", n = 2}, {type = "BUY", n = 3}]'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verdict(**data: Any) -> Any:
    (test,) = rule_tests({"query": QUERY, "events": EVENTS, **data}, Path("rule.ceql.json"))
    return judge(test)


def write(folder: Path, text: str, name: str = "rule.ceql.toml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


# What is compared


@pytest.mark.parametrize(
    "expected",
    [
        {"count": 2},
        {"matches": [{"b": [1]}, {"b": [2]}]},
        {"matches": [{"start": 0, "end": 2}, {"start": 0, "end": 1}]},
        {"matches": [{"start": 0}, {"start": 0}], "count": 2},
        {"matches": [{"s": [0], "SELL": [0], "b": [1]}, {"s": [0], "SELL": [0], "b": [2]}]},
    ],
)
def test_as_expected(expected: dict[str, Any]) -> None:
    assert verdict(**expected).passed


@pytest.mark.parametrize(
    ("expected", "missing", "extra"),
    [
        ([], 0, 2),
        ([{"b": [1]}], 0, 1),
        ([{"b": [1]}, {"b": [1]}, {"b": [2]}], 1, 0),
        ([{"b": [1]}, {"b": [0]}], 1, 1),
        ([{"b": [1], "s": [0]}, {"b": [2]}], 1, 1),
        ([{"b": [1, 2]}, {"b": [2]}], 1, 1),
    ],
)
def test_missing_and_too_much(expected: list[dict[str, Any]], missing: int, extra: int) -> None:
    found = verdict(matches=expected)
    assert (len(found.missing), len(found.extra), found.passed) == (missing, extra, False)


def test_a_wrong_count() -> None:
    assert not verdict(count=3).passed
    assert not verdict(count=3, matches=[{"b": [1]}, {"b": [2]}]).passed


def test_a_variable_without_events_need_not_be_named() -> None:
    query = "SELECT * FROM S WHERE SELL AS s OR BUY AS b"
    assert verdict(query=query, matches=[{"s": [0]}, {"b": [1]}, {"b": [2]}]).passed
    assert verdict(query=query, matches=[{"s": [0], "b": []}, {"b": [1]}, {"b": [2]}]).passed


def test_computed_values_are_compared_to_twelve_digits() -> None:
    events = [{"type": "SELL", "x": 0.1}, {"type": "SELL", "x": 0.2}]
    query = "SELECT s, sum(s.x) AS total FROM S WHERE SELL{2} AS s"
    assert verdict(query=query, events=events, matches=[{"total": 0.3}]).passed
    assert not verdict(query=query, events=events, matches=[{"total": 0.3001}]).passed
    computed = "SELECT * FROM S WHERE SELL{2} AS s AGGREGATE Y[n = count(s)]"
    assert verdict(query=computed, events=events, matches=[{"Y": [{"n": 2}]}]).passed


def test_rows_of_totals_with_times() -> None:
    found = verdict(
        query="SELECT count(*) FROM S WHERE BUY PARTITION BY [n]",
        schema={"at": "timestamp", "n": "int"},
        events=[{"type": "BUY", "n": 7, "at": "2026-01-31T09:30:00"}],
        time="at",
        matches=[{"time": "2026-01-31 09:30:00", "n": 7, "count": 1}],
    )
    assert found.passed


def test_options_and_streams() -> None:
    events = {"S": [{"type": "SELL", "at": 5}], "T": [{"type": "BUY", "at": 4}]}
    query = "SELECT * FROM S, T WHERE T>BUY ; S>SELL FILTER SELL[at > $low] WITHIN 2 SECONDS"
    options = {"time": "at", "time_unit": "s", "params": {"low": 4}, "output": "positions"}
    found = verdict(query=query, events=events, **options, matches=[{"positions": [0, 1]}])
    assert found.passed


def test_settings_of_a_rule_on_how_text_is_read_hold_in_its_tests(tmp_path: Path) -> None:
    (tmp_path / "rule.ceql").write_text(
        '+++\ndelimiter = ";"\nnulls = ["ERR"]\n+++\nSELECT * FROM S WHERE A FILTER A[n IS NULL]'
    )
    (tmp_path / "e.csv").write_text("type;n\nA;1\nA;ERR\n")
    file = tmp_path / "rule.ceql.toml"
    (test,) = rule_tests({"events": "e.csv", "matches": [{"A": [1]}]}, file)
    assert judge(test).passed


def test_columns_that_are_not_there() -> None:
    assert verdict(matches=[{"c": [1]}]).problem.startswith("matches have no column 'c'; they have")


# The files


def test_tests_share_what_stands_above_them() -> None:
    shared = {"query": QUERY, "events": EVENTS, "params": {"x": 1, "y": 2}, "time": "n"}
    own = [{"name": "one", "params": {"y": 3}, "time": "m"}, {}]
    first, second = rule_tests({**shared, "test": own}, Path("x.ceql.toml"))
    assert (first.name, first.params, first.options) == ("one", {"x": 1, "y": 3}, {"time": "m"})
    assert (second.name, second.params, second.options) == (
        "test 2",
        {"x": 1, "y": 2},
        {"time": "n"},
    )


def test_the_query_of_the_same_name(folder: Path) -> None:
    write(folder, QUERY, "rules/rule.ceql")
    write(folder, "type,n\nSELL,1\nBUY,2\n", "rules/data/e.csv")
    write(folder, 'events = "data/e.csv"\ncount = 1\n', "rules/rule.ceql.toml")
    write(folder, '{"query": "rule.ceql", "events": [], "count": 0}', "rules/other.ceql.json")
    write(folder, "broken", "rules/.hidden/x.ceql.toml")
    outcome = ensue("test", "rules")
    assert (outcome.code, outcome.stderr) == (0, "")
    assert outcome.stdout == (
        "ok  rules/other.ceql.json\nok  rules/rule.ceql.toml\n2 tests in 2 files: 2 passed\n"
    )


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"test": 3}, "x.ceql.toml: 'test' must be a list of tests"),
        ({"test": []}, "x.ceql.toml: 'test' must be a list of tests"),
        ({"test": [3]}, "x.ceql.toml, test 1: a test is a table, not a int"),
        ({"test": [{}], "count": 3}, "x.ceql.toml: 'count' stands above the tests"),
        ({"evnts": []}, "x.ceql.toml: 'evnts' means nothing here; did you mean 'events'?"),
        ({"zzz": []}, "x.ceql.toml: 'zzz' means nothing here; the keys are name, query"),
        ({"tests": []}, "x.ceql.toml: 'tests' means nothing here; did you mean 'test'?"),
        ({"count": "3"}, "x.ceql.toml: 'count' must be a whole number, not '3'"),
        ({"count": True}, "x.ceql.toml: 'count' must be a whole number, not True"),
        ({"count": -1}, "x.ceql.toml: 'count' must be 0 or more, not -1"),
        ({"test": [{}, {"count": 1.5}]}, "x.ceql.toml, test 2: 'count' must be a whole number"),
        ({"matches": [3]}, "x.ceql.toml, match 1: 'matches' must be a list of tables, not 3"),
        ({"matches": {"b": 1}}, "x.ceql.toml: 'matches' must be a list of tables, not {'b': 1}"),
        ({"time_unit": "h"}, "x.ceql.toml: 'time_unit' must be 's', 'ms', 'us' or 'ns', not 'h'"),
        ({"lateness": "soon"}, "x.ceql.toml: lateness = 'soon' is not a duration"),
        ({"delimiter": ";;"}, "x.ceql.toml: 'delimiter' must be one character, not ';;'"),
        ({"nulls": "ERR"}, "x.ceql.toml: 'nulls' must be a list of strings, not 'ERR'"),
        ({"exact": 1}, "x.ceql.toml: 'exact' must be true or false, not 1"),
        ({"max_matches": True}, "x.ceql.toml: 'max_matches' must be a whole number, not True"),
        ({"output": "x"}, "x.ceql.toml: 'output' must be 'bindings' or 'positions', not 'x'"),
        ({"events": [3]}, "x.ceql.toml, event 0: 'events' must be a list of tables, not 3"),
        ({"events": {"S": 3}}, "x.ceql.toml: 'events' must be a list of events, a file's name"),
        ({"events": "no.csv"}, "x.ceql.toml: 'events' names no.csv, and there is no such file"),
        ({"query": "no.ceql"}, "x.ceql.toml: 'query' names no.ceql, and there is no such file"),
    ],
)
def test_malformed_tests(data: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RuleFileError) as caught:
        rule_tests({"query": QUERY, "events": EVENTS, **data}, Path("x.ceql.toml"))
    assert str(caught.value).startswith(sentence)


def test_what_cannot_be_left_out() -> None:
    with pytest.raises(RuleFileError, match="there are no events; write events = "):
        rule_tests({"query": QUERY}, Path("x.ceql.toml"))
    with pytest.raises(RuleFileError, match=r"there is no query; .* put it into x\.ceql beside"):
        rule_tests({"events": []}, Path("x.ceql.toml"))


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("x.ceql.toml", b"a = = 1", "x.ceql.toml: not TOML: Invalid value (at line 1, column 5)"),
        ("x.ceql.json", b"{", "x.ceql.json: not JSON: Expecting property name"),
        ("x.ceql.json", b"[]", "x.ceql.json: a rule test is an object, not a list"),
        ("x.ceql.toml", b"a = '\xff'", "x.ceql.toml: not UTF-8"),
    ],
)
def test_files_that_are_no_tests(folder: Path, name: str, data: bytes, sentence: str) -> None:
    (folder / name).write_bytes(data)
    outcome = ensue("test", name)
    assert outcome.code == 1
    assert outcome.stdout.startswith(f"FAILED  {sentence}")


# The command


def test_the_report(folder: Path) -> None:
    write(
        folder,
        f"query = '{QUERY}'\nevents = {TOML_EVENTS}\n"
        "[[test]]\nname = 'right'\ncount = 2\n"
        "[[test]]\nname = 'wrong'\nmatches = [{end = 1, b = [1]}, {end = 3, b = [3]}]\n"
        "[[test]]\nname = 'fewer'\ncount = 3\n"
        "[[test]]\nname = 'silent'\n"
        "[[test]]\nname = 'broken'\nquery = 'SELECT * FROM S WHERE SELL FILTER BUY[n > 1]'\n"
        "count = 0\n",
    )
    outcome = ensue("test", "rule.ceql.toml")
    assert outcome.code == 1
    assert outcome.stdout.splitlines() == [
        "FAILED  rule.ceql.toml",
        "  wrong",
        "    1 match is not as expected",
        "    - end=3 b=[3]",
        "    + end=2 b=[2]",
        "  fewer",
        "    expected 3 matches, found 2",
        "  silent",
        "    it does not say what to expect; write matches = [...] or count = N, or have it "
        "written by ensue test --update",
        "  broken",
        "    error[E206]: the pattern never binds 'BUY'",
        "      --> rule.ceql.toml, test 5, query:1:35",
        "    1 | SELECT * FROM S WHERE SELL FILTER BUY[n > 1]",
        "      |                                   ^^^",
        "      = it binds SELL",
        "5 tests in 1 file: 1 passed, 4 failed",
    ]


def test_a_long_difference_is_cut(folder: Path) -> None:
    events = ", ".join(['{type = "A"}'] * 30)
    query = "SELECT * FROM S WHERE A"
    write(folder, f"query = '{query}'\nevents = [{events}]\nmatches = []\n")
    lines = ensue("test", ".").stdout.splitlines()
    assert lines[2] == "    expected no matches, found 30"
    assert lines[-2:] == ["    + … and 10 more too much", "1 test in 1 file: 1 failed"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere", "nowhere: there is no such file or folder"),
        ("empty", "empty: there is no .ceql.toml or .ceql.json file in this folder"),
        ("x.toml", "x.toml: the names of rule tests end in .ceql.toml or .ceql.json"),
    ],
)
def test_nothing_to_test_is_bad_usage(folder: Path, name: str, sentence: str) -> None:
    (folder / "empty").mkdir()
    (folder / "x.toml").touch()
    outcome = ensue("test", name)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert outcome.stderr == f"error: {sentence}\n"


def test_the_examples_pass() -> None:
    outcome = ensue("test", ROOT / "examples" / "rules")
    assert outcome.code == 0, outcome.stdout
