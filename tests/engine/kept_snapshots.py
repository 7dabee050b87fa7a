"""Snapshots of a release, kept so that later releases must read them.

`python -m tests.engine.kept_snapshots` writes the file for the version at hand.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import ensue
from ensue.state.container import VERSION

FOLDER = Path(__file__).parent / "snapshots"

ROWS = [
    {"type": kind, "v": v, "k": key, "t": number // 2}
    for number, (kind, v, key) in enumerate(
        [
            ("A", 1, "p"),
            ("A", 2, "q"),
            ("B", 3, "p"),
            ("A", 3, None),
            ("C", 1, "q"),
            ("B", 1, "q"),
            ("A", 2, "p"),
            ("B", 2, "p"),
            ("B", 4, "q"),
            ("C", 4, "p"),
        ]
    )
]
"""Events to be cut in the middle."""

CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("SELECT * FROM S WHERE A ; B", {}),
    ("SELECT * FROM S WHERE A ; B PARTITION BY [k] WITHIN 2 EVENTS", {}),
    ("SELECT * FROM S WHERE START(A) ; B PARTITION BY [k]", {"output": "positions"}),
    ("SELECT NEXT * FROM S WHERE (A OR B)+ ; C WITHIN 4 [t]", {}),
    ("SELECT * FROM S WHERE (A ; B UNLESS C) CONSUME BY ANY", {"time": "t", "lateness": 1}),
    ("SELECT * FROM S WHERE (A AS x ; B AS y) FILTER x.v < y.v WITHIN 9 [t]", {}),
    ("SELECT * FROM S WHERE (A AS x ; B AS y) FILTER x.k = y.k AND x[v > 1]", {}),
    ("SELECT * FROM S WHERE (A ; B) AGGREGATE Y[s = sum(A.v)] WITHIN 6 [t]", {}),
    (
        "SELECT count(*) AS n FROM S WHERE A ; B WITHIN 9 [t] EVERY 3 SECONDS",
        {"time_unit": "s"},
    ),
)


def snapshots() -> list[dict[str, Any]]:
    """Cut each case in the middle."""
    found = []
    for text, options in CASES:
        session = ensue.compile(text).open(**options)
        session.push(ROWS[: len(ROWS) // 2])
        block = base64.b64encode(session.snapshot()).decode()
        found.append({"query": text, "options": options, "snapshot": block})
    return found


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"version-{VERSION}.json"
    path.write_text(json.dumps(snapshots(), indent=1) + "\n")
