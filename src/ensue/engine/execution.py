"""The operators of some queries on one ordered stream: the part that every way to run them shares.

Batches of events come in order, each with positions. All operators read a batch, each distinct
predicate is evaluated once, and the event store keeps the rows that partial matches may still need.
What stands before (conforming and reordering, or input that is sorted already) and behind (matches
for Python, rows for Spark) is up to the caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ensue.analysis.schema import AttributePath
from ensue.engine.slicing import Slicing, read_in_slices
from ensue.engine.unseen import Occurrences
from ensue.errors import BudgetError
from ensue.kernels.sets import union
from ensue.logic.evaluate import Tally
from ensue.logic.required import Requirement
from ensue.messages import Message, message_of
from ensue.operators.match import MatchOperator
from ensue.operators.operator import NO_OUTPUT, Operator, OperatorOutput, StoppedError
from ensue.operators.reference import ReferenceOperator
from ensue.plan.result_schema import Numbering, ResultSchema
from ensue.predicates.evaluate import Batch
from ensue.predicates.sharing import Sharing, Union
from ensue.results.chunk import ResultChunk, ResultChunks
from ensue.state.container import below, part
from ensue.stream.batch import EventBatch
from ensue.stream.keys import read_streams
from ensue.stream.store import EventStore


@dataclass(slots=True)
class QueryInstance:
    """A query on a stream: its operator, and what its results look like."""

    schema: ResultSchema
    operator: Operator
    tally: Tally
    slicing: Slicing | None = None
    """How it may read large batches on several threads; None: on one."""
    behind: int | None = None
    """The first event that it has not read, where a budget ran out."""

    def first_needed(self, next_position: int) -> int:
        """Return the first position whose event may still be asked for."""
        following = next_position if self.behind is None else self.behind
        return self.operator.first_needed(following)

    def needed(self, next_position: int) -> np.ndarray | None:
        """Return all positions whose events may still be asked for; None: all from the first."""
        found = self.operator.needed()
        if found is None or self.behind is None:
            return found
        return union(found, np.arange(self.behind, next_position))


@dataclass(slots=True)
class Execution:
    """Queries that read the same batches, and the events that their matches may still need."""

    instances: dict[str, QueryInstance] = field(default_factory=dict)
    store: EventStore = field(default_factory=EventStore)
    tally: Tally = field(default_factory=Tally)
    """NULLs from predicates that queries share."""
    occurrences: Occurrences = field(default_factory=Occurrences)
    """What the queries require and no event has had so far."""
    _looks: bool = True
    """Whether some of it may still be missing."""
    stopped: BudgetError | None = None
    """Why some query has not read all that the last step brought."""
    is_behind: bool = False
    """Whether some query has not read all events."""
    next_position: int = 0
    ends: bool = False
    """Whether no events follow those of the next batch."""
    _shared_predicates: Union | None = None
    """The predicates of all queries, where there are several."""

    # queries

    def add(self, name: str, instance: QueryInstance) -> None:
        """Let one more query read the stream from here on."""
        self.instances[name] = instance
        self._shared_predicates = None
        self.is_behind = self.is_behind or instance.behind is not None

    def require(self, required: Requirement) -> None:
        """Look for what a query requires of the events."""
        self.occurrences.want(required)
        self._looks = True

    def remove(self, name: str) -> None:
        """Drop a query and its state."""
        self.instances.pop(name, None)
        self._shared_predicates = None
        self._note_behind()

    # events

    def push(self, batch: EventBatch, watermark: int | None = None) -> ResultChunks:
        """Let all queries read the next batch, and tell them how far time has come."""
        outputs: list[list[OperatorOutput]] = []
        self.stopped = None
        following = batch.first + len(batch.times)
        sharing = self._shared(batch)
        self._note_occurrences(batch, sharing)
        for name, instance in self.instances.items():
            some = [self._read(name, instance, batch, sharing)]
            if watermark is not None and instance.behind is None:
                later = self._advance(name, instance, watermark, following)
                if later:
                    some.append(later)
            outputs.append(some)
        self.store.add(batch)
        self.next_position = following
        found = {}
        for (name, instance), some in zip(self.instances.items(), outputs, strict=True):
            found[name] = self._chunks(instance, *some)
        self._forget()
        return found

    def advance(self, time: int) -> ResultChunks:
        """Tell all queries that no event before this time will come."""
        self.stopped = None
        return {
            name: self._chunks(instance, self._advance(name, instance, time, self.next_position))
            for name, instance in self.instances.items()
        }

    def finish(self) -> ResultChunks:
        """Signal the end of input and return the remaining results."""
        found: ResultChunks = {}
        for name, instance in self.instances.items():
            output = instance.operator.finish()
            found[name] = self._chunks(instance, output) if output else []
        return found

    def _read(
        self, name: str, instance: QueryInstance, batch: EventBatch, sharing: Sharing | None
    ) -> OperatorOutput:
        """Let a query read a batch, as far as its budget goes."""
        try:
            if sharing is not None and isinstance(instance.operator, MatchOperator):
                return instance.operator.push(batch, sharing)
            if instance.slicing is not None and len(batch.times) >= instance.slicing.least_rows:
                read = read_in_slices(instance.slicing, instance.operator, batch, instance.tally)
                if read is not None:
                    output, instance.operator, stopped = read
                    if stopped is not None:
                        raise StoppedError(stopped, output, stopped.position)
                    return output
            return instance.operator.push(batch)
        except StoppedError as stopped:
            self._stop(name, instance, stopped.position, stopped)
            return stopped.output

    def _advance(
        self, name: str, instance: QueryInstance, time: int, following: int
    ) -> OperatorOutput:
        """Tell a query how far time has come, unless its budget ran out before."""
        try:
            return instance.operator.advance(time)
        except BudgetError as error:
            self._stop(name, instance, following, error)
            return error.output if isinstance(error, StoppedError) else NO_OUTPUT

    def _stop(self, name: str, instance: QueryInstance, position: int, error: BudgetError) -> None:
        """Note that a query has read nothing from a position on."""
        instance.behind, self.is_behind = position, True
        self.stopped = BudgetError(Message(f"query '{name}': " if name else "", message_of(error)))

    def _note_behind(self) -> None:
        every = self.instances.values()
        self.is_behind = any(instance.behind is not None for instance in every)

    def catch_up(self, watermark: int | None) -> ResultChunks:
        """Let queries that stopped at a budget read what is left, should it be larger by now."""
        found: ResultChunks = {}
        self.stopped = None
        for name, instance in self.instances.items():
            found[name] = self._chunks(instance, NO_OUTPUT)
            if instance.behind is None:
                continue
            rest = self.store.since(instance.behind)
            instance.behind, nulls = None, instance.tally.nulls
            found[name] += self._chunks(instance, self._read(name, instance, rest, None))
            # They were counted with the whole batch.
            instance.tally.nulls = nulls
            if watermark is not None and instance.behind is None:
                later = self._advance(name, instance, watermark, self.next_position)
                found[name] += self._chunks(instance, later)
        self._note_behind()
        return found

    def _shared(self, batch: EventBatch) -> Sharing | None:
        """Evaluate the predicates of all queries on a batch, each once."""
        if len(self.instances) < 2 or not len(batch.times):
            return None
        every = [instance.operator for instance in self.instances.values()]
        matching = [each for each in every if isinstance(each, MatchOperator)]
        if len(matching) < 2:
            return None
        if self._shared_predicates is None:
            asked = ((each.alphabet, each.needed_events()) for each in matching)
            self._shared_predicates = Union(asked)
        columns = Batch(batch.table, batch.types, self.tally)
        shared = self._shared_predicates
        return Sharing(shared, shared.read(columns, read_streams(batch)), self.ends)

    def _note_occurrences(self, batch: EventBatch, sharing: Sharing | None) -> None:
        """Note which types and values occur, as long as some that are required have not."""
        if not self._looks:
            return
        seen = self.occurrences
        if not seen.waiting:
            self._looks = False
            for instance in self.instances.values():
                instance.tally.witness = None
            return
        # A match operator has the distinct strings of a batch at hand, and shows them.
        alone, shown = len(self.instances) == 1, False
        for instance in self.instances.values():
            shown = alone and not isinstance(instance.operator, ReferenceOperator)
            instance.tally.witness = seen.read if shown else None
        if not shown:
            seen.read(Batch(batch.table, batch.types) if sharing is None else sharing.shared.batch)

    def _chunks(self, instance: QueryInstance, *outputs: OperatorOutput) -> list[ResultChunk]:
        """Give what a query completed the events that it needs."""
        found: list[ResultChunk] = []
        for output in outputs:
            matches, totals, deadlines, events, more = output
            if events is None:
                newest = self.store.newest
                full = matches or totals
                events = self.store.view() if full else lambda newest=newest: newest
            found.append(ResultChunk(instance.schema, events, matches, totals, deadlines))
            if more is not None:
                found += self._chunks(instance, more)
        return found

    # the event store

    def _forget(self) -> None:
        """Drop rows that are not needed any more."""
        if self.store.has_grown:
            following, instances = self.next_position, self.instances.values()
            first = min(each.first_needed(following) for each in instances)
            self.store.forget_before(first, self._numberings())
        if self.store.is_large:
            needed = self._needed()
            if needed is not None:
                self.store.keep_only(needed, self._numberings())

    def _needed(self) -> np.ndarray | None:
        """Return all positions whose events may still be asked for; None: all from the first."""
        found = []
        for instance in self.instances.values():
            needed = instance.needed(self.next_position)
            if needed is None:
                return None
            found.append(needed)
        return np.concatenate([*found, np.zeros(0, np.int64)])

    def _numberings(self) -> list[Numbering]:
        """Return which events ids number together; rows of totals have no ids."""
        listed = [each.schema for each in self.instances.values() if each.schema.totals is None]
        return list(dict.fromkeys(schema.numbering for schema in listed))

    def _trim(self) -> None:
        """Drop all rows that are not needed, before the others are saved."""
        following = self.next_position
        every = [each.first_needed(following) for each in self.instances.values()]
        first = min([following, *every])
        self.store = self.store.trimmed(first, self._needed(), self._numberings())

    # state

    def save(self) -> dict[str, Any]:
        """Return the state of all queries, and the events that they need."""
        saved: dict[str, Any] = {}
        for number, instance in enumerate(self.instances.values()):
            saved[f"{number}/way"] = instance.operator.tag
            saved[f"{number}/nulls"] = instance.tally.nulls
            saved[f"{number}/since"] = instance.schema.since
            if instance.behind is not None:
                saved[f"{number}/behind"] = instance.behind
            saved |= below(str(number), instance.operator.save())
        # After the operators, which may have dropped something.
        self._trim()
        return saved | below("store", self.store.save())

    def load(
        self, saved: Mapping[str, Any], next_position: int, time_path: AttributePath | None
    ) -> None:
        """Take over a state that was saved by the same queries."""
        self.next_position = next_position
        self.store.load(part(saved, "store"), time_path)
        for number, instance in enumerate(self.instances.values()):
            instance.tally.nulls = saved.get(f"{number}/nulls", 0)
            instance.behind = saved.get(f"{number}/behind")
            instance.schema = replace(instance.schema, since=saved.get(f"{number}/since", 0))
            instance.operator.load(part(saved, str(number)), self.store.view()())
        self._note_behind()
