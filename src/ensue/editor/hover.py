"""Hover: what the thing under a cursor is, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from ensue.editor import vocabulary as v
from ensue.editor.codes import code_text
from ensue.editor.document import Document
from ensue.editor.names import attributes, attributes_at, described, event_types, variable_text
from ensue.editor.place import place_at
from ensue.errors import Diagnostic, Span
from ensue.language.contextual import STRATEGY
from ensue.language.tokens import Token
from ensue.rules.settings import KEYS


def hover(
    document: Document, offset: int, diagnostics: Iterable[Diagnostic] = ()
) -> tuple[str, Span] | None:
    """Return what there is to say about a place, and the text that it is about.

    >>> hover(Document("SELECT * FROM S WHERE A ; B"), 24)[0].splitlines()[-1]
    'p and later q, with anything in between. Also ends a statement.'
    """
    if offset < document.query_start:
        return _setting(document, offset)
    about = [each for each in diagnostics if each.span.start <= offset < each.span.end]
    texts = [text for text in map(code_text, {each.code: None for each in about}) if text]
    token = next((t for t in document.tokens if t.span.start <= offset < t.span.end), None)
    if token is not None:
        said = _token(document, token)
        texts = ([said] if said else []) + texts
    if not texts:
        return None
    span = about[0].span if token is None else token.span
    return "\n\n---\n\n".join(texts), span


def _token(document: Document, token: Token) -> str | None:
    kind = token.kind
    if kind == STRATEGY:
        entry = v.STRATEGIES.get(token.text.upper())
        return entry and _entry(entry)
    if kind in v.KEYWORDS:
        return _entry(v.KEYWORDS[kind])
    if kind == "NAME":
        return _name(document, token)
    if kind == "PARAMETER":
        return _parameter(document, str(token.value))
    entry = v.SIGNS.get(token.text)
    return entry and _entry(entry)


def _name(document: Document, token: Token) -> str | None:
    name, offset = str(token.value), token.span.start
    place = place_at(document, offset)
    at = document.tokens.index(token)
    after = document.tokens[at + 1].kind if at + 1 < len(document.tokens) else ""
    if place.last in ("INTEGER", "DECIMAL"):
        entry = v.UNITS.get(name.upper().removesuffix("S") + "S")
        return entry and _entry(entry)
    if after == "(":
        entries = v.meaning_of_call(name)
        return "\n\n".join(map(_entry, entries)) or None
    variables = document.variables(offset)
    if place.last == "." and place.path():
        first, *rest = place.path()
        variable = variables.get(first)
        path = [*rest, name] if variable is not None else [first, *rest, name]
        return _attribute(".".join(path), attributes_at(document, offset, variable), first)
    owner = place.owner
    if owner is not None:
        known = attributes_at(document, offset, variables.get(owner))
        return _attribute(name, known, owner)
    if place.lists_attributes:
        return _attribute(name, attributes_at(document, offset, None), "all events")
    types = event_types(document.schema_at(offset))
    if name in variables:
        text = variable_text(name, variables[name])
        kinds = variables[name].types
        known = attributes(document.schema_at(offset), kinds)
        return _code(text) + (f"\n\n`{described(known)}`" if known else "")
    if name in types:
        return _code(f"EVENT {name} {types[name]}")
    if name in document.streams:
        return _code(f"STREAM {name}")
    entry = v.DECLARATIONS.get(name.upper())
    return entry and _entry(entry)


def _attribute(name: str, known: dict[str, str], owner: str) -> str | None:
    if name not in known:
        return None
    kind = known[name]
    return _code(f"{name}: {kind}" if kind else name) + f"\n\nattribute of {owner}"


def _parameter(document: Document, name: str) -> str:
    given = document.settings.get("params", {})
    if name in given:
        return _code(f"${name} = {given[name]!r}")
    return _code(f"${name}") + "\n\nA parameter: its value is given when the query is run."


def _setting(document: Document, offset: int) -> tuple[str, Span] | None:
    start = document.text.rfind("\n", 0, offset) + 1
    line = document.text[start:].split("\n", 1)[0]
    key = line.split("=")[0].strip().strip("[]").split(".")[0]
    if key not in KEYS:
        return None
    at = start + line.index(key)
    return f"**{key}**: {KEYS[key]['description']}", Span(at, at + len(key))


def _entry(entry: v.Entry) -> str:
    return f"{_code(entry.form)}\n\n{entry.meaning}"


def _code(text: str) -> str:
    return f"```ceql\n{text}\n```"
