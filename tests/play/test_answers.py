"""What the playground answers is what the library finds, on all recipes of the cookbook."""

from __future__ import annotations

import json
import shlex
import tomllib
import warnings
from contextlib import redirect_stdout
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from pyarrow import parquet

import ensue
from ensue.cli.testing.files import rule_tests
from ensue.cli.testing.judge import judge, report
from ensue.insight.strategies import STRATEGIES
from ensue.play import worker
from ensue.play.bounds import MOST_EVENTS, MOST_TEXT
from ensue.play.start import examples
from ensue.play.worker import answer
from tests.cli.command import ensue as command
from tests.play.cookbook import COOKBOOK, EXAMPLES, recipes, written

RECIPES = recipes(COOKBOOK.read_text(encoding="utf-8"))
HOSTILE = "<img src=x onerror=alert(1)>"

recipe = pytest.mark.parametrize("example", RECIPES, ids=[each["title"] for each in RECIPES])


@pytest.fixture(autouse=True)
def _silent() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ensue.CeqlWarning)
        yield


def asked(kind: str, query: str, events: str, **more: Any) -> dict[str, Any]:
    return answer({"kind": kind, "query": query, "events": events, **more})


def test_examples_are_the_recipes_of_the_cookbook() -> None:
    assert len(RECIPES) > 20
    assert examples() == RECIPES, "run python -m tests.play.cookbook"
    assert EXAMPLES.read_text(encoding="utf-8") == written()


@recipe
def test_every_recipe_has_all_answers(example: dict[str, Any], tmp_path: Path) -> None:
    checked = answer({"kind": "check", **example})
    assert not checked["problem"]
    assert all(each["warning"] for each in checked["diagnostics"])
    path = tmp_path / "events.csv"
    path.write_text(example["events"])
    expected = ensue.run(example["query"], path, **example["settings"])
    found = answer({"kind": "matches", **example})
    assert found["count"] == str(expected.count) != "0"
    assert len(found["rows"]) == expected.count
    for kind in ("step", "compare", "why"):
        assert "problem" not in answer({"kind": kind, **example})


