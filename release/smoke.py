"""Try an installed Ensue from outside its repository: a query, a session, the command line, Spark.

Run by `make dist` in a fresh environment with the built wheel; `--spark` tries the extra too.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import ensue

QUERY = "SELECT a, b FROM S WHERE SELL AS a ; BUY AS b FILTER b.price > a.price WITHIN 10 [ts]"
EVENTS = [
    {"type": "SELL", "price": 25.0, "ts": 1},
    {"type": "BUY", "price": 24.0, "ts": 2},
    {"type": "BUY", "price": 26.0, "ts": 3},
]


def try_python() -> None:
    """Find the one match of a small stream, as a whole and event by event."""
    assert "site-packages" in str(ensue.__file__), f"not installed: {ensue.__file__}"
    (match,) = ensue.run(QUERY, EVENTS)
    assert (match.start, match.end) == (0, 2)
    with ensue.compile(QUERY).open() as session:
        assert sum(session.push(event).count for event in EVENTS) == 1


def try_command_line(folder: Path) -> None:
    """Find it in a file, too."""
    lines = "".join(json.dumps(event) + "\n" for event in EVENTS)
    (folder / "events.jsonl").write_text(lines, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("ensue")), "run", QUERY, "events.jsonl"]
    told = subprocess.run(
        [*command, "--format", "json"], cwd=folder, check=True, capture_output=True, text=True
    )
    assert [json.loads(line)["end"] for line in told.stdout.splitlines()] == [2], told


def try_highlighting() -> None:
    """Find the lexer of queries where Pygments looks for it, and say how to get the server."""
    from pygments.lexers import get_lexer_by_name

    assert get_lexer_by_name("ceql").name == "CEQL"
    command = [str(Path(sys.executable).with_name("ensue")), "lsp"]
    told = subprocess.run(command, input="", capture_output=True, text=True)
    assert "pip install 'ensue[lsp]'" in told.stderr, told


def try_spark() -> None:
    """Find it in a DataFrame."""
    from ensue.spark import recognize, session

    spark = session("local[1]")
    events = spark.createDataFrame(EVENTS, "type string, price double, ts long")
    assert recognize(events, QUERY).count() == 1
    spark.stop()


if __name__ == "__main__":
    try_python()
    try_highlighting()
    with tempfile.TemporaryDirectory() as name:
        try_command_line(Path(name))
    if "--spark" in sys.argv:
        try_spark()
    sys.stdout.write(f"ensue {ensue.__version__} works on Python {sys.version.split()[0]}\n")
