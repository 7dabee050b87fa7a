"""A push goes one way, and docs/design.md names it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType

import pyarrow as pa

import ensue

PACKAGE = Path(ensue.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "design.md"
ROOMS = ("engine", "stream", "operators", "results")
MOST_FILES = 12

QUERY = (
    "SELECT * FROM S WHERE (A AS a ; B+ AS b ; C AS c) FILTER a[v > 1] PARTITION BY [k] "
    "WITHIN 10 [t]"
)


def batch(time: int) -> pa.RecordBatch:
    columns = {"type": ["A", "B", "C"] * 4, "v": list(range(12)), "k": [1, 2] * 6, "t": [time] * 12}
    return pa.RecordBatch.from_pydict(columns)


def files_entered(session: ensue.Session, events: pa.RecordBatch) -> list[str]:
    """List the files of the four rooms that a push enters, in the order of their first call."""
    entered: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            inside = path.relative_to(PACKAGE)
            if inside.parts[0] in ROOMS:
                entered.setdefault(inside.as_posix())

    sys.setprofile(note)
    try:
        matches = session.push(events)
    finally:
        sys.setprofile(None)
    assert matches.count
    return list(entered)


def documented() -> list[str]:
    section = PAGE.read_text().split("## The way of a push")[1].split("\n## ")[0]
    return re.findall(r"^\d+\. `([\w/]+\.py)`", section, re.MULTILINE)


def test_a_warm_push_passes_the_files_that_the_design_names_in_that_order() -> None:
    session = ensue.compile(QUERY).open(time="t")
    for time in range(400):
        session.push(batch(time))
    entered = files_entered(session, batch(400))
    assert entered == documented()
    assert len(entered) <= MOST_FILES
