"""CSV files, and every way in which they may be wrong."""

from __future__ import annotations

import gzip
import warnings
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest

from ensue.io.events import open_events
from tests import seams
from tests.io.reading import column_type, complaint, read, rows_of


def csv_file(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "events.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    seams.CSV_BLOCK.put(monkeypatch, 64)


def test_csv_is_read_with_its_types(tmp_path: Path) -> None:
    path = csv_file(
        tmp_path,
        "type,id,price,ok,at,zoned,day,clock\n"
        "BUY,1,27.5,true,2026-01-31 09:30:00,2026-01-31T09:30:00Z,2026-01-31,09:30:00\n"
        "SELL,2,28,false,2026-01-31 09:30:01,2026-01-31T09:30:01Z,2026-02-01,09:30:01\n",
    )
    source = open_events(path)
    assert source.closed
    assert source.rows is None
    assert source.schema.types == [
        pa.string(),
        pa.int64(),
        pa.float64(),
        pa.bool_(),
        pa.timestamp("us"),
        pa.timestamp("us", "UTC"),
        pa.date32(),
        pa.string(),
    ]
    assert rows_of(source)[1]["at"] == datetime(2026, 1, 31, 9, 30, 1)


def test_csv_fields_are_null_when_empty_and_text_when_quoted(tmp_path: Path) -> None:
    path = csv_file(tmp_path, 'a,b\n1,""\n,\n3,NA\n')
    assert read(path) == [{"a": 1, "b": ""}, {"a": None, "b": None}, {"a": 3, "b": "NA"}]


def test_csv_values_may_hold_commas_quotes_and_newlines(tmp_path: Path) -> None:
    path = csv_file(tmp_path, '\ufeffa,b\r\n1,"x, ""y"""\r\n2,"one\ntwo"\r\n')
    assert read(path) == [{"a": 1, "b": 'x, "y"'}, {"a": 2, "b": "one\ntwo"}]


def test_csv_with_a_header_only_has_no_events(tmp_path: Path) -> None:
    source = open_events(csv_file(tmp_path, "a,b\n"))
    assert source.schema.names == ["a", "b"]
    assert rows_of(source) == []


def test_csv_may_be_compressed(tmp_path: Path) -> None:
    path = tmp_path / "EVENTS.CSV.GZ"
    path.write_bytes(gzip.compress(b"a\n1\n"))
    assert read(path) == [{"a": 1}]


@pytest.mark.usefixtures("small_blocks")
def test_csv_is_read_block_by_block(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "a\n" + "".join(f"{n}\n" for n in range(1000)))
    batches = list(open_events(path).batches)
    assert len(batches) > 10
    assert [row["a"] for batch in batches for row in batch.to_pylist()] == list(range(1000))


@pytest.mark.usefixtures("small_blocks")
def test_csv_times_may_get_fractions_later(tmp_path: Path) -> None:
    whole = "2026-01-31 09:30:00\n" * 10
    path = csv_file(tmp_path, f"at\n{whole}2026-01-31 09:30:00.25\n")
    assert read(path)[-1] == {"at": datetime(2026, 1, 31, 9, 30, 0, 250000)}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("text", "value"), [("7", 7), ("7.5", 7.5), ("true", True), ("x", "x"), ("7\n,8", 7)]
)
def test_csv_columns_that_were_empty_get_a_type_with_their_first_values(
    tmp_path: Path, text: str, value: object
) -> None:
    path = csv_file(tmp_path, "a,b\n" + "1,\n" * 100 + f"1,{text}\n")
    source = open_events(path)
    assert source.schema.field("b").type == pa.null()
    rows = rows_of(source)
    assert rows[0] == {"a": 1, "b": None}
    assert rows[100] == {"a": 1, "b": value}


@pytest.mark.usefixtures("small_blocks")
def test_csv_columns_that_were_empty_keep_the_type_they_got(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "a,b\n" + "1,\n" * 50 + "1,7\n" * 50 + "1,x\n")
    assert complaint(path).startswith(f"{path}, line 102, column 'b': 'x' is not of type int")


@pytest.mark.usefixtures("small_blocks")
def test_csv_columns_that_change_their_type_are_an_error_with_its_line(tmp_path: Path) -> None:
    path = csv_file(tmp_path, 'a,b\n1,"x\ny"\n\n' + "2,y\n" * 100 + "2h,y\n" + "2,y\n" * 100)
    said = complaint(path)
    assert said.startswith(f"{path}, line 105, column 'a': '2h' is not of type int")
    assert "declare" in said


@pytest.mark.usefixtures("small_blocks")
def test_csv_declared_types_hold_from_the_first_block_on(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "a,b\n" + "1,2\n" * 100 + "2.5,x\n")
    source = open_events(path, types={"a": pa.float64(), "b": pa.string(), "c": pa.int64()})
    assert source.schema == pa.schema([("a", pa.float64()), ("b", pa.string())])
    assert rows_of(source)[-1] == {"a": 2.5, "b": "x"}


def test_csv_declared_timestamps_keep_the_zone_that_is_written(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "at\n2026-01-31T09:30:00Z\n")
    assert column_type(path, "at", types={"at": pa.timestamp("us")}) == pa.timestamp("us", "UTC")


