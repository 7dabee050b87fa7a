"""Completion: what can be written at a place, from the grammar, the schema and the pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ensue.editor import vocabulary as v
from ensue.editor.document import Document
from ensue.editor.names import attributes_at, event_types, variable_text
from ensue.editor.place import Place, place_at
from ensue.language.tokens import quoted
from ensue.rules.settings import KEYS

Kind = Literal["keyword", "operator", "function", "event", "variable", "attribute", "stream",
               "parameter", "unit", "type", "setting"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Item:
    """Something to write: its text, what it is, and what it means."""

    text: str
    kind: Kind
    detail: str = ""
    meaning: str = ""


_PHRASES = {
    "PARTITION": "PARTITION BY",
    "CONSUME": "CONSUME BY",
    "NOT_FOLLOWED_BY": "NOT FOLLOWED BY",
}
_OPERATORS = ("; : + * ? :+ :* = != < <= > >= - / %").split()
_LINE = re.compile(r"[\w.-]*\Z")


def complete(document: Document, offset: int) -> list[Item]:
    """Return what can be written at a place, what is most likely first.

    >>> text = "SELECT * FROM S WHERE A AS a FILTER a[price > 1] WITHIN 5 "
    >>> [item.text for item in complete(Document(text), len(text))][:2]
    ['EVENTS', 'DAYS']
    """
    if offset < document.query_start:
        return list(_settings(document, offset))
    place = place_at(document, offset)
    if place.literal:
        return []
    found = dict.fromkeys(_items(place))
    return list(found)


def _items(place: Place) -> Iterator[Item]:
    expected = place.expected
    if place.last == ".":
        yield from _members(place)
        return
    if place.last in ("INTEGER", "DECIMAL") and (expected is None or "NAME" in expected):
        yield from _entries(v.UNITS, "unit")
    elif place.last == ":" and _declares(place):
        yield from _entries(v.TYPES, "type")
        return
    elif expected is None or "NAME" in expected:
        yield from _names(place)
    yield from _words(place)


def _members(place: Place) -> Iterator[Item]:
    """What can follow a dot: attributes of the variable, or deeper ones."""
    path = place.path()
    if not path:
        return
    first, *rest = path
    variable = place.document.variables(place.offset).get(first)
    if variable is None:  # inside x[…], the path begins with an attribute
        rest = path
    known = attributes_at(place.document, place.offset, variable)
    prefix = "".join(f"{each}." for each in rest)
    for name, kind in known.items():
        if name.startswith(prefix):
            yield from _attributes({name.removeprefix(prefix): kind})


def _names(place: Place) -> Iterator[Item]:
    """Names that are known here: streams, event types, variables, attributes, functions."""
    document, offset = place.document, place.offset
    expected = place.expected or frozenset()
    variables = document.variables(offset)
    if place.last == "AS" or _declares(place):
        if _declares(place) and place.last in ("{", ","):
            yield from _entries({"EVENT": v.DECLARATIONS["EVENT"]}, "keyword")
        return
    if place.clause == "FROM":
        streams = document.streams
        yield from (Item(_written(n), "stream", "derived" * d) for n, d in streams.items())
        return
    if place.lists_attributes:
        yield from _attributes(attributes_at(document, offset, None))
        return
    if place.owner is not None:
        variable = variables.get(place.owner)
        yield from _attributes(attributes_at(document, offset, variable))
        yield from _entries(v.TRENDS, "function")
        yield from _entries(v.FUNCTIONS, "function")
        return
    if place.expected is not None and "NOT" in expected and "STRING" not in expected:
        for name, text in event_types(document.schema_at(offset)).items():
            yield Item(_written(name), "event", text)
        yield from _entries(v.PATTERN_FUNCTIONS, "function")
        return
    for name, variable in variables.items():
        yield Item(_written(name), "variable", variable_text(name, variable))
    if "STRING" in expected or place.expected is None or place.clause == "SELECT":
        if place.clause in ("SELECT", "AGGREGATE"):
            yield from _entries(v.AGGREGATES, "function")
        yield from _entries(v.FUNCTIONS, "function")


def _attributes(found: Mapping[str, str]) -> Iterator[Item]:
    for name, kind in found.items():
        yield Item(".".join(_written(part) for part in name.split(".")), "attribute", kind)


def _words(place: Place) -> Iterator[Item]:
    """Keywords, signs and parameters that the grammar accepts here."""
    expected = place.expected
    if not place.before:
        yield from _entries({"CREATE STREAM": v.DECLARATIONS["CREATE"]}, "keyword")
    if place.last == "SELECT":
        yield from _entries(v.STRATEGIES, "keyword")
    kinds = v.KEYWORDS if expected is None else [each for each in v.KEYWORDS if each in expected]
    for kind in kinds:
        if kind == "ALL" and place.last == "SELECT":
            continue
        entry = v.KEYWORDS[kind]
        phrase = kind if place.last == "BY" else _PHRASES.get(kind, kind)
        yield Item(phrase, "keyword", entry.form, entry.meaning)
    if expected is None or "PARAMETER" in expected:
        for name, value in place.document.settings.get("params", {}).items():
            yield Item(f"${name}", "parameter", f"= {value!r}")
    for sign in _OPERATORS if expected is not None and place.before else ():
        if sign in (expected or ()):
            yield Item(sign, "operator", *v.SIGNS[sign])


def _declares(place: Place) -> bool:
    """Tell whether a place is in CREATE STREAM S { … }."""
    words = [token.text.upper() for token in place.before]
    first = place.open_brackets[0] if place.open_brackets else 0
    return words[max(0, first - 3) : max(0, first - 1)] == ["CREATE", "STREAM"]


def _entries(table: Mapping[str, v.Entry], kind: Kind) -> Iterator[Item]:
    for name, entry in table.items():
        yield Item(name, kind, entry.form, entry.meaning)


def _settings(document: Document, offset: int) -> Iterable[Item]:
    """The keys of a header, at the beginning of a line."""
    line = document.text[document.text.rfind("\n", 0, offset) + 1 : offset]
    if _LINE.match(line) is None:
        return
    for name, fragment in KEYS.items():
        yield Item(name, "setting", "", fragment["description"])


def _written(name: str) -> str:
    return name if name == "ANY" else quoted(name)
