"""Rule files: a .ceql file with its settings in a header, or in a .toml file beside it.

    +++
    title = "Many failed logins"
    time = "at"
    +++
    SELECT * FROM Logins WHERE ...

The header is TOML between two lines `+++`. It is replaced by blanks before the query is parsed, so
that lines and columns of errors are those of the file; a file without a header is read as it is.
"""

from __future__ import annotations

import re
import tomllib
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ensue.errors import CeqlSyntaxError, Diagnostic, EnsueError, Source, Span
from ensue.rules.settings import SettingsError, line_of, validate

FENCE = "+++"
_OPENING = re.compile(r"\+\+\+[ \t]*\r?\n")
_CLOSING = re.compile(r"^\+\+\+[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_DASHES = re.compile(r"---[ \t]*\r?\n\s*[\w.-]+[ \t]*[:=]")
"""A header as other tools have it; as a query it would be a comment and then nonsense."""
_TOML_LINE = re.compile(r" \(at line (\d+), column (\d+)\)$")


class RuleError(EnsueError, ValueError):
    """A rule file that cannot be used; the message names the place and what to do."""

    line: int | None = None
    """The line of the file, from 1, if it is one line."""
    sentence: str = ""
    """What is wrong with that line."""

    @classmethod
    def at(cls, place: str, line: int, sentence: str) -> RuleError:
        """Return the error of a line."""
        error = cls(f"{place}:{line}: {sentence}")
        error.line, error.sentence = line, sentence
        return error


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A query to be parsed, and its settings."""

    source: Source
    settings: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""
    """The file with the settings."""

    @property
    def has_settings(self) -> bool:
        """Whether it has settings besides its query."""
        return bool(self.place)


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule as it was written: the text of its file, and of the settings beside it."""

    text: str
    place: str
    """What messages call the file."""
    settings: str | None = None
    settings_place: str = ""


def read_rule(path: Path) -> RuleFile:
    """Read a rule file and the settings in it or beside it."""
    return parse_rule(read_text(path))


def read_text(path: Path) -> RuleText:
    """Read the text of a rule file and of the settings beside it."""
    source = decoded(path.read_bytes(), str(path))
    beside = path.with_suffix(".toml")
    if path.suffix != ".ceql" or not beside.is_file():
        return RuleText(source.text, source.name)
    try:
        settings = beside.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RuleError(f"{beside}: not UTF-8; save the file as UTF-8") from error
    return RuleText(source.text, source.name, settings, str(beside))


def parse_rule(written: RuleText) -> RuleFile:
    """Tell the query of a rule from its settings."""
    rule = split_rule(Source(written.text, written.place))
    beside = written.settings_place
    if written.settings is None:
        return rule
    if rule.has_settings:
        raise RuleError(
            f"{written.place} has a header, and {beside} is beside it; keep one of them"
        )
    return RuleFile(rule.source, _settings(written.settings, beside, 0), beside)


def decoded(data: bytes, name: str) -> Source:
    """Decode a query; the error points at the byte that is not UTF-8."""
    data = data.removeprefix(BOM_UTF8)
    try:
        return Source(data.decode(), name)
    except UnicodeDecodeError as error:
        source = Source(data.decode(errors="replace"), name)
        at = len(data[: error.start].decode())
        problem = f"the byte 0x{data[error.start]:02X} is not UTF-8"
        diagnostic = Diagnostic("E109", Span(at, at + 1), problem, "save the file as UTF-8")
        raise CeqlSyntaxError(diagnostic, source) from error


def split_rule(source: Source) -> RuleFile:
    """Split a rule into its header, if it has one, and its query.

    >>> rule = split_rule(Source("+++\\ntitle = 'two'\\n+++\\nSELECT * FROM S WHERE A"))
    >>> rule.settings, rule.source.place(rule.source.text.index("SELECT"))
    ({'title': 'two'}, (4, 1))
    """
    header = header_of(source.text)
    if header is None and _DASHES.match(source.text):
        raise RuleError.at(
            source.name,
            1,
            f'a header is TOML, such as title = "x", between two lines {FENCE}, not ---',
        )
    if header is None:
        return RuleFile(source)
    if not header.closed:
        raise RuleError.at(source.name, 1, f"the header is never closed; write {FENCE} below it")
    settings = _settings(header.settings, source.name, 1)
    return RuleFile(without_header(source), settings, source.name)


class Header(NamedTuple):
    """The header of a rule: its settings as TOML, and where it ends."""

    settings: str
    end: int
    """Where the query begins."""
    closed: bool


def header_of(text: str) -> Header | None:
    """Find the header of a rule; one that is never closed goes to the end of the text."""
    opening = _OPENING.match(text)
    if opening is None:
        return None
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        return Header(text[opening.end() :], len(text), False)
    return Header(text[opening.end() : closing.start()], closing.end(), True)


def without_header(source: Source) -> Source:
    """Replace the header of a rule, if it has one, by blanks."""
    header = header_of(source.text)
    end = 0 if header is None else header.end
    blank = re.sub(r"[^\r\n]", " ", source.text[:end])
    return Source(blank + source.text[end:], source.name)


def _settings(text: str, name: str, before: int) -> dict[str, Any]:
    """Parse and validate settings; `before` lines precede them."""
    try:
        settings = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _TOML_LINE.search(str(error))
        line = before + (int(found[1]) if found else text.count("\n") + 1)
        reason = _TOML_LINE.sub("", str(error)).replace(" (at end of document)", "")
        raise RuleError.at(name, line, f"the settings are not TOML: {reason}") from error
    try:
        validate(settings)
    except SettingsError as error:
        raise RuleError.at(name, before + line_of(error.key, text) + 1, str(error)) from error
    return settings
