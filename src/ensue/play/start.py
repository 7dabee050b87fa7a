"""What the page shows at first: a query, events, settings, examples, and words of the language."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from ensue.editor import vocabulary
from ensue.language.contextual import WORDS
from ensue.language.tokens import RESERVED
from ensue.play.bounds import MOST_TEXT, MOST_UPLOAD


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
            "keywords": keywords(),
            "functions": _entries(
                {**vocabulary.TRENDS, **vocabulary.FUNCTIONS, **vocabulary.AGGREGATES}
            ),
            "strategies": _entries(vocabulary.STRATEGIES),
            "most_text": MOST_TEXT,
            "most_upload": MOST_UPLOAD,
        }


def examples() -> list[dict[str, Any]]:
    """Return the recipes of the cookbook: title, group, query, events, settings."""
    text = files("ensue.play").joinpath("examples.json").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = json.loads(text)
    return found


def keywords() -> list[dict[str, Any]]:
    """Return the keywords; those that are not reserved are names where nothing claims them."""
    plain = dict.fromkeys(sorted(WORDS | {"FOLLOWED"}), vocabulary.Entry("", ""))
    known = {
        **plain,
        **vocabulary.UNITS,
        **{name.removesuffix("S"): entry for name, entry in vocabulary.UNITS.items()},
        **vocabulary.PATTERN_FUNCTIONS,
        **vocabulary.DECLARATIONS,
        **vocabulary.STRATEGIES,
        **vocabulary.KEYWORDS,
    }
    found = _entries({name: entry for name, entry in known.items() if name.isalpha()})
    return [{**each, "reserved": each["name"] in RESERVED} for each in found]


def _entries(words: Mapping[str, vocabulary.Entry]) -> list[dict[str, Any]]:
    return [
        {"name": name, "form": each.form, "about": each.meaning} for name, each in words.items()
    ]
