"""ensue test --update, and the plugin of pytest."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensue.cli.testing.files import parse, rule_tests
from ensue.cli.testing.judge import judge
from ensue.cli.testing.update import update
from tests.cli.command import ensue, start
from tests.cli.test_rule_tests import QUERY, TOML_EVENTS, write


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --update

COMMENTED = f'''\
# all of them
query = """
{QUERY} -- count = 1 [[test]]
"""
events = {TOML_EVENTS}  # three

[[test]] # the first
name = "a # in a string, and a [[test]]"
count = 7  # not any more

[[test]]
"matches" = [  # wrong
    {{b = [9]}},
]   # behind
name = "another"

[[test]]
name = "silent"
params = {{}}

  # the end
'''


def test_update_keeps_comments_and_layout(folder: Path) -> None:
    path = write(folder, COMMENTED)
    outcome = ensue("test", ".", "--update")
    assert (outcome.code, outcome.stderr) == (0, "")
    assert outcome.stdout == "updated  rule.ceql.toml\n3 tests in 1 file: 3 updated\n"
    assert path.read_text() == (
        COMMENTED.replace("count = 7  #", "count = 2  #")
        .replace("[  # wrong\n    {b = [9]},\n]", "[\n    {b = [1]},\n    {b = [2]},\n]")
        .replace(
            "params = {}\n",
            "params = {}\nmatches = [\n"
            "    {start = 0, end = 1, SELL = [0], s = [0], BUY = [1], b = [1]},\n"
            "    {start = 0, end = 2, SELL = [0], s = [0], BUY = [2], b = [2]},\n]\n",
        )
    )
    assert ensue("test", ".").code == 0
    before = path.read_bytes()
    assert ensue("test", ".", "--update").stdout.endswith("3 passed\n")
    assert path.read_bytes() == before


def test_update_of_a_file_with_one_test(folder: Path) -> None:
    path = write(folder, f"events = []\ncount = 3\nquery = '{QUERY}'\n[schema]\nn = 'int'")
    assert ensue("test", ".", "--update").code == 0
    assert path.read_text() == f"events = []\ncount = 0\nquery = '{QUERY}'\n[schema]\nn = 'int'"


def test_update_refuses_what_it_would_spoil(folder: Path) -> None:
    path = write(folder, f"query = '{QUERY}'\nevents = []\ntest = [{{count = 3}}]\n")
    before = path.read_bytes()
    outcome = ensue("test", ".", "--update")
    assert outcome.code == 1
    assert outcome.stdout.startswith("FAILED  rule.ceql.toml: its layout cannot be kept")
    assert path.read_bytes() == before


def test_update_leaves_what_cannot_be_run(folder: Path) -> None:
    path = write(folder, "query = 'SELECT nonsense'\nevents = []\ncount = 3\n")
    before = path.read_bytes()
    assert ensue("test", ".", "--update").code == 1
    assert path.read_bytes() == before


def test_update_of_json(folder: Path) -> None:
    events = [{"type": "BUY", "at": f"2026-01-31T09:30:0{n}"} for n in range(3)]
    data = {"query": "SELECT count(*) FROM S WHERE BUY", "schema": {"at": "timestamp"}}
    path = write(folder, json.dumps({**data, "time": "at", "events": events}), "rule.ceql.json")
    assert ensue("test", ".", "--update").code == 0
    expected = [{"time": each["at"], "count": 1} for each in events]
    assert json.loads(path.read_text()) == {
        **data,
        "time": "at",
        "events": events,
        "matches": expected,
    }
    assert '    {"type": "BUY", "at": "2026-01-31T09:30:01"},\n' in path.read_text()
    assert ensue("test", ".").code == 0


_KEY = st.text("ab _é\"'#=[]\n\x7f", min_size=1, max_size=4)
_VALUE = st.one_of(
    st.integers(-5, 5),
    st.text("xy \"'\\#=[]{}\n\t\x7f", max_size=6),
    st.booleans(),
    st.floats(-2, 2),
    st.dates().map(lambda each: each.isoformat()),
)


@given(
    names=st.lists(st.text("xy #\"'[]=", max_size=8), min_size=1, max_size=3),
    attributes=st.dictionaries(_KEY, _VALUE, max_size=3),
    quote=st.sampled_from(["'''", '"""']),
)
def test_update_writes_toml_that_says_so(
    names: list[str], attributes: dict[str, Any], quote: str, tmp_path_factory: Any
) -> None:
    """Whatever stands in names and values, the updated file passes and says the same else."""
    path = tmp_path_factory.mktemp("rules") / "rule.ceql.toml"
    fields = ", ".join(f"{_toml(key)} = {_toml(value)}" for key, value in attributes.items())
    event = f'{{type = "SELL"{", " if fields else ""}{fields}}}'
    text = f"query = {quote}{QUERY}{quote}\nevents = [{event}, {{type = 'BUY'}}] # [\n"
    text += "".join(f"[[test]]\nname = {_toml(name)}\n" for name in names)
    path.write_text(text, encoding="utf-8")
    before = parse(path, text)
    verdicts = [judge(test, update=True) for test in rule_tests(before, path)]
    if any(each.problem for each in verdicts):
        assert update(path, verdicts) == 0
        return
    assert update(path, verdicts) == len(names)
    after = tomllib.loads(path.read_text(encoding="utf-8"))
    assert all(judge(test).passed for test in rule_tests(after, path))
    for test in after["test"]:
        assert test.pop("matches")
    assert after == before


