"""A query that is being written: its tokens, schema and variables, as far as they can be told.

Nothing here raises for a text that is not finished. Names are found by parsing the longest part of
the pattern that can be parsed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ensue.analysis.bind import bind
from ensue.analysis.schema import OPEN, AttributePath, Schema
from ensue.analysis.types import TYPE_NAMES, Type
from ensue.errors import CeqlError, Source
from ensue.language import tree
from ensue.language.parser import parse
from ensue.language.printer import format_expression
from ensue.language.scan import scan, words
from ensue.language.tokens import STATEMENT_END, Token, quoted
from ensue.rules.files import (
    RuleError,
    RuleFile,
    RuleText,
    header_of,
    parse_rule,
    read_text,
    without_header,
)
from ensue.rules.load import schema_of

_OPENERS = {"(": ")", "[": "]", "{": "}", ":{": "}"}
_PARTS = frozenset(
    "FILTER AGGREGATE PROJECT PARTITION WITHIN CONSUME LIMIT EVERY UNLESS NOT_FOLLOWED_BY OR AND "
    "ALL AS ; :".split()
)
"""What may be cut off from a pattern, with all that follows."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A name of the pattern: the types of its events, or what its computed event has."""

    types: frozenset[str] | None = frozenset()
    """None: events of any type."""
    computed: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Document:
    """The text of a query or rule, and the file that it is kept in."""

    text: str
    path: Path | None = None

    @cached_property
    def name(self) -> str:
        """What messages call it."""
        return "query" if self.path is None else self.path.name

    def rule(self) -> RuleFile:
        """Tell query and settings apart; raises RuleError where the settings are wrong."""
        written = RuleText(self.text, self.name)
        if self.path is not None and self.path.is_file():
            beside = read_text(self.path)
            written = RuleText(self.text, self.name, beside.settings, beside.settings_place)
        return parse_rule(written)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the rule; none where they are wrong."""
        return self._rule_or_none.settings if self._rule_or_none is not None else {}

    @cached_property
    def _rule_or_none(self) -> RuleFile | None:
        try:
            return self.rule()
        except (RuleError, CeqlError, OSError):
            return None

    @cached_property
    def query_start(self) -> int:
        """Where the query begins, behind the header."""
        header = header_of(self.text)
        return 0 if header is None else header.end

    @cached_property
    def query(self) -> str:
        """The text with blanks for the header."""
        return without_header(Source(self.text)).text

    @cached_property
    def scanned(self) -> list[Token]:
        """All tokens of the query, with comments and spaces."""
        return scan(self.query)

    @cached_property
    def tokens(self) -> list[Token]:
        """The tokens that a parser would read."""
        return words(self.scanned, self.query)

    # streams and events

    @cached_property
    def schema(self) -> Schema:
        """The events and attributes that are declared."""
        try:
            given = OPEN if self._rule_or_none is None else schema_of(self._rule_or_none)
        except RuleError:
            given = OPEN
        declared = dict(self._declared())
        if declared and given.events is None:
            return Schema(given.common, declared, closed=True)
        return given

    def _declared(self) -> Iterator[tuple[str, dict[AttributePath, Type]]]:
        """Yield what CREATE STREAM declares: EVENT R { path : type, … }."""
        tokens = self.tokens
        for at, token in enumerate(tokens[:-2]):
            kinds = [each.kind for each in tokens[at : at + 3]]
            if token.text.upper() == "EVENT" and kinds == ["NAME", "NAME", "{"]:
                yield str(tokens[at + 1].value), dict(_fields(tokens, at + 3))

    @cached_property
    def streams(self) -> dict[str, bool]:
        """The streams that are created, and whether they are derived ones."""
        found: dict[str, bool] = {}
        for first, second, third, fourth in zip(
            self.tokens, self.tokens[1:], self.tokens[2:], self.tokens[3:], strict=False
        ):
            if first.text.upper() == "CREATE" and second.text.upper() == "STREAM":
                found[str(third.value)] = fourth.kind == "AS"
        return found

    def schema_at(self, offset: int) -> Schema:
        """Return the schema of the statement at a place, with the derived streams before it."""
        first, last = self.statement(offset)
        if first == 0 or not any(self.streams.values()):
            return self.schema
        before = self.query[: self.tokens[first - 1].span.end]
        reads = [each for each in _sources(self.tokens[first:last]) if each in self.streams]
        for sources in (reads, list(self.streams)):
            text = f"{before} SELECT * FROM {', '.join(map(quoted, sources))} WHERE ANY"
            try:
                return bind(parse(text), Source(text), self.schema).schema
            except CeqlError:
                continue
        return self.schema

    def statement(self, offset: int) -> tuple[int, int]:
        """Return which tokens are the statement at a place: the first, and that behind the last."""
        first, last = 0, len(self.tokens)
        for at, token in enumerate(self.tokens):
            if token.kind == STATEMENT_END or (token.kind == ";" and at + 1 == len(self.tokens)):
                if token.span.start < offset:
                    first = at + 1
                else:
                    last = at
                    break
        return first, last

    # variables

    def variables(self, offset: int) -> dict[str, Variable]:
        """Return the variables of the statement at a place."""
        first, last = self.statement(offset)
        tokens = self.tokens[first:last]
        where = next((at for at, each in enumerate(tokens) if each.kind == "WHERE"), len(tokens))
        pattern = tokens[where + 1 :]
        cuts = [at for at, each in enumerate(pattern) if each.kind in _PARTS]
        for cut in [len(pattern), *reversed(cuts)]:
            query = self._parsed(pattern[:cut])
            if query is not None:
                return _variables(query)
        return {}

    def _parsed(self, pattern: list[Token]) -> tree.Query | None:
        """Parse a part of a pattern, with the brackets closed that are open at its end."""
        if not pattern:
            return None
        text = self.query[pattern[0].span.start : pattern[-1].span.end]
        opened: list[str] = []
        for token in pattern:
            if token.kind in _OPENERS:
                opened.append(_OPENERS[token.kind])
            elif opened and token.kind == opened[-1]:
                opened.pop()
        try:
            return parse(f"SELECT * FROM S WHERE {text}{''.join(reversed(opened))}")
        except CeqlError:
            return None

    def mentioned(self) -> list[str]:
        """Return the attributes that the text names: all there is where none is declared."""
        names: dict[str, None] = {}
        inside: list[bool] = []
        for before, token, after in zip(
            [None, *self.tokens], self.tokens, [*self.tokens[1:], None], strict=False
        ):
            if token.kind in _OPENERS:
                inside.append(token.kind == "[")
            elif token.kind in _OPENERS.values() and inside:
                inside.pop()
            elif token.kind == "NAME" and (after is None or after.kind not in ("(", ".", "[")):
                dotted = before is not None and before.kind == "."
                if dotted or (inside and inside[-1]):
                    names[str(token.value)] = None
        return list(names)


def _sources(tokens: list[Token]) -> Iterator[str]:
    """Yield the names after FROM."""
    kinds = [token.kind for token in tokens]
    at = kinds.index("FROM") + 1 if "FROM" in kinds else len(kinds)
    while at < len(tokens) and kinds[at] in ("NAME", ","):
        if kinds[at] == "NAME":
            yield str(tokens[at].value)
        at += 1


def _fields(tokens: list[Token], at: int) -> Iterator[tuple[AttributePath, Type]]:
    path: list[str] = []
    while at < len(tokens) and tokens[at].kind not in ("}", "{", STATEMENT_END):
        token = tokens[at]
        if token.kind == ":" and at + 1 < len(tokens):
            kind = TYPE_NAMES.get(str(tokens[at + 1].value).lower(), Type.UNKNOWN)
            if path:
                yield tuple(path), kind
            at += 1
        elif token.kind == ",":
            path = []
        elif token.kind == "NAME":
            path.append(str(token.value))
        at += 1


def _variables(query: tree.Query) -> dict[str, Variable]:
    found: dict[str, Variable] = {}
    patterns = [query.pattern]
    if query.not_followed is not None:
        patterns.append(query.not_followed.pattern)
    for pattern in patterns:
        for node in _below(pattern):
            match node:
                case tree.Event(type=None):
                    found["ANY"] = Variable(None)
                case tree.Event(type=tree.Word(text=name)):
                    found.setdefault(name, Variable(frozenset({name})))
                case tree.Named(pattern=inner, variable=word):
                    found[word.text] = _joined(found.get(word.text), _types(inner))
                case tree.Aggregated(variable=word, columns=columns):
                    computed = {
                        each.name.text: format_expression(each.expression) for each in columns
                    }
                    found[word.text] = Variable(frozenset(), computed)
    return found


def _joined(known: Variable | None, types: frozenset[str] | None) -> Variable:
    if known is None or known.computed is not None:
        return Variable(types)
    both = None if types is None or known.types is None else known.types | types
    return Variable(both)


def _types(pattern: tree.Node) -> frozenset[str] | None:
    types: set[str] = set()
    for node in _below(pattern):
        if isinstance(node, tree.Event):
            if node.type is None:
                return None
            types.add(node.type.text)
    return frozenset(types)


def _below(node: tree.Node) -> Iterator[tree.Node]:
    yield node
    for child in tree.children(node):
        yield from _below(child)
