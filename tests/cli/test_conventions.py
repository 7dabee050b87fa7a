"""Conventions of logs: type columns, times, NULLs and separators as others write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import ensue as library
from tests.cli.command import ensue

QUERY = "SELECT * FROM S WHERE A AS a ; B AS b"
MINUTE = f"{QUERY} WITHIN 1 MINUTE [at]"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def spans(*arguments: object) -> list[tuple[int, int]]:
    outcome = ensue("run", *arguments, "--format", "json", "--positions")
    assert outcome.code == 0, outcome.stderr
    found = [json.loads(line) for line in outcome.stdout.splitlines()]
    return [(each["start"], each["end"]) for each in found]


def write(folder: Path, *rows: dict[str, Any]) -> None:
    (folder / "e.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


# Types


def test_a_type_column_may_be_nested_or_have_a_dotted_name(folder: Path) -> None:
    write(folder, *({"event": {"action": kind, "v": 1}} for kind in "AB"))
    (folder / "e.csv").write_text("event.action,v\nA,1\nB,1\n")
    for name in ("e.jsonl", "e.csv"):
        assert spans(QUERY, name, "--type", "event.action") == [(0, 1)]
        assert library.run(QUERY, folder / name, type="event.action").count == 1
        some = "SELECT a[v] FROM S WHERE A AS a ; B AS b"
        assert ensue("run", some, name, "--type-from", "event.action").code == 0
    assert "'event.acton'" in ensue("run", QUERY, "e.jsonl", "--type", "event.acton").stderr


# Times

LOG = ["31/Jan/2026:09:30:00 +0100", "31/Jan/2026:09:30:59 +0100", "31/Jan/2026:09:31:01 +0100"]
FORMAT = "%d/%b/%Y:%H:%M:%S %z"


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl"])
def test_times_in_a_format(folder: Path, name: str) -> None:
    write(folder, *({"type": t, "at": at} for t, at in zip("ABB", LOG, strict=True)))
    rows = "".join(f"{t},{at}\n" for t, at in zip("ABB", LOG, strict=True))
    (folder / "e.csv").write_text(f"type,at\n{rows}")
    assert spans(MINUTE, name, "--time-format", FORMAT) == [(0, 1)]
    query = MINUTE.removesuffix(" [at]")
    assert spans(query, name, "--time", "at", "--time-format", FORMAT) == [(0, 1)]
    assert library.run(MINUTE, folder / name, time_format=FORMAT).count == 1
    outcome = ensue("run", MINUTE, name, "--time-format", "%Y")
    assert outcome.code == 1
    assert "'31/Jan/2026:09:30:00 +0100' is not a time in the format %Y" in outcome.stderr
    collect = ("--on-error", "collect", "bad.jsonl")
    with (folder / name).open("a") as file:
        file.write("B,soon\n" if name == "e.csv" else '{"type": "B", "at": "soon"}\n')
    assert spans(MINUTE, name, "--time-format", FORMAT, *collect) == [(0, 1)]
    (bad,) = (folder / "bad.jsonl").read_text().splitlines()
    assert json.loads(bad)["line"] == (5 if name == "e.csv" else 4)


@pytest.mark.parametrize(
    ("times", "unit"),
    [([1.7e9 + 0.25, 1.7e9 + 60.25, 1.7e9 + 60.5], None), ([1500.5, 61_500.5, 61_501.5], "ms")],
)
def test_times_as_doubles(folder: Path, times: list[float], unit: Any) -> None:
    rows = [{"type": t, "at": at} for t, at in zip("ABB", times, strict=True)]
    write(folder, *rows)
    (folder / "e.csv").write_text("type,at\n" + "".join(f"{r['type']},{r['at']}\n" for r in rows))
    options = [] if unit is None else ["--time-unit", unit]
    for name in ("e.jsonl", "e.csv"):
        assert spans(MINUTE, name, *options) == [(0, 1)]
    query = library.compile(MINUTE)
    for events in (rows, pa.Table.from_pylist(rows)):
        assert query.run(events, time_unit=unit).count == 1
    session = query.open(time_unit=unit)
    assert [session.push(row).count for row in rows] == [0, 1, 0]


# Values


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl"])
def test_texts_that_mean_null(folder: Path, name: str) -> None:
    values = ["5", "ERR", "n/a", "7"]
    (folder / "e.csv").write_text("type,v\n" + "".join(f"A,{each}\n" for each in values))
    write(folder, *({"type": "A", "v": int(v) if v.isdecimal() else v} for v in values))
    query = "SELECT * FROM S WHERE A AS a FILTER a[v > 1]"
    assert spans(query, name, "--null", "ERR", "--null", "n/a") == [(0, 0), (3, 3)]
    assert library.run(query, folder / name, nulls=["ERR", "n/a"]).count == 2
    null = "SELECT * FROM S WHERE A AS a FILTER a[v IS NULL]"
    assert spans(null, name, "--null", "ERR", "--null", "n/a") == [(1, 1), (2, 2)]


@pytest.mark.parametrize(
    ("name", "sign", "options"),
    [
        ("e.csv", ";", ["--delimiter", ";"]),
        ("e.csv", "\t", ["--delimiter", r"\t"]),
        ("e.tsv", "\t", []),
        ("e.csv", "|", ["--delimiter", "|"]),
    ],
)
def test_other_separators(folder: Path, name: str, sign: str, options: list[str]) -> None:
    rows = ["type,note,v", 'A,"one\n{}two",1', 'B,"x{}y",2', "B,z,3,4"]
    text = "\n".join(row.replace(",", sign).format(sign) for row in rows) + "\n"
    (folder / name).write_text(text)
    collect = ("--on-error", "collect", "bad.jsonl")
    assert spans(f"{QUERY} FILTER a[v < 2]", name, *options, *collect) == [(0, 1)]
    (bad,) = (folder / "bad.jsonl").read_text().splitlines()
    assert json.loads(bad)["line"] == 5
    outcome = ensue("run", QUERY, name, *options)
    assert outcome.stderr.startswith(f"error: {name}, line 5: the header names 3 columns")


def test_another_separator_is_guessed(folder: Path) -> None:
    (folder / "e.csv").write_text("type;v\nA;1\nB;2\n")
    outcome = ensue("run", QUERY, "e.csv")
    assert outcome.code == 1
    assert outcome.stderr.startswith("error: e.csv: the only column is named 'type;v'; where ';'")
    assert "--delimiter ';'" in outcome.stderr
    assert ensue("run", QUERY, "e.csv", "--delimiter", ";;").code == 2


def test_leading_zeros_stay_where_texts_are_compared(folder: Path) -> None:
    (folder / "e.csv").write_text("type,id,v\nA,007,01\nA,7,2\nB,008,3\n")
    query = "SELECT * FROM S WHERE A AS a ; B AS b FILTER a[id = '007'] AND a[v < 2]"
    assert spans(query, "e.csv") == [(0, 2)]
    assert spans(f"{QUERY} FILTER b[id LIKE '00%']", "e.csv") == [(1, 2), (0, 2)]
    number = "SELECT * FROM S WHERE A AS a FILTER a[id = 7]"
    assert spans(number, "e.csv") == [(0, 0), (1, 1)]
    found = library.run(
        "SELECT * FROM S WHERE A AS a FILTER a[id = $id]", folder / "e.csv", params={"id": "007"}
    )
    assert found.count == 1


def test_a_session_goes_on_with_its_options(folder: Path) -> None:
    (folder / "e.csv").write_text("type;v\nA;ERR\n")
    (folder / "f.csv").write_text("type;v\nB;ERR\n")
    query = library.compile(QUERY)
    session = query.open(delimiter=";", nulls=("ERR",))
    session.push(folder / "e.csv")
    assert query.resume(session.snapshot()).push(folder / "f.csv").count == 1


@pytest.mark.parametrize("options", [{"delimiter": ";;"}, {"nulls": "ERR"}])
def test_impossible_options(options: Any) -> None:
    with pytest.raises(ValueError, match=f"^{next(iter(options))}= must be"):
        library.compile(QUERY).run([], **options)


def test_a_checkpoint_knows_its_options(folder: Path) -> None:
    (folder / "e.csv").write_text("type;v\nA;ERR\nB;1\n")
    arguments = ["run", QUERY, "e.csv", "--delimiter", ";", "--null", "ERR", "-o", "m.jsonl"]
    arguments += ["--checkpoint", "c"]
    assert ensue(*arguments).code == 0
    assert "this run is complete" in ensue(*arguments).stderr
    outcome = ensue(*arguments, "--null", "x")
    assert "made with another --nulls" in outcome.stderr
