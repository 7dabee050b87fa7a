"""The queries that editor support is tried on: all that are written down in the repository."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from ensue.errors import CeqlError, Source
from ensue.language.parser import parse
from ensue.rules.files import without_header

ROOT = Path(__file__).parents[2]


@cache
def rule_texts() -> tuple[str, ...]:
    """Return the texts of all .ceql files, also of those with mistakes."""
    found = sorted(
        path for folder in ("examples", "tests", "docs") for path in (ROOT / folder).rglob("*.ceql")
    )
    return tuple(path.read_text(encoding="utf-8") for path in found)


@cache
def queries() -> tuple[str, ...]:
    """Return all queries of the examples and of the known cases that can be parsed."""
    texts = [without_header(Source(text)).text for text in rule_texts()]
    for path in sorted((ROOT / "tests" / "cases").glob("*.json")):
        texts += [case["query"] for case in json.loads(path.read_text(encoding="utf-8"))]
    return tuple(dict.fromkeys(text for text in texts if _parses(text)))


def _parses(text: str) -> bool:
    try:
        parse(text)
    except CeqlError:
        return False
    return True
