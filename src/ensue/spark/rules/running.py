"""Where the rules of a bucket stand, and how that is stored."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ensue.spark.pipeline import Found, SortedPipeline, with_types
from ensue.spark.program import Program
from ensue.spark.rows import schema_of, tables
from ensue.spark.rules.recipe import Recipe
from ensue.spark.rules.rows import rule_rows
from ensue.spark.rules.rule_set import VersionedRule
from ensue.spark.streaming.log import horizon, read_sections
from ensue.state.container import below, pack, part
from ensue.stream.waiting import BEFORE_ALL_TIMES

KIND = "log of rules"
"""What a head says that it is."""

_SNAPSHOT = "snapshot of a rule"


class Standing(NamedTuple):
    """What is stored of a rule in the head."""

    name: str
    version: str
    since: int
    """The operators have to read logged events from this time on, beside the snapshot."""
    counted: int
    """The number of the first chunk that counts towards the next snapshot."""
    snapshot: int = 0
    """The number under which the snapshot is stored; 0: there is none."""
    size: int = 0
    stopped: str | None = None
    """Why the rule reads no more events, where it failed."""


@dataclass(frozen=True, slots=True)
class RuleHead:
    """What is read first: enough to know whether live operators are current."""

    identity: str
    version: str
    """Drawn anew by every attempt, so that equal versions are the same state."""
    watermark: int
    """Milliseconds: how far the operators have come."""
    first: int
    following: int
    rules: tuple[Standing, ...]
    idle: tuple[int | None, ...] | None = None

    def encode(self) -> bytes:
        """Write the head as stable tags and values."""
        return pack(
            {
                "kind": KIND,
                "identity": self.identity,
                "version": self.version,
                "watermark": self.watermark,
                "first": self.first,
                "next": self.following,
                "rules": tuple(tuple(each) for each in self.rules),
                "idle": self.idle,
            }
        )

    @classmethod
    def decode(cls, sections: Mapping[str, Any]) -> RuleHead:
        """Read what `encode` wrote."""
        return cls(
            sections["identity"],
            sections["version"],
            sections["watermark"],
            sections["first"],
            sections["next"],
            tuple(Standing(*each) for each in sections["rules"]),
            sections["idle"],
        )


@dataclass(slots=True)
class Running:
    """The operators of one rule in one bucket."""

    standing: Standing
    program: Program
    pipeline: SortedPipeline
    horizon: int | None
    """How far before the watermark events may matter to it; None: without a bound in time."""
    row_schema: pa.Schema
    """The columns of its rows as a query has them."""

    @classmethod
    def begin(cls, standing: Standing, program: Program) -> Running:
        """Return the operators before the first event."""
        pipeline = SortedPipeline([program], [{}])
        return cls(standing, program, pipeline, horizon((program,)), schema_of(program))

    def rows(self, found: Found, schema: pa.Schema) -> Iterator[pa.Table]:
        """Give what was found as rows of any rule."""
        for program, chunk in found:
            for table in tables(chunk, self.row_schema):
                if table.num_rows:
                    yield rule_rows(program, self.standing.version, table, schema)

    def block(self) -> bytes:
        """Write a snapshot of the operators."""
        return pack({"kind": _SNAPSHOT, **below("lane", self.pipeline.save())})

    def load(self, block: bytes) -> None:
        """Go on from a snapshot."""
        self.pipeline.load(part(read_sections(block), "lane"))

    def read(self, table: pa.Table, times: np.ndarray) -> Found:
        """Read sorted events as far as they are in the rule's life; give what they complete."""
        begin = int(np.searchsorted(times, max(self.standing.since, BEFORE_ALL_TIMES)))
        if begin == len(times):
            return iter(())
        own = table if begin == 0 else table.slice(begin)
        return self.pipeline.push_batch(with_types(own, self.program), times[begin:])

    def needs(self, edge: int) -> int:
        """Return the time from which on events are needed to rebuild the operators."""
        if self.horizon is None:
            return self.standing.since
        return max(self.standing.since, edge - self.horizon)


_PROGRAMS: OrderedDict[tuple[str, str, str], Program] = OrderedDict()
_MOST_PROGRAMS = 4096


def program_of(name: str, rule: VersionedRule, recipe: Recipe, identity: str) -> Program:
    """Compile a rule, once in a worker for all of its buckets."""
    key = identity, name, rule.version
    known = _PROGRAMS.pop(key, None)
    _PROGRAMS[key] = recipe.program(name, rule.text) if known is None else known
    while len(_PROGRAMS) > _MOST_PROGRAMS:
        _PROGRAMS.popitem(last=False)
    return _PROGRAMS[key]
