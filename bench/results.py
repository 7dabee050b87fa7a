"""Results on disk: one file for full runs and one for quick ones, a part for each group.

A run of some groups replaces their parts only; every part has the facts of the run it is from.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"


def path_of(quick: bool) -> Path:
    """Return where the results of such runs are kept."""
    return FOLDER / ("quick.json" if quick else "full.json")


def load(path: Path) -> dict[str, Any]:
    """Read results: {group: {"facts": …, "rows": …, "targets": …}}."""
    if not path.exists():
        return {}
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return results


def save(path: Path, results: dict[str, Any]) -> None:
    """Write results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
