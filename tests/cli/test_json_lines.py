"""JSON lines as logs have them: lists, objects, times, numbers, and schemas of some attributes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import ensue as library
from tests import seams
from tests.cli.command import ensue

QUERY = "SELECT * FROM S WHERE A AS a ; B AS b FILTER a[v > 0]"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, *rows: dict[str, Any]) -> None:
    (folder / "e.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def objects(*arguments: object) -> list[dict[str, Any]]:
    outcome = ensue("run", *arguments, "--format", "json")
    assert outcome.code == 0, outcome.stderr
    return [json.loads(line) for line in outcome.stdout.splitlines()]


@pytest.mark.parametrize("size", [1 << 20, 30])
@pytest.mark.parametrize(
    "values",
    [
        [["x"], [], [1], ["y"]],
        [[1, "x"], ["y"], {"k": 1}, "text"],
        [{"k": 1}, {"k": "x"}, [1], None],
        ["x", "y", [1.5], {"k": []}],
        [1, [2], 2.5, {"k": []}],
        [[], [{"k": 1}], [{"k": [1, 2]}], [["deep"]]],
    ],
    ids=str,
)
def test_what_the_query_does_not_use_never_matters(
    folder: Path, monkeypatch: pytest.MonkeyPatch, values: list[Any], size: int
) -> None:
    seams.JSONL_BLOCK.put(monkeypatch, size)
    rows = [
        {"type": kind, "v": 1, "noise": noise} for kind, noise in zip("ABBB", values, strict=True)
    ]
    write(folder, *rows)
    for select in ("*", "a[v], b[v]", "NONE"):
        assert len(objects(QUERY.replace("*", select), "e.jsonl")) == 3
    assert library.run(QUERY, folder / "e.jsonl").count == 3
    assert library.run(QUERY, rows).count == 3
    session = library.compile(QUERY).open()
    assert sum(session.push(row).count for row in rows) == 3


@pytest.mark.parametrize("size", [1 << 20, 30])
def test_the_first_value_says_what_is_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """However the lines are cut into blocks."""
    seams.JSONL_BLOCK.put(monkeypatch, size)
    values = [None, ["x"], [], [1], ["y"], "z"]
    write(folder, *({"type": "A", "v": 1, "tags": each} for each in values))
    found = objects("SELECT * FROM S WHERE A AS a FILTER a[v > 0]", "e.jsonl")
    assert [each["a"][0].get("tags") for each in found] == [None, ["x"], [], None, ["y"], None]
    write(folder, *({"type": "A", "v": 1, "tags": each} for each in [[1, "x"], [2], "z"]))
    found = objects("SELECT * FROM S WHERE A AS a FILTER a[v > 0]", "e.jsonl")
    assert [each["a"][0]["tags"] for each in found] == ['[1, "x"]', "[2]", "z"]


def test_what_it_uses_is_checked(folder: Path) -> None:
    write(folder, {"type": "A", "v": 1}, {"type": "B", "v": "x"})
    outcome = ensue("run", QUERY, "e.jsonl")
    assert outcome.code == 1
    assert outcome.stderr.startswith("error: e.jsonl, line 2, column 'v': 'x' is of type string")


def test_an_event_with_a_list_is_one_event() -> None:
    session = library.compile("SELECT * FROM S WHERE A AS a").open()
    assert session.push({"type": "A", "tags": ["x", "y"]}).count == 1
    with pytest.raises(library.EventError, match="the stream 'T' is not among the streams"):
        session.push({"T": [{"type": "A"}]})


# Lists that the query uses

LISTS = [["x", "y"], [], None, ["y", None], ["x", None], ["z"]]


@pytest.mark.parametrize("size", [1 << 20, 30])
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("'x' IN tags", [0, 4]),
        ("'x' NOT IN tags", [1, 5]),
        ("$value IN tags", [0, 3]),
        ("k IN tags", [0, 4]),
        ("contains(tags, 'x')", [0, 4]),
        ("NOT contains(tags, 'x')", [1, 5]),
        ("length(tags) = 2", [0, 3, 4]),
        ("tags IS NULL", [2]),
    ],
)
def test_lists_are_values(
    folder: Path, monkeypatch: pytest.MonkeyPatch, condition: str, expected: list[int], size: int
) -> None:
    seams.JSONL_BLOCK.put(monkeypatch, size)
    rows = [{"type": "A", "k": "x", "tags": each} for each in LISTS]
    write(folder, *rows)
    query = f"SELECT * FROM S WHERE A AS a FILTER a[{condition}]"
    given: dict[str, Any] = {"params": {"value": "y"}} if "$" in query else {}
    found = objects(query, "e.jsonl", *(("--param", "value=y") if given else ()))
    assert [each["start"] for each in found] == expected
    table = pa.Table.from_pylist(rows)
    parquet.write_table(table, folder / "e.parquet")
    for events in (rows, table, folder / "e.jsonl", folder / "e.parquet"):
        matches = library.run(query, events, **given)
        assert [match.start for match in matches] == expected
    session = library.compile(query, **given).open()
    assert [at for at, row in enumerate(rows) if session.push(row).count] == expected


def test_lists_of_integers_become_lists_of_doubles(folder: Path) -> None:
    rows = [{"type": "A", "v": each} for each in (None, [], [1, 2], [50.5], [2])]
    query = "SELECT * FROM S WHERE A AS a FILTER a[50.5 IN v OR 2 IN v]"
    write(folder, *rows)
    assert [each["start"] for each in objects(query, "e.jsonl")] == [2, 3, 4]
    session = library.compile(query).open()
    assert [session.push(row).count for row in rows] == [0, 0, 1, 1, 1]
    with pytest.raises(library.EventError, match=r"type list<string>, but .* list<double> since"):
        session.push({"type": "A", "v": ["x"]})


@pytest.mark.parametrize("value", ["text", ["x"]], ids=str)
@pytest.mark.parametrize("condition", ["v > 5", "v + 1 > 2", "abs(v) > 1"])
def test_what_comes_too_late_to_be_checked_is_told_in_a_sentence(
    condition: str, value: object
) -> None:
    session = library.compile(f"SELECT * FROM S WHERE A AS a FILTER a[{condition}]").open()
    session.push({"type": "A"})
    with pytest.raises(library.EventError, match=r"does not go with .* \(of 'v'\)"):
        session.push({"type": "A", "v": value})


def test_a_list_is_no_value_to_compare(folder: Path) -> None:
    write(folder, {"type": "A", "tags": ["x"]})
    outcome = ensue("run", "SELECT * FROM S WHERE A AS a FILTER a[tags = 'x']", "e.jsonl")
    assert outcome.code == 1
    assert "a list of strings is compared with a string" in outcome.stderr


def test_a_schema_may_declare_lists(folder: Path) -> None:
    write(folder, {"type": "A", "tags": []}, {"type": "A", "tags": ["x"]})
    (folder / "s.json").write_text('{"tags": "list<string>"}')
    query = "SELECT * FROM S WHERE A AS a FILTER a['x' IN tags]"
    assert len(objects(query, "e.jsonl", "--schema", "s.json")) == 1
    outcome = ensue("run", query.replace("'x'", "5"), "e.jsonl", "--schema", "s.json")
    assert "an int is looked up in a list of strings" in outcome.stderr


# Times


@pytest.mark.parametrize(
    "times",
    [
        ["2026-01-31T09:30:00", "2026-01-31T09:30:01", "2026-01-31T09:45:00"],
        ["2026-01-31 09:30:00.250Z", "2026-01-31 09:30:01.5Z", "2026-01-31T10:45:00+01:00"],
        ["2026-01-31", "2026-01-31", "2026-02-01"],
    ],
    ids=["naive", "zoned", "dates"],
)
@pytest.mark.parametrize("size", [1 << 20, 30])
def test_times_are_recognised(
    folder: Path, monkeypatch: pytest.MonkeyPatch, times: list[str], size: int
) -> None:
    seams.JSONL_BLOCK.put(monkeypatch, size)
    write(folder, *({"type": t, "v": 1, "at": at} for t, at in zip("ABB", times, strict=True)))
    found = objects(f"{QUERY} WITHIN 10 MINUTES [at]", "e.jsonl")
    assert [(each["start"], each["end"]) for each in found] == [(0, 1)]
    assert len(objects(f"{QUERY} WITHIN 10 MINUTES", "e.jsonl", "--time", "at")) == 1
    assert library.run(f"{QUERY} WITHIN 10 MINUTES [at]", folder / "e.jsonl").count == 1


def test_texts_that_are_compared_with_texts_stay_texts(folder: Path) -> None:
    write(folder, {"type": "A", "day": "2026-01-31"}, {"type": "A", "day": "2026-02-01"})
    query = "SELECT * FROM S WHERE A AS a FILTER a[day = '2026-01-31']"
    assert [each["start"] for each in objects(query, "e.jsonl")] == [0]


def test_texts_that_nobody_uses_stay_texts(folder: Path) -> None:
    write(folder, {"type": "A", "day": "2026-01-31"}, {"type": "A", "day": "tomorrow"})
    found = objects("SELECT * FROM S WHERE A AS a", "e.jsonl")
    assert [each["a"][0]["day"] for each in found] == ["2026-01-31", "tomorrow"]


def test_a_time_that_is_none_is_named(folder: Path) -> None:
    times = ["2026-01-31T09:30:00Z", "2026-01-31T09:30:00", "soon"]
    write(folder, *({"type": "A", "at": each} for each in times))
    outcome = ensue("run", "SELECT * FROM S WHERE A ; A WITHIN 1 HOUR [at]", "e.jsonl")
    assert outcome.code == 1
    assert "line 2, column 'at': '2026-01-31T09:30:00' is not a time with a zone" in outcome.stderr


# Schemas of some attributes


def test_a_schema_may_name_some_attributes(folder: Path) -> None:
    rows = [{"type": "A", "v": 1, "w": "x", "id": "7"}, {"type": "B", "v": 2, "w": "x", "id": "8"}]
    write(folder, *rows)
    (folder / "e.csv").write_text("type,v,w,id\nA,1,x,7\nB,2,x,8\n")
    (folder / "s.json").write_text('{"id": "string"}')
    query = "SELECT * FROM S WHERE A AS a ; B AS b FILTER a.w = b.w AND a[v < 2] AND b[id = '8']"
    for name in ("e.jsonl", "e.csv"):
        assert len(objects(query, name, "--schema", "s.json")) == 1
    outcome = ensue("run", query.replace("a[v", "a[vv"), "e.csv", "--schema", "s.json")
    assert "unknown attribute 'vv'" in outcome.stderr
