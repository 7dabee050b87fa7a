"""Where rules are kept, and which of them can be used: without a stream."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from ensue.options import Limits, ReadOptions
from ensue.rules.files import RuleText
from ensue.spark.rules.asking import question
from ensue.spark.rules.looking import Folder, Function, Look, RulesUnreadError, Table, place_of
from ensue.spark.rules.recipe import Recipe
from ensue.spark.rules.rows import json_texts
from ensue.spark.rules.rule_set import RuleSet, text_at
from ensue.spark.rules.source import _Reader
from tests.spark.frames import SCHEMA

PAIR = "SELECT * FROM S WHERE A AS x ; B AS y PARTITION BY [g] WITHIN 9 [ts]"


def recipe(*key: str, **more: Any) -> Recipe:
    read = ReadOptions(time="ts", tiebreak="id")
    return Recipe(SCHEMA, read, Limits(), key=key, **more)


def judged(text: str, *key: str, **more: Any) -> RuleSet:
    return Look(dict, recipe(*key, **more)).judged({"rule": RuleText(text, "rule")})


def test_a_version_is_what_a_rule_means_not_how_it_is_laid_out() -> None:
    version = judged(PAIR).rules["rule"].version
    same = ["+++\ntitle = 'Pairs'\n+++\n" + PAIR, PAIR.replace(" WHERE", "\n  WHERE -- pairs\n")]
    other = ["+++\ntime_unit = 's'\n+++\n" + PAIR, PAIR.replace("9", "8")]
    assert {judged(text).rules["rule"].version for text in same} == {version}
    assert len({judged(text).rules["rule"].version for text in other} | {version}) == 3
    many = PAIR.replace("[g]", "[g]").replace("A AS x", "(A AS x FILTER x[v > $least])")
    versions = {judged(many, params={"least": n}).rules["rule"].version for n in (1, 1, 2)}
    assert len(versions) == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT * FROM S WHERE", "expected"),
        ("SELECT * FROM S WHERE A AS x FILTER x[nope > 1] PARTITION BY [g]", "nope"),
        ("+++\nseverty = 'high'\n+++\n" + PAIR, "did you mean 'severity'"),
        (PAIR.replace("[ts]", "[v]"), "all rules see the events in one order: time= is 'ts'"),
        (PAIR.replace(" PARTITION BY [g]", ""), r"events are spread by key=['g'], and this rule"),
        (PAIR.replace("[g]", "[k]"), r"the PARTITION BY of this rule lacks [g]"),
        (PAIR.replace("WITHIN", "WITHIN 9 [ts] CONSUME BY ANY --"), "CONSUME BY ANY forgets"),
    ],
)
def test_a_rule_that_cannot_be_used_says_why(text: str, why: str) -> None:
    found = judged(text, "g")
    assert not found.rules
    assert why in found.skipped["rule"]


def test_settings_of_a_rule_count_where_recognize_is_given_none() -> None:
    text = "+++\ntype = 'k'\ntiebreak = 'v'\n+++\n" + PAIR
    assert judged(text).rules
    unordered = Recipe(SCHEMA, ReadOptions(time="ts"), Limits())
    look = Look(dict, unordered)
    assert unordered.program("rule", RuleText(PAIR, "rule")).options.type == "type"
    found = look.judged({"rule": RuleText(text, "rule")})
    assert "tiebreak= is none, and this rule has 'v'" in found.skipped["rule"]


def test_a_look_at_a_folder(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    look = Look(Folder(str(tmp_path)), recipe("g"))
    assert look() == RuleSet()  # what the first look skips is a warning of recognize()
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "pair.ceql").write_text(PAIR)
    (tmp_path / "bad.ceql").write_bytes(b"\xff")
    (tmp_path / "beside.ceql").write_text(PAIR.replace("9", "$w"))
    (tmp_path / "beside.toml").write_text("[params]\nw = 3\n")
    with caplog.at_level(logging.WARNING, "ensue.spark"):
        first = look()
        assert look() == first  # said once
    assert set(first.rules) <= {"deep/pair", "beside"}
    assert "deep/pair" in first.rules
    assert "not UTF-8" in first.skipped["bad"]
    assert caplog.text.count("rule 'bad' is skipped") == 1
    (tmp_path / "bad.ceql").unlink()
    (tmp_path / "deep" / "pair.ceql").write_text(PAIR.replace("9", "8"))
    second = look()
    assert "bad" not in second.skipped
    assert second.rules["deep/pair"].version != first.rules["deep/pair"].version


def test_rules_that_cannot_be_read_stay_as_they_were(caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> dict[str, str]:
        raise OSError("no answer")

    with pytest.raises(RulesUnreadError, match="cannot be read: no answer"):
        Look(Function(fails), recipe("g"))()
    last = judged(PAIR, "g")
    look = Look(Function(fails), recipe("g"), last)
    with caplog.at_level(logging.WARNING, "ensue.spark"):
        assert [look(), look()] == [last, last]
    assert caplog.text.count("stay as they were: no answer") == 1
    no_text: Any = {"a": 1}
    assert "not a int" in Look(Function(lambda: no_text), recipe())().skipped["a"]
    no_rules: Any = [PAIR]
    with pytest.raises(RulesUnreadError, match="returned list"):
        Look(Function(lambda: no_rules), recipe())()


def test_a_look_at_a_table(spark: SparkSession) -> None:
    rows = [("pair", PAIR), ("twice", PAIR), ("twice", PAIR), ("null", None)]
    frame = spark.createDataFrame(rows, "name string, query string")
    frame.createOrReplaceTempView("some_rules")
    for rules in (frame, "some_rules"):
        found = Look(place_of(rules, spark, is_remote=False), recipe("g"))()
        assert set(found.rules) == {"pair"}
        assert "two rows named 'twice'" in found.skipped["twice"]
        assert "not a NoneType" in found.skipped["null"]
    table, eager = Table(spark, "some_rules", 900), Table(spark, "some_rules", 0)
    before = table()
    assert set(eager()) == set(before)
    spark.createDataFrame(rows[:1], "name string, query string").createOrReplaceTempView(
        "some_rules"
    )
    assert table() is before  # a table is not read again at once
    assert set(eager()) == {"pair"}


def test_what_is_no_place_of_rules_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(RulesUnreadError, match="rules='no_table' is neither a folder"):
        place_of("no_table", spark, is_remote=False)
    with pytest.raises(ValueError, match="rules= is a stream"):
        place_of(spark.readStream.format("rate").load(), spark, is_remote=False)
    wrong: Any = 5
    with pytest.raises(TypeError, match="rules= is a folder, a table or a function"):
        place_of(wrong, spark, is_remote=False)
    with pytest.raises(ValueError, match="over Spark Connect"):
        place_of(spark.range(1), spark, is_remote=True)
    with pytest.raises(RulesUnreadError, match="there is no such file or folder"):
        Look(place_of(str(tmp_path / "none"), spark, is_remote=False), recipe())()


def test_an_offset_holds_the_set_and_only_changes_are_rows() -> None:
    answers = [judged(PAIR, "g"), judged("SELECT", "g")]
    reader = _Reader(lambda: answers[0].encode())
    start, end = reader.initialOffset(), reader.latestOffset()
    assert end["versions"] == answers[0].versions
    assert RuleSet.decode(text_at(end)) == answers[0]
    assert not reader.partitions(end, end)
    (partition,) = reader.partitions(start, end)
    (row,) = reader.read(partition)
    assert RuleSet.decode(row[0]) == answers[0]
    reader.prepareForTriggerAvailableNow()
    answers.pop(0)
    assert reader.latestOffset() == end
    assert _Reader(lambda: answers[0].encode()).latestOffset()["skipped"] == ["rule"]


def test_another_process_may_ask_and_is_told_of_errors() -> None:
    answers = iter(["one", "two"])
    ask = question(lambda: next(answers))
    assert [ask(), ask()] == ["one", "two"]

    def fails() -> str:
        raise RulesUnreadError("no rules")

    with pytest.raises(RuntimeError, match="no rules"):
        question(fails)()
    wrong = question(lambda: "secret")
    wrong.key = b"another"
    with pytest.raises(Exception, match="digest"):
        wrong()


def test_rows_as_json() -> None:
    table = pa.table(
        {
            "at": pa.array([1_500], pa.timestamp("ms", "UTC")),
            "e": pa.array([[{"d": "1.50", "w": float("nan"), "b": b"\x00"}]]),
        }
    )
    assert json_texts(table).to_pylist() == [
        '{"at":"1970-01-01T00:00:01.500Z","e":[{"d":"1.50","w":null,"b":"AA=="}]}'
    ]