def test_csv_values_that_do_not_fit_the_declared_type_are_named(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "a\n1\nx\n")
    said = complaint(path, types={"a": pa.int64()})
    assert said.startswith(f"{path}, line 3, column 'a': 'x' is not of type int")


def test_csv_header_repeated_in_the_middle_is_found_there(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "a\n1\na\n")
    assert f"{path}, line 3" in complaint(path, types={"a": pa.int64()})


@pytest.mark.parametrize("wrong", ["3", "3,4,5"])
def test_csv_rows_of_another_length_are_named_by_line(tmp_path: Path, wrong: str) -> None:
    path = csv_file(tmp_path, f'a,b\n1,"x\ny"\n{wrong}\n5,6\n')
    assert complaint(path).startswith(f"{path}, line 4: the header names 2 columns")


@pytest.mark.usefixtures("small_blocks")
def test_csv_rows_of_another_length_are_named_in_later_blocks_and_compressed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "events.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 100 + b"3,4,5\n"))
    assert complaint(path).startswith(f"{path}, line 102: the header names 2 columns")


@pytest.mark.parametrize("last", ['3,"x\n4,y\n5,z\n', '"3,x\n4,y', '3,"x'])
def test_csv_quotes_left_open_are_an_error_not_a_long_value(tmp_path: Path, last: str) -> None:
    path = csv_file(tmp_path, f"a,b\n1,w\n2,v\n{last}")
    if "\n" in last:
        assert complaint(path).startswith(f"{path}, line 4: ")
    else:
        assert len(read(path)) == 3


def test_csv_may_end_in_a_value_of_several_lines(tmp_path: Path) -> None:
    assert read(csv_file(tmp_path, 'a\n"x\ny"\n')) == [{"a": "x\ny"}]


@pytest.mark.usefixtures("small_blocks")
def test_csv_rows_longer_than_a_block_are_an_error(tmp_path: Path) -> None:
    assert "a quote may have been left open" in complaint(csv_file(tmp_path, "a\n" + "x" * 999))


def test_csv_integers_beyond_64_bits_are_an_error_not_doubles(tmp_path: Path) -> None:
    path = csv_file(tmp_path, f"a,b\n1,1e30\n{2**63},inf\n")
    said = complaint(path)
    assert said.startswith(f"{path}, line 3, column 'a': an integer does not fit into 64 bits")
    assert read(path, types={"a": pa.float64()})[1]["a"] == 2.0**63
    assert read(path, types={"a": pa.string()})[1]["a"] == str(2**63)


def test_csv_of_large_doubles_is_fine(tmp_path: Path) -> None:
    path = csv_file(tmp_path, f"a,b\n1e30,{2**63 - 1}\n-inf,0\n")
    assert read(path)[0] == {"a": 1e30, "b": 2**63 - 1}


@pytest.mark.parametrize("text", ["", "\n", "a,b"])
def test_csv_without_a_header_line_is_an_error(tmp_path: Path, text: str) -> None:
    assert "starts with a line of column names" in complaint(csv_file(tmp_path, text))


def test_csv_with_two_columns_of_one_name_is_an_error(tmp_path: Path) -> None:
    assert "two columns are named 'a'" in complaint(csv_file(tmp_path, "a,a\n1,2\n"))


def test_csv_that_is_not_utf8_is_named_by_line(tmp_path: Path) -> None:
    assert ", line 3: not UTF-8" in complaint(csv_file(tmp_path, b"a\nx\n\xff\n"))
    assert "not UTF-8" in complaint(csv_file(tmp_path, b"\xff\nx\n"))


@pytest.mark.usefixtures("small_blocks")
def test_csv_that_stops_being_utf8_is_named_by_line(tmp_path: Path) -> None:
    path = csv_file(tmp_path, b"a\n" + b"x\n" * 100 + b"\xff\n")
    assert complaint(path).startswith(f"{path}, line 102: not UTF-8")


def _warnings_of(tmp_path: Path, content: str, **types: pa.DataType) -> list[str]:
    path = csv_file(tmp_path, content)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        list(open_events(path, types=types).batches)
    return [str(each.message) for each in said]


def test_a_column_of_numbers_with_an_odd_value_is_warned_of(tmp_path: Path) -> None:
    numbers = "".join(f"{n},{n}.5\n" for n in range(12))
    (said,) = _warnings_of(tmp_path, f"id,price\n{numbers}12,n/a\n")
    assert "events.csv, line 14, column 'price': 'n/a' is not a number" in said
    assert "declare its type" in said


@pytest.mark.parametrize(
    "content",
    ["id\n1\n2\n3\n", "id\na\nb\n3\n", "id\na\n3\n", "id\nx\n", "id\n1e5\n-2.\n.5\n\n"],
)
def test_numbers_and_names_are_not_warned_of(tmp_path: Path, content: str) -> None:
    assert _warnings_of(tmp_path, content) == []


def test_a_declared_column_is_not_warned_of(tmp_path: Path) -> None:
    assert _warnings_of(tmp_path, "id\n1\n2\n3\nx\n", id=pa.string()) == []
