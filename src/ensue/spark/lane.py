"""The queries of a task on one stream: events are read, kept and asked about once for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.schema import AttributePath
from ensue.errors import EventError
from ensue.logic.evaluate import Tally
from ensue.operators.match import MatchOperator, Sharing
from ensue.operators.operator import Operator, OperatorOutput
from ensue.predicates.evaluate import Batch
from ensue.predicates.sharing import Union
from ensue.predicates.vectors import UnsupportedError
from ensue.results.chunk import ResultChunk
from ensue.spark import rows
from ensue.spark.program import Program
from ensue.state.container import below, part
from ensue.stream.batch import EventBatch, column_at, repeated, times_of
from ensue.stream.store import EventStore
from ensue.stream.ties import Numbering


@dataclass(slots=True)
class Member:
    """A query, and how far it has come."""

    program: Program
    given: Mapping[int, int]
    """The answers to its predicates that come with the events."""
    schema: pa.Schema = field(init=False)
    tally: Tally = field(default_factory=Tally)
    recogniser: Operator = field(init=False)

    def __post_init__(self) -> None:
        self.schema = rows.schema_of(self.program)
        self.recogniser = self.program.recogniser(self.given, self.tally)


Found = Iterator[tuple[Member, ResultChunk]]


@dataclass(slots=True)
class Lane:
    """Some queries on one stream of sorted events."""

    members: Sequence[Member]
    _store: EventStore = field(default_factory=EventStore)
    _next: int = 0
    _latest: int | None = None
    _tally: Tally = field(default_factory=Tally)
    """NULLs from predicates that queries share."""
    _union: Union | None = field(init=False)
    """The predicates of all queries, where there are several."""

    def __post_init__(self) -> None:
        every = [member.recogniser for member in self.members]
        fast = [each for each in every if isinstance(each, MatchOperator)]
        asked = [(each.alphabet, each.needed_events()) for each in fast]
        self._union = Union(asked) if len(fast) > 1 else None

    @property
    def _program(self) -> Program:
        """Any of the programs: they agree on time and order."""
        return self.members[0].program

    @property
    def nulls(self) -> int:
        """How often arithmetic has had no value since the operators were built."""
        return self._tally.nulls + sum(each.tally.nulls for each in self.members)

    @property
    def _numberings(self) -> list[Numbering]:
        return list(dict.fromkeys(each.program.shape.numbering for each in self.members))

    def push(self, table: pa.Table) -> Found:
        """Read events and give what they complete."""
        stream = self._stream(table)
        self._store.add(stream)
        sharing = self._shared(stream)
        outcomes = []
        for member in self.members:
            try:
                if sharing is not None and isinstance(member.recogniser, MatchOperator):
                    outcomes.append(member.recogniser.push(stream, sharing))
                else:
                    outcomes.append(member.recogniser.push(stream))
            except UnsupportedError as error:
                raise EventError(
                    f"a condition compares values that Spark's workers cannot keep ({error}); run "
                    "the query locally on a table instead"
                ) from error
        self._next += table.num_rows
        yield from self._pieces(outcomes)
        self._forget()

    def advance(self, time: int) -> Found:
        """Know that time has come so far, and give what that completes."""
        return self._pieces([each.recogniser.advance(time) for each in self.members])

    def finish(self) -> Found:
        """Give what is known only when all events have been read."""
        return self._pieces([each.recogniser.finish() for each in self.members])

    def _pieces(self, outcomes: Sequence[OperatorOutput]) -> Found:
        for member, found in zip(self.members, outcomes, strict=True):
            if found:
                yield member, ResultChunk(member.program.shape, self._store.view(), *found)

    def _shared(self, stream: EventBatch) -> Sharing | None:
        """Answer the predicates of all queries, each once."""
        if self._union is None:
            return None
        batch = Batch(stream.table, stream.types, self._tally)
        return Sharing(self._union, self._union.read(batch, None))

    def _forget(self) -> None:
        """Let go of rows that no partial match needs any more."""
        every = [each.recogniser for each in self.members]
        if self._store.has_grown:
            self._store.forget_before(
                min(each.first_needed(self._next) for each in every), self._numberings
            )
        if self._store.is_large:
            found = [each.needed() for each in every]
            needed = [each for each in found if each is not None]
            if len(needed) == len(found):
                self._store.keep_only(np.concatenate(needed), self._numberings)

    def _stream(self, table: pa.Table) -> EventBatch:
        program = self._program
        check_times(table, program.time)
        times = times_of(table, program.time)
        before = times[0] if self._latest is None else self._latest
        assert (np.diff(times, prepend=before) >= 0).all(), "Spark has not kept the order"
        self._latest = int(times[-1])
        name = program.options.type
        if name in table.column_names:
            types = table.column(name)
        else:
            types = pa.chunked_array([repeated(program.sources[0], table.num_rows)])
        return EventBatch(table, types, None, times, program.time, program.tiebreak, self._next)

    # state between micro-batches

    def interval_ends(self) -> list[int]:
        """Return when the intervals of EVERY are over that the last event lies in."""
        ends = []
        for member in self.members:
            every = member.program.bound.every
            if every is not None and self._latest is not None:
                length = max(every.length // every.unit, 1)
                ends.append((self._latest // length + 1) * length - 1)
        return ends

    def save(self) -> dict[str, Any]:
        """Write down where the queries are, and the events that they need."""
        saved: dict[str, Any] = {"next": self._next, "latest": self._latest}
        for number, member in enumerate(self.members):
            saved |= below(str(number), member.recogniser.save())
        # After the queries, which may have let go of something.
        needed = [self._needed(each.recogniser) for each in self.members]
        self._store.keep_only(np.concatenate(needed), self._numberings, last_too=True)
        return saved | below("store", self._store.save())

    def _needed(self, recogniser: Operator) -> np.ndarray:
        needed = recogniser.needed()
        if needed is None:
            return self._store.positions_from(recogniser.first_needed(self._next))
        return needed

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on from there."""
        self._next, self._latest = saved["next"], saved["latest"]
        if self._next:
            self._store.load(part(saved, "store"), self._program.time)
            kept = self._store.view()()
            for number, member in enumerate(self.members):
                member.recogniser.load(part(saved, str(number)), kept)


def check_times(table: pa.Table, path: AttributePath) -> None:
    """Refuse an event without a time, and show it."""
    column = column_at(table, path)
    if column.null_count:
        at = int(np.flatnonzero(pc.is_null(column).to_numpy(zero_copy_only=False))[0])
        shown = {
            name: value
            for name, value in table.slice(at, 1).to_pylist()[0].items()
            if not name.startswith("__ensue") and value is not None
        }
        raise EventError(
            f"the time '{'.'.join(path)}' of an event is NULL; every event needs a time. The "
            f"event is {shown}"
        )
