"""What the page shows at first: a query, events, settings, examples, and words of the language."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from ensue.analysis.functions import AGGREGATES, FUNCTIONS, KNOWN, TRENDS
from ensue.language.contextual import WORDS
from ensue.language.tokens import RESERVED
from ensue.play.bounds import MOST_TEXT, MOST_UPLOAD

_NAMES = (
    "CREATE STREAM EVENT START NEXT LAST MAX STRICT FIRST FOLLOWED CONSUME EVENTS "
    "MILLISECONDS SECONDS MINUTES HOURS DAYS TIMESTAMP RANGE"
).split()
"""Words that are keywords where something claims them."""


@dataclass(frozen=True, slots=True)
class Start:
    """What the page shows at first; nothing given: the first example."""

    query: str = ""
    events: str = ""
    name: str = ""
    """What the file with the events is called."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    """What was left out of the events."""

    def as_answer(self) -> dict[str, Any]:
        """Write it for the page, with what the page knows of the language."""
        return {
            "query": self.query,
            "events": self.events,
            "name": self.name,
            "settings": dict(self.settings),
            "note": self.note,
            "examples": examples(),
            "keywords": sorted({*RESERVED, *WORDS, *_NAMES}),
            "functions": functions(),
            "most_text": MOST_TEXT,
            "most_upload": MOST_UPLOAD,
        }


def examples() -> list[dict[str, Any]]:
    """Return the recipes of the cookbook: title, group, query, events, settings."""
    text = files("ensue.play").joinpath("examples.json").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = json.loads(text)
    return found


def functions() -> list[dict[str, str]]:
    """Return the functions of the language, for completion."""
    takes = {
        name: ", ".join(family for family, _ in each.parameters) for name, each in FUNCTIONS.items()
    }
    return [
        *({"name": name, "about": takes.get(name, "values")} for name in KNOWN),
        *({"name": name, "about": "of the events of a variable"} for name in AGGREGATES),
        *({"name": name, "about": "each event with the next"} for name in TRENDS),
    ]
