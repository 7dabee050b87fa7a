"""What a new user meets at a prompt: versions, reprs, and errors without inner frames."""

from __future__ import annotations

import copy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ensue

ROOT = Path(__file__).parents[2]
QUERY = "SELECT * FROM S WHERE A ; B"


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert ensue.__version__ == project["version"]


# reprs


def test_the_repr_of_a_query_shows_its_text_on_one_line() -> None:
    assert repr(ensue.compile("SELECT *\n  FROM S\nWHERE A ; B")) == f"Query({QUERY!r})"
    long = repr(ensue.compile(f"SELECT * FROM S WHERE {' ; '.join('A' * 60)}"))
    assert len(long) < 100
    assert long.endswith("…')")


def test_the_repr_of_a_session_tells_how_far_it_is() -> None:
    session = ensue.compile(QUERY).open(time="t", lateness=5)
    assert repr(session) == f"Session(Query({QUERY!r}), 0 events read)"
    session.push([{"type": "A", "t": 1}, {"type": "B", "t": 9}])
    assert repr(session) == f"Session(Query({QUERY!r}), 1 event read, 1 waiting)"
    session.finish()
    assert repr(session) == f"Session(Query({QUERY!r}), 2 events read, finished)"


def test_the_repr_of_sessions_names_their_queries() -> None:
    session = ensue.open({"pairs": QUERY, "ends": "SELECT * FROM S WHERE B"})
    assert repr(session) == "Sessions(pairs, ends; 0 events read)"


def test_the_repr_of_an_automaton_says_how_to_draw_it() -> None:
    assert repr(ensue.compile(QUERY).automaton) == (
        "Automaton(2 states, 2 edges; to_svg(), to_dot() and to_mermaid() draw it)"
    )


# errors

MISTAKE = "SELECT * FROM S WHERE A FILTER A[v > ]"


def test_a_notebook_shows_the_message_and_no_frames() -> None:
    with pytest.raises(ensue.CeqlError) as caught:
        ensue.compile(MISTAKE)
    shown = caught.value._render_traceback_()
    assert shown[0] == "CeqlSyntaxError:"
    assert "\n".join(shown[1:]) == str(caught.value)


def test_errors_of_ensue_can_be_copied() -> None:
    error = ensue.EventError("row 3 is bad", 3)
    assert copy.copy(error).args == error.args


def test_pytest_shows_no_inner_frames(tmp_path: Path) -> None:
    (tmp_path / "test_user.py").write_text(
        f"import ensue\n\ndef test_mine():\n    ensue.run({MISTAKE!r}, [])\n"
    )
    options = ["-p", "no:cacheprovider", "-p", "no:ensue", "--rootdir", str(tmp_path)]
    outcome = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path / "test_user.py")],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert "1 failed" in outcome.stdout
    assert "error[E100]" in outcome.stdout
    assert "src/ensue" not in outcome.stdout
