"""Design, section 3: everything that can be events gives the same matches."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import ensue
from tests.spec.helpers import Event, plain, run, spans, stream

EVENTS: list[Event] = [
    {"type": "A", "t": 1, "v": 1.5, "name": "x", "ok": True},
    {"type": "B", "t": 2, "v": None, "name": "y", "ok": False},
    {"type": "A", "t": 2, "v": 2.5, "name": None, "ok": True},
    {"type": "B", "t": 4, "v": 9.0, "name": "x", "ok": None},
]
TABLE = pa.Table.from_pylist(EVENTS)
QUERY = """
    SELECT * FROM S WHERE (A AS a ; B AS b) FILTER a[ok = TRUE] AND b[v > 2] AND a.v < b.v
    WITHIN 3 [t]
"""
EXPECTED = [
    (0, 3, {"A": [0], "a": [0], "B": [3], "b": [3]}),
    (2, 3, {"A": [2], "a": [2], "B": [3], "b": [3]}),
]


def generated() -> Iterator[Event]:
    yield from EVENTS


_IN_MEMORY: dict[str, Callable[[], object]] = {
    "list of dicts": lambda: EVENTS,
    "tuple of dicts": lambda: tuple(EVENTS),
    "generator": generated,
    "table": lambda: TABLE,
    "record batch": lambda: TABLE.to_batches()[0],
    "reader": lambda: TABLE.to_reader(max_chunksize=1),
    "chunked table": lambda: pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)]),
    "pandas": lambda: pd.DataFrame(EVENTS),
    "pandas of arrow": lambda: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.DataFrame(EVENTS),
    "lazy polars": lambda: pl.DataFrame(EVENTS).lazy(),
    "polars categories": lambda: pl.DataFrame(EVENTS).with_columns(
        pl.col("type").cast(pl.Categorical)
    ),
}


@pytest.mark.parametrize("make", _IN_MEMORY.values(), ids=_IN_MEMORY.keys())
def test_events_in_memory(make: Callable[[], object]) -> None:
    assert plain(ensue.run(QUERY, make())) == EXPECTED
    assert plain(ensue.compile(QUERY).run(make())) == EXPECTED


def write_json_lines(path: Path) -> None:
    path.write_text("".join(json.dumps(event) + "\n" for event in EVENTS), encoding="utf-8")


_FILES: dict[str, Callable[[Path], Any]] = {
    "events.csv": lambda path: pa.csv.write_csv(TABLE, path),
    "events.jsonl": write_json_lines,
    "events.parquet": lambda path: pa.parquet.write_table(TABLE, path, row_group_size=1),
}


@pytest.mark.parametrize(("name", "write"), _FILES.items(), ids=_FILES.keys())
@pytest.mark.parametrize("as_text", [True, False])
def test_events_in_a_file(
    tmp_path: Path, name: str, write: Callable[[Path], Any], as_text: bool
) -> None:
    path = tmp_path / name
    write(path)
    assert plain(ensue.run(QUERY, str(path) if as_text else path)) == EXPECTED


def test_times_in_csv_are_timestamps(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text(
        "type,ts\nA,2026-01-31 09:00:00\nB,2026-01-31 09:05:00\nB,2026-01-31 09:05:01\n",
        encoding="utf-8",
    )
    assert spans("A ; B WITHIN 5 MINUTES", path, time="ts") == [(0, 1)]


def test_ids_do_not_depend_on_where_the_events_came_from() -> None:
    ids = {tuple(m.id for m in ensue.run(QUERY, make())) for make in _IN_MEMORY.values()}
    assert len(ids) == 1


@pytest.mark.parametrize("size", [1, 2, 3])
def test_results_do_not_depend_on_where_batches_are_cut(size: int) -> None:
    table = pa.Table.from_pylist(stream("A1 B2 A3 B1 A2 B3 A1 B7"))
    text = "SELECT * FROM S WHERE A+ AS x ; B AS y FILTER x.v < y.v WITHIN 4 EVENTS"
    cut = pa.concat_tables([table.slice(at, size) for at in range(0, table.num_rows, size)])
    whole = [(m.id, m.start, m.end, m.bindings) for m in ensue.run(text, table)]
    assert whole
    assert sorted(whole, key=repr) == sorted(
        ((m.id, m.start, m.end, m.bindings) for m in ensue.run(text, cut)), key=repr
    )


@pytest.mark.parametrize(
    "events",
    [
        [],
        pa.table({"type": pa.array([], pa.string())}),
        pd.DataFrame({"type": []}, dtype=object),
        iter(()),
    ],
    ids=["list", "arrow", "pandas", "iterator"],
)
def test_no_events_have_no_matches(events: object) -> None:
    matches = run("A ; B", events)
    assert matches.count == 0
    assert list(matches) == []
    assert matches.to_arrow().num_rows == 0
    assert matches.stats["events"] == 0


@pytest.mark.parametrize("events", [None, 7, b"A", [1, 2], "no/such/file.csv"])
def test_what_cannot_be_events_is_told(events: object) -> None:
    with pytest.raises(ensue.EventError):
        run("A", events)


def test_a_column_that_changes_its_type_is_an_error_that_names_it() -> None:
    def changing() -> Iterator[Event]:
        for i in range(20_000):
            yield {"type": "X", "v": i}
        yield {"type": "A", "v": "text"}

    with pytest.raises(ensue.EventError, match="'v'"):
        assert run("A FILTER A[v > 1]", changing()).count


def test_several_queries_run_in_one_pass() -> None:
    found = ensue.run(
        {"ab": "SELECT * FROM S WHERE A ; B", "a": "SELECT * FROM S WHERE A"}, stream("A B A")
    )
    assert {name: matches.count for name, matches in found.items()} == {"ab": 1, "a": 2}
