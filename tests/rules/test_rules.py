"""Rule files: headers are settings, and errors point into the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensue
from ensue.errors import Source
from ensue.rules.files import split_rule
from ensue.rules.settings import KEYS, json_schema

QUERY = "SELECT * FROM S WHERE A ; B"
HEADER = """+++
title = "A then B"
severity = "high"
tags = ["pairs", "demo"]
type = "kind"
time = "at"
params = {low = 2}
+++
"""


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.ceql").write_text(text)
    return folder


def test_text_without_a_header_is_unchanged() -> None:
    source = Source(QUERY)
    assert split_rule(source).source is source


@given(st.text("+=a \n\r[]'\"#", max_size=20), st.text("A;+ \n", max_size=10))
def test_header_takes_no_line_away(header: str, query: str) -> None:
    text = f"+++\n{header}\n+++\n{query}"
    try:
        rule = split_rule(Source(text))
    except ensue.RuleError:
        return
    assert len(rule.source.text) == len(text)
    assert rule.source.text.count("\n") == text.count("\n")


def test_rules_have_name_metadata_and_settings(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    write(tmp_path / "deep", pair=HEADER + QUERY + " FILTER B[v > $low]")
    write(tmp_path, plain=QUERY)
    rules = ensue.load_rules(tmp_path)
    assert list(rules) == ["deep/pair", "plain"]
    rule = rules["deep/pair"]
    assert (rule.name, rule.title, rule.severity) == ("deep/pair", "A then B", "high")
    assert rule.metadata == {
        "title": "A then B",
        "description": None,
        "severity": "high",
        "tags": ["pairs", "demo"],
    }
    assert rule.settings == {"type": "kind", "time": "at"}
    assert rule.params == {"low": 2}
    assert repr(rule) == "Rule('deep/pair')"
    assert ensue.load_rules(tmp_path, params={"low": 7})["deep/pair"].params == {"low": 7}
    with pytest.raises(ensue.RuleError, match=r"no rule has a parameter \$high; they have \$low"):
        ensue.load_rules(tmp_path, params={"high": 7})


def test_settings_may_stand_beside(tmp_path: Path) -> None:
    write(tmp_path, pair=QUERY)
    (tmp_path / "pair.toml").write_text('severity = "low"\n')
    (tmp_path / "pair.ceql.toml").write_text("events = []\ncount = 0\n")
    assert ensue.load_rules(tmp_path / "pair.ceql")["pair"].severity == "low"
    write(tmp_path, pair=HEADER + QUERY)
    with pytest.raises(ensue.RuleError, match="keep one of them"):
        ensue.load_rules(tmp_path)


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        ('severty = "high"', ":2: 'severty' means nothing here; did you mean 'severity'?"),
        ("\ntime_unit = 'm'", ":3: 'time_unit' must be 's' or 'ms' or 'us' or 'ns', not 'm'"),
        ("title = 3", ":2: 'title' must be a string, not 3"),
        ("tags = 'x'", ":2: 'tags' must be a list, not 'x'"),
        ("tags = ['x', 3]", ":2: 'tags' must be a list, each a string, not ['x', 3]"),
        ("type = ''", ":2: 'type' must be a string that is not empty, not ''"),
        ("lateness = 'soon'", ":2: lateness = 'soon' is not a duration"),
        ("lateness = true", ":2: 'lateness' must be a string or a whole number, not True"),
        ("a = 1\n[params]\nlow = ", ":4: the settings are not TOML"),
        ("[schema]\nprice = 3", ":2: 'schema' must be a table, each value"),
        ("schema = {price = 'floot'}", "'schema': "),
        ("params = {high = 3}", "'params' has a value for $high, which the query does not have"),
    ],
)
def test_wrong_settings_are_refused_at_their_line(
    tmp_path: Path, header: str, sentence: str
) -> None:
    write(tmp_path, bad=f"+++\n{header}\n+++\n{QUERY}")
    with pytest.raises(ensue.RuleError) as caught:
        ensue.load_rules(tmp_path)
    assert sentence in str(caught.value)


def test_unclosed_header_is_refused() -> None:
    with pytest.raises(ensue.RuleError, match=":1: the header is never closed"):
        split_rule(Source("+++\ntitle = 'x'\n" + QUERY))


@pytest.mark.parametrize("line", ["title = 'x'", "title: x"])
def test_a_header_between_dashes_is_told_how_headers_are_written(line: str) -> None:
    expected = r"^r\.ceql:1: a header is TOML.* two lines \+\+\+, not ---$"
    with pytest.raises(ensue.RuleError, match=expected):
        split_rule(Source(f"---\n{line}\n---\n{QUERY}", "r.ceql"))


def test_a_comment_of_dashes_is_no_header() -> None:
    text = f"---\n-- title = 'x'\n---\n{QUERY}"
    assert split_rule(Source(text)).source.text == text


def test_errors_point_into_the_file(tmp_path: Path) -> None:
    write(tmp_path, bad=HEADER.replace("params = {low = 2}\n", "") + "SELECT * FRM S WHERE A")
    with pytest.raises(ensue.CeqlError) as caught:
        ensue.load_rules(tmp_path)
    assert (caught.value.line, caught.value.column) == (8, 10)
    assert "bad.ceql:8:10" in str(caught.value)


def test_two_rules_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, rule=QUERY)
    with pytest.raises(ensue.RuleError, match="two rules named 'rule'"):
        ensue.load_rules([tmp_path / "a", tmp_path / "b"])
    with pytest.raises(ensue.RuleError, match="there is no such file"):
        ensue.load_rules(tmp_path / "c")


def test_shipped_schema_is_that_of_the_validator(golden: Callable[[Path, str], None]) -> None:
    shipped = Path(str(files("ensue.rules") / "rule.schema.json"))
    golden(shipped, json.dumps(json_schema(), indent=2) + "\n")
    assert json.loads(shipped.read_text())["properties"].keys() == KEYS.keys()


EVENTS = [
    {"kind": "A", "act": "X", "at": 1, "ts": 9, "v": 1},
    {"kind": "B", "act": "Y", "at": 2, "ts": 8, "v": 3},
    {"kind": "A", "act": "X", "at": 3, "ts": 10, "v": 1},
]


def rules_of_two_kinds(folder: Path) -> dict[str, ensue.Rule]:
    write(
        folder,
        by_kind="+++\ntype = 'kind'\ntime = 'at'\n+++\nSELECT * FROM S WHERE A ; B WITHIN 5 [at]",
        by_act="+++\ntype = 'act'\ntime = 'ts'\nlateness = 5\n+++\nSELECT * FROM S WHERE Y ; X",
    )
    return ensue.load_rules(folder)


def test_rules_with_other_read_options_run_together_as_alone(tmp_path: Path) -> None:
    rules = rules_of_two_kinds(tmp_path)
    found = ensue.run(rules, EVENTS)
    assert {name: each.count for name, each in found.items()} == {"by_kind": 1, "by_act": 2}
    for name, rule in rules.items():
        assert rule.run(EVENTS).to_arrow().equals(found[name].to_arrow())


def test_given_options_go_before_settings(tmp_path: Path) -> None:
    rule = rules_of_two_kinds(tmp_path)["by_kind"]
    rows: list[dict[str, Any]] = [{"t": "A", "at": 1}, {"t": "B", "at": 2}]
    assert rule.run(rows, type="t").count == 1


def test_resumed_rules_keep_their_settings(tmp_path: Path) -> None:
    rules = rules_of_two_kinds(tmp_path)
    session = ensue.open(rules)
    session.push(EVENTS[:1])
    session = ensue.resume(rules, session.snapshot())
    counts = dict.fromkeys(rules, 0)
    for found in (session.push(EVENTS[1:]), session.finish()):
        counts = {name: number + found[name].count for name, number in counts.items()}
    assert counts == {"by_kind": 1, "by_act": 2}
    write(tmp_path, by_act="+++\ntype = 'kind'\n+++\nSELECT * FROM S WHERE Y ; X")
    with pytest.raises(ensue.SnapshotError):
        ensue.resume(ensue.load_rules(tmp_path), session.snapshot())
