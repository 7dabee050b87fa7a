"""Everything that the engine says about some query-stream pairs, as one hash.

Run as a module with a file of pairs, in a process whose kernels are compiled some other way.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import ensue
from ensue.engine.run import find_matches
from ensue.options import ReadOptions

Question = tuple[str, list[dict[str, Any]]]


def answers(text: str, rows: list[dict[str, Any]]) -> list[Any]:
    """Ask a query in every way that reaches other kernels."""
    query = ensue.compile(text)
    limited = ensue.compile(f"{text}\nLIMIT 2")
    told: list[Any] = []
    for asked, how in (
        (query, {"positions_only": False}),
        (query, {"positions_only": True}),
        (query, {"positions_only": False, "compact_always": True}),
        (limited, {"positions_only": False}),
    ):
        matches = find_matches(asked, rows, ReadOptions(), **how)
        told.append(matches.count)
        told.append([(m.start, m.end, m.positions, m.bindings) for m in matches])
        told.append(matches.to_arrow().to_pylist())
    return told


def digest(questions: Iterable[Question]) -> str:
    """Hash the answers to all questions."""
    told = hashlib.sha256()
    for text, rows in questions:
        told.update(json.dumps(answers(text, rows)).encode())
    return told.hexdigest()


if __name__ == "__main__":
    sys.stdout.write(digest(json.loads(Path(sys.argv[1]).read_text())))
