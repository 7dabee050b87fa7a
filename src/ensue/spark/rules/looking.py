"""Where rules are kept, and what a look at them finds."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import DataFrame, SparkSession

from ensue.errors import EnsueError
from ensue.messages import Message, Option
from ensue.rules.files import RuleError, RuleText, read_text
from ensue.rules.load import rule_files
from ensue.spark.rules.recipe import Recipe
from ensue.spark.rules.rule_set import RuleSet, VersionedRule

_LOG = logging.getLogger("ensue.spark")

RulesLike: TypeAlias = str | PathLike[str] | DataFrame | Callable[[], Mapping[str, str]]
"""A folder or file of rules, a table or its name, or a function that returns {name: text}."""

Texts: TypeAlias = Mapping[str, "RuleText | EnsueError"]
"""Rules by name; an error where the text of one cannot be read."""


class RulesUnreadError(RuleError):
    """The rules cannot be looked at: their place is not there, or does not answer."""


# places


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder with all .ceql files below it, or one such file."""

    path: str

    def __call__(self) -> Texts:
        """Read all texts; a folder may be empty."""
        root = Path(self.path)
        if root.is_dir() and not any(root.rglob("*.ceql")):
            return {}
        found: dict[str, RuleText | EnsueError] = {}
        for name, file in rule_files([root]).items():
            try:
                found[name] = read_text(file)
            except EnsueError as error:
                found[name] = error
            except FileNotFoundError:
                continue  # it went between the two looks
        return found


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the user's."""

    function: Callable[[], Mapping[str, str]]

    def __call__(self) -> Texts:
        """Call it."""
        given = self.function()
        if not isinstance(given, Mapping):
            raise TypeError(f"it returned {type(given).__name__}, not {{name: text of the rule}}")
        return {str(name): _written(str(name), text) for name, text in given.items()}


@dataclass(slots=True)
class Table:
    """A table with the columns `name` and `query`."""

    spark: SparkSession
    table: str | DataFrame
    seconds: float = 1.0
    """It is read at most so often: each time is a job of Spark."""
    _read: float | None = None
    _known: Texts = field(default_factory=dict)

    def __call__(self) -> Texts:
        """Read it, unless that was a moment ago."""
        now = time.monotonic()
        if self._read is None or now - self._read >= self.seconds:
            self._read = now  # also where that fails
            self._known = self._texts()
        return self._known

    def _texts(self) -> Texts:
        frame = self.table
        if isinstance(frame, str):
            frame = self.spark.table(frame)
        found: dict[str, RuleText | EnsueError] = {}
        for name, text in frame.select("name", "query").collect():
            if name is None:
                raise RuleError("the table of rules has a row without a name")
            if name in found:
                found[name] = RuleError(f"the table of rules has two rows named '{name}'")
            else:
                found[name] = _written(name, text)
        return found


def _written(name: str, text: object) -> RuleText | EnsueError:
    if isinstance(text, str):
        return RuleText(text, name)
    kind = type(text).__name__
    return RuleError(f"a rule is the text of a query, and maybe a header, not a {kind}")


def place_of(rules: RulesLike, spark: SparkSession, *, is_remote: bool) -> Callable[[], Texts]:
    """Tell what `rules=` stands for."""
    match rules:
        case DataFrame():
            if rules.isStreaming:
                raise ValueError(
                    Message(Option("rules"), " is a stream; pass a table that is read anew")
                )
            place: Callable[[], Texts] = Table(spark, rules)
        case str() | PathLike():
            path = fspath(rules)
            if "/" in path or "\\" in path or Path(path).exists():
                return Folder(path)
            if not spark.catalog.tableExists(path):
                raise RulesUnreadError(
                    Message(
                        Option("rules", path),
                        " is neither a folder or file nor a table that Spark knows",
                    )
                )
            place = Table(spark, path)
        case _ if callable(rules):
            return Function(rules)
        case _:
            raise TypeError(
                Message(
                    Option("rules"),
                    " is a folder, a table or a function that returns {name: text}, not a "
                    f"{type(rules).__name__}",
                )
            )
    if is_remote:
        raise ValueError(
            Message(
                "over Spark Connect nobody can read a table when a micro-batch begins: let ",
                Option("rules"),
                " be a folder that the server can read, or a function",
            )
        )
    return place


# looking


@dataclass
class Look:
    """Looks at the rules, and tells which of them can be used."""

    place: Callable[[], Texts]
    recipe: Recipe
    last: RuleSet | None = None
    """What the last look found."""
    _judged: dict[tuple[str, RuleText], VersionedRule | str] = field(default_factory=dict)
    _failure: str = ""
    """Why the last look failed."""

    def __call__(self) -> RuleSet:
        """Return the rules as they are now; where they cannot be read, as they were."""
        try:
            texts = self.place()
        except Exception as error:
            # Whatever a file system, a table or a function of the user's may raise.
            if self.last is None:
                raise RulesUnreadError(f"the rules cannot be read: {error}") from error
            if str(error) != self._failure:
                self._failure = str(error)
                _LOG.warning("the rules cannot be read, and stay as they were: %s", error)
            return self.last
        self._failure = ""
        before, self.last = self.last, self.judged(texts)
        for name, why in self.last.skipped.items():
            # What the first look finds is a warning to the caller.
            if before is not None and before.skipped.get(name) != why:
                _LOG.warning("%s", sentence(name, why))
        return self.last

    def judged(self, texts: Texts) -> RuleSet:
        """Compile what has not been compiled yet."""
        rules, skipped = {}, {}
        judged: dict[tuple[str, RuleText], VersionedRule | str] = {}
        for name, text in texts.items():
            if isinstance(text, EnsueError):
                skipped[name] = str(text)
                continue
            found = self._judged.get((name, text)) or self._judge(name, text)
            judged[name, text] = found
            if isinstance(found, str):
                skipped[name] = found
            else:
                rules[name] = found
        self._judged = judged
        return RuleSet(rules, skipped)

    def _judge(self, name: str, text: RuleText) -> VersionedRule | str:
        try:
            program = self.recipe.program(name, text)
            return VersionedRule(self.recipe.version(program, text), text)
        except Exception as error:
            # Whatever is wrong with one rule, the others go on.
            return reason(error)


def reason(error: Exception) -> str:
    """Say why a rule cannot be used."""
    return str(error) if isinstance(error, EnsueError) else f"{type(error).__name__}: {error}"


def sentence(name: str, why: str) -> str:
    """Say that a rule is skipped."""
    return f"rule '{name}' is skipped: {why}"