@recipe
def test_exported_programs_find_the_same(
    example: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = answer({"kind": "matches", **example})
    texts = answer({"kind": "export", **example})
    with redirect_stdout(StringIO()) as out:
        exec(compile(texts["python"], "exported", "exec"), {})
    assert out.getvalue().splitlines()[0] == found["count"]
    compile(texts["spark"], "exported", "exec")
    (test,) = rule_tests(tomllib.loads(texts["test"]), tmp_path / "query.ceql.toml")
    verdict = judge(test)
    assert verdict.passed, report(verdict)
    if "until" not in example["settings"]:
        (tmp_path / texts["events"]).write_text(example["events"])
        words = shlex.split(texts["command"])
        outcome = command(*words[1:], "--format", "json")
        assert outcome.code == 0, outcome.stderr
        assert len(outcome.stdout.splitlines()) == int(found["count"])


def test_everything_that_was_set_is_exported() -> None:
    header = "+++\ntime = 'at'\nschema = {at = 'timestamp', v = 'int'}\n+++\n"
    query = f"{header}SELECT * FROM S WHERE (A AS a ; B AS b) FILTER b.v > $low WITHIN 1 MINUTE"
    events = "kind\tv\tat\nA\t?\t2026-01-31 09:30:00\nB\t7\t2026-01-31 09:30:59\n"
    settings = {"type": "kind", "nulls": ["?"], "params": {"low": 3}}
    texts = asked("export", query, events, settings=settings)
    assert "schema={'at': 'timestamp', 'v': 'int'}, params={'low': 3}" in texts["python"]
    assert "type='kind'" in texts["spark"]
    assert "--null '?' --delimiter '\\t' --param low=3" in texts["command"]
    with redirect_stdout(StringIO()) as out:
        exec(compile(texts["python"], "exported", "exec"), {})
    assert out.getvalue().splitlines()[0] == "1"
    (test,) = rule_tests(tomllib.loads(texts["test"]), Path("query.ceql.toml"))
    assert judge(test).passed
    listed = asked("export", "SELECT * FROM S WHERE A", '[{"type": "A"}]')
    assert (listed["events"], listed["text"]) == ("events.jsonl", '{"type": "A"}\n')


def test_events_are_divided_among_the_streams_of_a_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "SELECT * FROM S, T WHERE S>A AS a ; T>A AS b"
    events = "of,type,at\nS,A,1\nT,A,2\nS,A,3\nT,A,4\n"
    settings = {"time": "at", "stream": "of"}
    assert asked("matches", query, events, settings={"time": "at"})["count"] == "6"
    found = asked("matches", query, events, settings=settings)
    assert found["count"] == "3"
    assert all(each["positions"] == [] for each in found["matches"])
    (level,) = asked("step", query, events, settings=settings)["levels"]
    assert [each["matches"] for each in level["moments"]] == [0, 1, 0, 2]
    assert asked("compare", query, events, settings=settings)["strategies"][0]["count"] == "3"
    assert asked("why", query, events, settings=settings)["funnel"]["stages"][-1]["matches"] == "3"
    texts = asked("export", query, events, settings=settings)
    with redirect_stdout(StringIO()) as out:
        exec(compile(texts["python"], "exported", "exec"), {})
    assert out.getvalue().splitlines()[0] == "3"
    (test,) = rule_tests(tomllib.loads(texts["test"]), tmp_path / "query.ceql.toml")
    assert judge(test).passed
    monkeypatch.chdir(tmp_path)
    for name in "ST":
        lines = ["type,at", *(line[2:] for line in events.splitlines() if line.startswith(name))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    note, words = texts["command"].splitlines()
    assert note.endswith("in a file for each value of the column of.")
    assert len(command(*shlex.split(words)[1:], "--format", "json").stdout.splitlines()) == 3
    for column, told in ("none", "no column 'none'"), ("type", "'type' has 'A', which is no"):
        answered = asked("matches", query, events, settings={**settings, "stream": column})
        assert told in answered["problem"]["message"]


def test_errors_are_found_against_the_events_with_their_places() -> None:
    events = "type,price\nA,1\nB,2\n"
    (error,) = asked("check", "SELECT * FROM S WHERE A AS a FILTER a[prise > 1]", events)[
        "diagnostics"
    ]
    assert (error["line"], error["column"], error["warning"]) == (1, 39, False)
    assert "prise" in error["message"]
    assert "price" in error["hint"]
    broken = asked("check", "SELECT * FROM", events)
    assert broken["diagnostics"][0]["start"] >= 13
    header = asked("check", "+++\nseverty = 'high'\n+++\nSELECT * FROM S WHERE A", events)
    assert "severity" in header["problem"]["message"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM S WHERE A", {"name": "ALL", "start": 6, "end": 6}),
        ("SELECT NEXT * FROM S WHERE A", {"name": "NEXT", "start": 6, "end": 11}),
        ("select max a FROM S WHERE A AS a", {"name": "MAX", "start": 6, "end": 10}),
        ("SELECT next FROM S WHERE A AS next", {"name": "ALL", "start": 6, "end": 6}),
        ("FROM S", None),
        ("SELECT 'x", None),
    ],
)
def test_the_strategy_is_found_in_the_text(query: str, expected: Any) -> None:
    assert asked("check", query, "type\nA\n")["strategy"] == expected


def test_strategies_stand_side_by_side() -> None:
    found = asked("compare", "SELECT LAST * FROM S WHERE A ; B+", "type\nA\nA\nB\nB\n")
    assert [each["name"] for each in found["strategies"]] == list(STRATEGIES)
    counts = {each["name"]: each["count"] for each in found["strategies"]}
    alone = ensue.run("SELECT MAX * FROM S WHERE A ; B+", [{"type": each} for each in "AABB"])
    assert counts["MAX"] == str(alone.count)


def test_columns_of_types_are_left_out_where_variables_say_more() -> None:
    events = "type\nA\nB\nB\n"
    named = asked("matches", "SELECT * FROM S WHERE A AS a ; B AS b", events)
    assert named["columns"] == ["a", "b"]
    partly = asked("matches", "SELECT * FROM S WHERE A AS a ; B ; B AS b", events)
    assert partly["columns"] == ["a", "B", "b"]


def test_a_match_is_explained() -> None:
    query = "SELECT * FROM S WHERE (A AS a ; B AS b) FILTER b.v > a.v"
    found = asked("match", query, "type,v\nA,1\nB,2\n", number=0)
    assert "b.v > a.v:  2 > 1" in found["text"]
    assert "problem" in asked("match", query, "type,v\nA,1\nB,2\n", number=-1)


@pytest.mark.parametrize(
    "text",
    [
        "type,v\nA,1\nB,\n",
        "type\tv\nA\t1\nB\t\n",
        "type;v\nA;1\nB;\n",
        '{"type": "A", "v": 1}\n{"type": "B"}\n',
        '[{"type": "A", "v": 1}, {"type": "B", "v": null}]',
    ],
)
def test_tables_are_read_however_they_were_pasted(text: str) -> None:
    found = asked("read", "", text)
    assert found["rows"] == [["A", "1"], ["B", None]]
    assert [each["type"] for each in found["attributes"]] == ["string", "int"]
    assert found["types"] == ["A", "B"]
    assert asked("matches", "SELECT * FROM S WHERE A ; B", text)["count"] == "1"


def test_times_nested_attributes_and_types_are_known_for_completion() -> None:
    text = '{"type": "A", "at": "2026-01-31T09:30:00Z", "process": {"name": "sh", "pid": 4}}\n'
    found = asked("read", "", text)
    names = {each["name"]: each["type"] for each in found["attributes"]}
    assert names["at"] == "timestamp"
    assert names["process.pid"] == "int"


@pytest.mark.parametrize("text", ["", "\n", "type\n", "{", "[1]", "[", '{"a": 1}\n}', "\x00\ud800"])
def test_odd_events_get_an_answer(text: str) -> None:
    for kind in ("read", "check", "matches", "step", "why", "export"):
        found = asked(kind, "SELECT * FROM S WHERE A ; B", text)
        problem = found.get("problem")
        assert problem is None or problem["kind"] in ("events", "query")
        json.dumps(found).encode()


def test_values_become_text_in_pictures() -> None:
    query = "SELECT * FROM S WHERE A AS a ; B AS b"
    events = json.dumps([{"type": kind, "v": HOSTILE} for kind in "AB"])
    for kind in ("matches", "step", "compare", "why"):
        found = json.dumps(asked(kind, query, events))
        svg = found.replace(json.dumps(HOSTILE)[1:-1], "")
        assert "<img" not in svg
    shown = asked("match", query, events, number=0)["svg"]
    root = ElementTree.fromstring(shown)
    assert HOSTILE in "".join(root.itertext())
    assert {each.tag.rpartition("}")[2] for each in root.iter()}.isdisjoint({"img", "script"})


# Files


def test_files_of_all_formats_can_be_opened(tmp_path: Path) -> None:
    table = pa.table({"type": ["A", "B"], "v": [1, None], "tags": [["x"], None]})
    sink = BytesIO()
    parquet.write_table(table, sink)
    found = answer({"kind": "upload", "name": "../../e.parquet", "data": _coded(sink.getvalue())})
    assert found["name"] == "e.parquet"
    assert asked("matches", "SELECT * FROM S WHERE A ; B", found["text"])["count"] == "1"
    plain = answer({"kind": "upload", "name": "e.csv", "data": _coded(b"type,v\nA,1\n")})
    assert plain["text"] == "type,v\nA,1\n"
    wrong = answer({"kind": "upload", "name": "e.png", "data": _coded(b"PNG")})
    assert wrong["problem"]["kind"] == "events"
    assert "/tmp" not in wrong["problem"]["message"]


def test_of_a_large_file_the_first_events_are_taken() -> None:
    sink = BytesIO()
    parquet.write_table(pa.table({"type": ["A"] * (MOST_EVENTS + 5)}), sink)
    found = answer({"kind": "upload", "name": "e.parquet", "data": _coded(sink.getvalue())})
    assert found["note"] == f"the first {MOST_EVENTS:,} events"
    sink = BytesIO()
    parquet.write_table(pa.table({"type": ["A" * 1000] * 10_000}), sink)
    found = answer({"kind": "upload", "name": "e.parquet", "data": _coded(sink.getvalue())})
    assert len(found["text"]) <= MOST_TEXT
    assert "MB of text" in found["note"]


def _coded(data: bytes) -> str:
    import base64

    return base64.b64encode(data).decode()


def test_generated_trades_can_be_asked_about() -> None:
    found = answer({"kind": "generate", "count": 50, "seed": 3})
    assert found == answer({"kind": "generate", "count": 50, "seed": 3})
    query = "SELECT * FROM S WHERE SELL ; BUY PARTITION BY [name] WITHIN 1 SECOND"
    settings = {"time": "stock_time", "time_unit": "ms"}
    assert asked("matches", query, found["text"], settings=settings)["count"] != "0"
    assert answer({"kind": "generate", "count": 10**9})["problem"]["kind"] == "settings"


# Limits


def test_of_many_events_the_first_are_stepped_through_and_explained() -> None:
    text = "type\n" + "A\nB\n" * 10_000
    query = "SELECT * FROM S WHERE A ; B WITHIN 1 EVENTS"
    assert asked("matches", query, text)["count"] == "10,000"
    (stepped,) = asked("step", query, text)["levels"]
    assert (len(stepped["moments"]), stepped["more"]) == (2000, True)
    assert [each["matches"] for each in stepped["moments"][:4]] == [0, 1, 0, 1]
    assert asked("why", query, text)["funnel"]["sample"] == "the first 10,000 events"


def test_what_takes_too_much_is_said_with_the_budget() -> None:
    query = "SELECT * FROM S WHERE ((A AS a)+ AGGREGATE Y[s = sum(a.v)]) FILTER Y[s = 7.5]"
    found = asked("matches", query, "type,v\n" + "A,1\n" * 60)
    assert found["problem"]["kind"] == "budget"
    assert "`ensue play --max-matches` raises the budget" in found["problem"]["message"]
    large = asked("matches", query, "type,v\n" + "A,1\n" * 60, limits={"matches": 3})
    assert "more than 3 matches" in large["problem"]["message"]
    many = asked("read", "", "type\n" + "A\n" * (MOST_EVENTS + 1))
    assert "`ensue run`" in many["problem"]["message"]
    text = asked("read", "", "x" * (MOST_TEXT + 1))
    assert "4 MB" in text["problem"]["message"]


def test_whatever_goes_wrong_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(error: Exception) -> Any:
        def handler(_: Any) -> Any:
            raise error

        return handler

    for error, kind in (
        (MemoryError(), "budget"),
        (RecursionError(), "budget"),
        (KeyError("x"), "internal"),
    ):
        monkeypatch.setitem(worker.HANDLERS, "check", fails(error))
        assert answer({"kind": "check"})["problem"]["kind"] == kind
    assert answer({"kind": "unknown"})["problem"]["kind"] == "settings"
    for request in ({"query": 3}, {"settings": 3}, {"settings": {"params": 3}}):
        assert answer({"kind": "matches", **request})["problem"]["kind"] == "settings"
    odd = asked("matches", "SELECT * FROM S WHERE A", "type\nA\n", settings={"until": "soon"})
    assert "'until'" in odd["problem"]["message"]
    unit = asked("matches", "SELECT * FROM S WHERE A", "type\nA\n", settings={"time_unit": "h"})
    assert "'time_unit'" in unit["problem"]["message"]
