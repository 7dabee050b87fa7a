"""The settings of a rule file: one declaration for the validator and for editors.

Each key has a fragment of JSON Schema. `validate` interprets the fragments, and `json_schema` puts
them together into the schema that is shipped as rule.schema.json; a test keeps the file equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import date, time
from typing import Any, get_args, get_origin, get_type_hints

from ensue.analysis.context import nearest
from ensue.messages import Option, Setting, message_of, spelled
from ensue.options import ReadOptions, TimeUnit

Fragment = dict[str, Any]

_STRING: Fragment = {"type": "string", "minLength": 1}
_ANY: Fragment = {}

_READ: dict[str, Fragment] = {
    "time_unit": {"type": "string", "enum": list(get_args(TimeUnit))},
    "lateness": {"type": ["string", "integer"]},
}
"""Read options that are not plain strings."""


def _described(fragment: Fragment, about: str) -> Fragment:
    return {**fragment, "description": about[:1].upper() + about[1:]}


METADATA: dict[str, Fragment] = {
    "title": _described(_STRING, "what the rule is called where people read it."),
    "description": _described(_STRING, "what it finds, and why that matters."),
    "severity": _described(
        {**_STRING, "examples": ["info", "low", "medium", "high", "critical"]},
        "how much it matters: a word of your own choice.",
    ),
    "tags": _described(
        {"type": "array", "items": _STRING, "uniqueItems": True}, "words to find it by."
    ),
}
"""Metadata, which results carry."""


def _of_option(name: str, hint: object) -> Fragment:
    """Return the fragment of a read option: a string, unless its type says otherwise."""
    kinds = {get_origin(each) or each for each in (hint, *get_args(hint))}
    if kinds & {tuple, list, frozenset, Sequence}:
        return {"type": "array", "items": _STRING}
    if bool in kinds:
        return {"type": "boolean"}
    return _READ.get(name, _STRING)


_HINTS = get_type_hints(ReadOptions)
READ: dict[str, Fragment] = {
    each.name: _described(_of_option(each.name, _HINTS[each.name]), each.metadata["about"])
    for each in fields(ReadOptions)
}
"""How events are read: the arguments of `run`."""

COMPILE: dict[str, Fragment] = {
    "schema": _described(
        {
            "type": "object",
            "additionalProperties": {
                "type": ["string", "object"],
                "additionalProperties": {"type": "string"},
            },
        },
        "types of attributes: {attribute = type}, or {event = {attribute = type}}.",
    ),
    "params": _described(
        {"type": "object", "additionalProperties": _ANY}, "values for the parameters $name."
    ),
}
"""Settings for the compilation of the query."""

KEYS: dict[str, Fragment] = {**METADATA, **READ, **COMPILE}


def json_schema() -> Fragment:
    """Return the JSON Schema of a header, for editors."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Settings of an Ensue rule",
        "description": "The header of a .ceql file between two lines +++, or a .toml file of the "
        "same name beside it.",
        "type": "object",
        "additionalProperties": False,
        "properties": KEYS,
    }


class SettingsError(ValueError):
    """An error in a header, and its key."""

    def __init__(self, key: str, sentence: str) -> None:
        super().__init__(sentence)
        self.key = key


def validate(settings: Mapping[str, Any]) -> None:
    """Raise SettingsError for unknown keys and values of the wrong type.

    >>> validate({"severty": "high"})
    Traceback (most recent call last):
    ensue.rules.settings.SettingsError: 'severty' means nothing here; did you mean 'severity'?
    """
    for problem in problems(settings):
        raise problem


def problems(settings: Mapping[str, Any]) -> Iterator[SettingsError]:
    """Yield all errors."""
    for key, value in settings.items():
        if key not in KEYS:
            near = nearest(key, KEYS)
            advice = f"did you mean '{near}'?" if near else f"the keys are {', '.join(KEYS)}"
            yield SettingsError(key, f"'{key}' means nothing here; {advice}")
            continue
        wrong = _mismatch(value, KEYS[key])
        if wrong is not None:
            yield SettingsError(key, f"'{key}' must be {wrong}, not {_shown(value)}")
        elif key == "lateness":
            try:
                ReadOptions(lateness=value)
            except ValueError as error:
                yield SettingsError(key, spelled(message_of(error), as_setting))


def as_setting(setting: Setting) -> str:
    """Spell an option as the settings of a rule have it.

    >>> from ensue.messages import Parameter
    >>> as_setting(Option("lateness")), as_setting(Option("lateness", "5 s"))
    ("'lateness'", "lateness = '5 s'")
    >>> as_setting(Parameter("low")), as_setting(Parameter("names", ["IBM"]))
    ('params.low', "params.names = ['IBM']")
    """
    is_option = isinstance(setting, Option)
    name = setting.name if is_option else f"params.{setting.name}"
    if setting.value is None or setting.value is ...:
        return f"'{name}'" if is_option else name
    return f"{name} = {setting.value!r}"


_NAMES = {
    "string": "a string",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a table of names and values",
}
_TYPES: dict[str, type] = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": dict,
}


def _mismatch(value: Any, fragment: Fragment) -> str | None:
    """Return what a value should be, or None if it is valid."""
    kinds = fragment.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    allowed = tuple(_TYPES[kind] for kind in kinds)
    # In Python, True is an integer.
    stray = isinstance(value, bool) and bool not in allowed
    if kinds and (stray or not isinstance(value, allowed)):
        return " or ".join(_NAMES[kind] for kind in kinds)
    if value not in fragment.get("enum", [value]):
        return " or ".join(map(repr, fragment["enum"]))
    if isinstance(value, str) and len(value) < fragment.get("minLength", 0):
        return "a string that is not empty"
    if isinstance(value, list):
        inner = [_mismatch(each, fragment.get("items", _ANY)) for each in value]
        if any(inner):
            return f"a list, each {next(filter(None, inner))}"
        if fragment.get("uniqueItems") and len(set(map(repr, value))) < len(value):
            return "a list in which nothing stands twice"
    if isinstance(value, dict):
        of_values = fragment.get("additionalProperties", _ANY)
        inner = [_mismatch(each, of_values) for each in value.values()]
        if any(inner):
            return f"a table, each value {next(filter(None, inner))}"
    return None


def _shown(value: Any) -> str:
    if isinstance(value, date | time):
        return str(value)
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"


def line_of(key: str, text: str) -> int:
    """Find the line of a TOML text, from 0, that sets a key; the first where none does."""
    name = re.escape(key)
    pattern = re.compile(rf"\s*(\[\s*)?[\"']?{name}[\"']?\s*[=.\]]")
    lines = text.split("\n")
    return next((at for at, line in enumerate(lines) if pattern.match(line)), 0)
