"""ensue check: all errors and warnings of all files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import ensue, start
from tests.waiting import PATIENCE

GOOD = "SELECT * FROM S WHERE A ; B"
UNBOUND = "SELECT * FROM S\nWHERE A ; B FILTER C[x > 3] AND D[x < 3]\n"
WARNED = "SELECT * FROM S WHERE A+"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules" / "more").mkdir(parents=True)
    (tmp_path / "rules" / "bad.ceql").write_text(UNBOUND)
    (tmp_path / "rules" / "good.ceql").write_text(GOOD)
    (tmp_path / "rules" / "notes.txt").write_text("not a query")
    (tmp_path / "rules" / "more" / "warned.ceql").write_text(WARNED)
    return tmp_path


def test_good_files(folder: Path) -> None:
    outcome = ensue("check", "rules/good.ceql")
    assert (outcome.code, outcome.stderr) == (0, "")
    assert outcome.stdout == "1 file: no errors, no warnings\n"


def test_all_errors_and_warnings_of_a_folder(folder: Path) -> None:
    outcome = ensue("check", "rules")
    assert outcome.code == 1
    assert outcome.stdout == (
        "error[E206]: the pattern never binds 'C'\n"
        "  --> rules/bad.ceql:2:20\n"
        "2 | WHERE A ; B FILTER C[x > 3] AND D[x < 3]\n"
        "  |                    ^\n"
        "  = it binds A, B\n"
        "\n"
        "error[E206]: the pattern never binds 'D'\n"
        "  --> rules/bad.ceql:2:33\n"
        "2 | WHERE A ; B FILTER C[x > 3] AND D[x < 3]\n"
        "  |                                 ^\n"
        "  = it binds A, B\n"
        "\n"
        "warning[W501]: a repetition without WITHIN looks back to the beginning of the stream\n"
        "  --> rules/more/warned.ceql:1:23\n"
        "1 | SELECT * FROM S WHERE A+\n"
        "  |                       ^^\n"
        "  = add a window, such as WITHIN 10 MINUTES or WITHIN 1000 EVENTS\n"
        "\n"
        "3 files: 2 errors, 1 warning\n"
    )


def test_warnings_alone_are_no_failure(folder: Path) -> None:
    outcome = ensue("check", "rules/more", "rules/good.ceql")
    assert outcome.code == 0
    assert outcome.stdout.endswith("2 files: no errors, 1 warning\n")


def test_a_file_named_twice_is_checked_once(folder: Path) -> None:
    assert "\n3 files: " in ensue("check", "rules", "rules/bad.ceql").stdout


def test_standard_input() -> None:
    outcome = ensue("check", "-", stdin="SELECT * FROM S WERE A")
    assert outcome.code == 1
    assert "--> <stdin>:1:17\n" in outcome.stdout


def test_parameters_need_no_values() -> None:
    outcome = ensue("check", "-", stdin="SELECT * FROM S WHERE A FILTER A[x > $low AND y IN $all]")
    assert (outcome.code, outcome.stdout) == (0, "1 file: no errors, no warnings\n")


def test_the_limit_of_nodes_is_checked() -> None:
    outcome = ensue("check", "-", stdin="SELECT * FROM S WHERE A+ ; B{1,30000}")
    assert outcome.code == 1
    assert "error[E401]" in outcome.stdout
    assert outcome.stdout.endswith("1 file: 1 error, 1 warning\n")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "E116"),
        (b"SELECT * FROM S WHERE A ; \xff", "E109"),
        (b"\xef\xbb\xbfSELECT * FROM S WHERE \xc3", "E109"),
        (b"\x00\x01\x02", "E109"),
        (b"(" * 10_000, "E107"),
    ],
)
def test_broken_files(data: bytes, code: str, tmp_path: Path) -> None:
    file = tmp_path / "broken.ceql"
    file.write_bytes(data)
    outcome = ensue("check", file)
    assert outcome.code == 1
    assert outcome.stdout.startswith(f"error[{code}]")
    assert outcome.stdout.endswith("1 file: 1 error, no warnings\n")


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    file = tmp_path / "windows.ceql"
    file.write_bytes(b"\xef\xbb\xbfSELECT * FROM S\r\nWHERE A ; B\r\n")
    assert ensue("check", file).code == 0


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("nowhere.ceql", "nowhere.ceql: there is no such file"),
        ("empty", "empty: there is no .ceql file in this folder"),
        (GOOD, f"{GOOD}: there is no such file; to check a text, pipe it in: ensue check -"),
        ("x " * 5000, "…: there is no such file"),
    ],
)
def test_missing_files_are_bad_usage(folder: Path, argument: str, sentence: str) -> None:
    (folder / "empty").mkdir()
    outcome = ensue("check", "rules/good.ceql", argument)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert sentence in outcome.stderr


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ('{"price": "double", "name": "string"}', "did you mean 'price'?"),
        ('{"A": {"price": "double"}, "B": {}}', "unknown attribute 'prise' of A"),
    ],
)
def test_schema(tmp_path: Path, schema: str, found: str) -> None:
    file = tmp_path / "schema.json"
    file.write_text(schema)
    query = "SELECT * FROM S WHERE A ; B FILTER A[prise > 3]"
    outcome = ensue("check", "--schema", file, "-", stdin=query)
    assert outcome.code == 1
    assert found in outcome.stdout
    assert ensue("check", "-", stdin=query).code == 0


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ("{", "not JSON"),
        ("[1]", "a schema is an object"),
        ('{"price": "doubel"}', "unknown type 'doubel' of attribute 'price'"),
        (None, "there is no such file"),
    ],
)
def test_bad_schemas_are_bad_usage(tmp_path: Path, schema: str | None, sentence: str) -> None:
    file = tmp_path / "schema.json"
    if schema is not None:
        file.write_text(schema)
    outcome = ensue("check", "--schema", file, "-", stdin=GOOD)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert f"{file}: {sentence}" in outcome.stderr


def test_no_colour_off_a_terminal(folder: Path) -> None:
    process = start("check", "rules", folder=folder)
    stdout, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "\x1b" not in stdout
