"""How the text of a rule becomes a program on the events of a DataFrame.

The driver compiles a rule to know whether it can be used, the workers to use it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from ensue.analysis.schema import AttributePath
from ensue.engine.query import compile
from ensue.messages import Message, Option
from ensue.options import Limits, ReadOptions, SchemaLike, with_settings
from ensue.rules.files import RuleError, RuleText, parse_rule
from ensue.rules.load import compiled
from ensue.rules.settings import METADATA
from ensue.spark.distribution import TimedDistribution, timed_distribution
from ensue.spark.program import Program
from ensue.spark.rows import schema_of
from ensue.stream.batch import path_of

_ALL_EVENTS = "SELECT NONE FROM Events WHERE ANY"
_VERSION_DIGITS = 12


@dataclass(frozen=True)
class Recipe:
    """All that decides what the text of a rule means."""

    columns: pa.Schema
    options: ReadOptions
    limits: Limits
    schema: SchemaLike = None
    params: Mapping[str, object] | None = None
    positions_only: bool = False
    key: tuple[str, ...] = ()
    """Columns that every rule is partitioned by; none: one task reads all events."""

    @cached_property
    def events(self) -> Program:
        """A query that asks for nothing: what all rules have in common on these events."""
        program = Program("events", compile(_ALL_EVENTS), self.columns, self.options)
        program.bound  # noqa: B018 - errors of the options are raised now
        program.tiebreak  # noqa: B018
        return program

    @cached_property
    def distribution(self) -> TimedDistribution:
        """How the events of a stream meet, whatever rules there are."""
        table = self.columns.empty_table()
        keys: Sequence[AttributePath] = [path_of(name, table, "key") for name in self.key]
        return TimedDistribution(
            "keys" if keys else "one", "rules may change", self.events.time, tuple(keys)
        )

    def program(self, name: str, written: RuleText) -> Program:
        """Compile a rule and bind it; an EnsueError says why it cannot be used."""
        rule = compiled(name, parse_rule(written), self.schema, self.params or {})
        own = replace(with_settings(self.options, rule.settings), lateness=None)
        program = Program(name, rule, self.columns, own, self.positions_only, self.limits)
        schema_of(program)
        program.plan  # noqa: B018 - a pattern that takes too many states is found out here
        self._check_order(program)
        self._check_key(program)
        return program

    @staticmethod
    def version(program: Program, written: RuleText) -> str:
        """Return the version of a rule: a hash of what it means, not of how it is laid out."""
        settings = {
            key: value for key, value in parse_rule(written).settings.items() if key not in METADATA
        }
        meant = [program.query.fingerprint]
        meant.append(json.dumps(settings, sort_keys=True, default=str))
        return hashlib.sha256("\n".join(meant).encode()).hexdigest()[:_VERSION_DIGITS]

    def _check_order(self, program: Program) -> None:
        for name, own, common in (
            ("time", program.time, self.events.time),
            ("tiebreak", program.tiebreak, self.events.tiebreak),
        ):
            if own != common:
                has = "none" if common is None else f"'{'.'.join(common)}'"
                wants = "none" if own is None else f"'{'.'.join(own)}'"
                raise RuleError(
                    Message(
                        f"all rules see the events in one order: {Option(name)} is {has}, and "
                        f"this rule has {wants}"
                    )
                )

    def _check_key(self, program: Program) -> None:
        if not self.key:
            return
        spread = timed_distribution(program)
        keys = self.distribution.keys
        if spread.kind != "keys":
            raise RuleError(
                Message(
                    "events are spread by ",
                    Option("key", list(self.key)),
                    f", and this rule needs all of them: {spread.why}",
                )
            )
        lacks = [".".join(path) for path in keys if path not in spread.keys]
        if lacks:
            listed = ", ".join(f"[{name}]" for name in lacks)
            raise RuleError(
                Message(
                    "events are spread by ",
                    Option("key", list(self.key)),
                    f", and the PARTITION BY of this rule lacks {listed}: events that it relates "
                    "may be in different tasks; add it there",
                )
            )