def _toml(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("\x7f", "\\u007f")


# pytest


def run_pytest(folder: Path) -> subprocess.CompletedProcess[str]:
    # Where the package is installed, pytest finds the plugin by itself.
    installed = any(each.name == "ensue" for each in entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "ensue.cli.testing.plugin"]
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", str(folder), *plugin]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(folder)],
        capture_output=True,
        text=True,
        cwd=folder,
    )


def test_pytest_runs_rule_tests(folder: Path) -> None:
    write(
        folder,
        f"query = '{QUERY}'\nevents = {TOML_EVENTS}\n"
        "[[test]]\nname = 'right'\ncount = 2\n"
        "[[test]]\nname = 'wrong'\nmatches = [{b = [1]}]\n",
    )
    write(folder, "nonsense = 1", "other.ceql.toml")
    write(folder, "not = 'a rule test'", "config.toml")
    process = run_pytest(folder)
    assert process.returncode == 2, process.stdout
    assert "other.ceql.toml: 'nonsense' means nothing here" in process.stdout
    (folder / "other.ceql.toml").unlink()
    process = run_pytest(folder)
    assert process.returncode == 1
    assert "expected 1 match, found 2\n" in process.stdout
    assert "+ b=[2]" in process.stdout
    assert "Traceback" not in process.stdout
    assert "1 failed, 1 passed" in process.stdout


def test_the_plugin_imports_nothing_heavy() -> None:
    code = (
        "import sys; import ensue.cli.testing.plugin; "
        "assert not {'pyarrow', 'numpy', 'numba', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_failure_names_what_no_event_has(tmp_path: Path) -> None:
    (tmp_path / "rule.ceql").write_text("SELECT * FROM S WHERE SEL")
    test = tmp_path / "rule.ceql.toml"
    test.write_text('events = [{type = "SELL"}, {type = "BUY"}]\ncount = 1\n')
    outcome = ensue("test", tmp_path)
    assert outcome.code == 1
    assert "expected 1 match, found 0" in outcome.stdout
    assert "no event has type 'SEL'; there are SELL, BUY" in outcome.stdout
    test.write_text(test.read_text().replace("count = 1", "count = 0"))
    process = start("test", tmp_path)
    stdout, stderr = process.communicate()
    assert (process.returncode, stderr) == (0, "")
    assert "no event has" not in stdout
