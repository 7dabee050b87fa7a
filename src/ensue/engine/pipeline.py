"""A lane: one stream of events, in one order, and the queries that read it.

A push goes in two steps, so that one that fails changes nothing: `prepare` reads and checks,
`apply` takes over. From the first rows on the queries are bound to the columns that they have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.engine.binding import bind_to
from ensue.engine.query import Query
from ensue.engine.text_options import text_options
from ensue.engine.unseen import Occurrences, Silence, silences
from ensue.errors import BudgetError
from ensue.io.rejected import Rejected
from ensue.logic.evaluate import Tally
from ensue.logic.required import Requirement, requirement
from ensue.operators.match import MatchOperator, Sharing
from ensue.operators.operator import NOTHING, Operator, OperatorOutput, StoppedError
from ensue.operators.reference import ReferenceOperator
from ensue.options import Limits, ReadOptions
from ensue.plan.columns import columns_kept
from ensue.plan.program import recogniser, shape_of
from ensue.plan.result_schema import ResultSchema
from ensue.predicates.evaluate import Batch
from ensue.predicates.sharing import Union
from ensue.predicates.vectors import UnsupportedError
from ensue.results.chunk import ResultChunk, ResultChunks
from ensue.state.container import below, part
from ensue.stream.batch import EventBatch, InputBatch, column_at
from ensue.stream.clocks import read_streams
from ensue.stream.conform import ConformedInput, Conformer
from ensue.stream.reorder import CheckedBatch, ReorderBuffer
from ensue.stream.store import EventStore
from ensue.stream.ties import Numbering

_TAGS_OF_CLASSES = {
    "Fast": "match",
    "ByDefinition": "reference",
    "Counting": "count",
    "GraphCounting": "count on the graph",
    "ListCounting": "count by listing",
}
"""Snapshots of version 0.1 name the operators by their classes."""


@dataclass(frozen=True, slots=True)
class ExecutionMode:
    """How queries are evaluated."""

    positions_only: bool = False
    limits: Limits = field(default_factory=Limits)
    by_definition: bool = False
    defers: bool = False
    """Decide conditions as matches are listed: for values that no register can hold."""
    compact_always: bool = False
    warns: bool = True
    """Say so when many events are evaluated by definition."""
    exact: bool = False
    """Give counts of any size."""


@dataclass(slots=True)
class QueryInstance:
    """A query in a lane, bound to the columns of the events."""

    query: Query
    shape: ResultSchema
    recogniser: Operator
    tally: Tally
    columns: InputBatch
    """No rows, but the columns that it was bound to."""
    required: Requirement
    """What events must have for it to find anything."""
    behind: int | None = None
    """The first event that it has not read, where a budget ran out."""

    def first_needed(self, next_position: int) -> int:
        """Return the first position whose event may still be asked for."""
        following = next_position if self.behind is None else self.behind
        return self.recogniser.first_needed(following)

    def needed(self, next_position: int) -> np.ndarray | None:
        """Return all positions whose events may still be asked for; None: all from the first."""
        found = self.recogniser.needed()
        if found is None or self.behind is None:
            return found
        return np.union1d(found, np.arange(self.behind, next_position))


@dataclass(frozen=True, slots=True)
class PreparedPush:
    """A push that was read and checked, and nothing more."""

    read: ConformedInput
    feed: ReorderBuffer
    members: dict[str, QueryInstance]
    checked: CheckedBatch

    @property
    def aside(self) -> tuple[Rejected, ...]:
        """Rows that cannot take part."""
        return self.read.aside + self.checked.aside

    @property
    def late(self) -> pa.Table | None:
        """Rows that came too late, if any."""
        return self.checked.late


@dataclass(slots=True)
class Pipeline:
    """Queries on one stream, and what they share."""

    queries: dict[str, Query]
    options: ReadOptions
    manner: ExecutionMode
    lenient: bool = False
    careful: bool = False
    """Look at all values before anything changes, because other lanes read the same push."""
    intake: Conformer = field(init=False)
    feed: ReorderBuffer | None = None
    members: dict[str, QueryInstance] = field(default_factory=dict)
    store: EventStore = field(default_factory=EventStore)
    tally: Tally = field(default_factory=Tally)
    """NULLs from what queries share."""
    stopped: BudgetError | None = None
    """Why some query has not read all that the last step brought."""
    occurrences: Occurrences = field(default_factory=Occurrences)
    """What the queries require and no event has had so far."""
    _union: Union | None = None
    """The predicates of all queries, where there are several."""

    def __post_init__(self) -> None:
        one = next(iter(self.queries.values()))
        sources = [word.text for word in one.tree.sources]
        self.intake = Conformer(sources, self.options, one.schema, self.lenient)
        self._tell_intake()

    def _tell_intake(self) -> None:
        """Let events be read as the queries need them."""
        queries = self.queries.values()
        self.intake.text = text_options(queries, self.options, collect=self.lenient)

    def prepare(self, events: object, first_row: int = 0) -> PreparedPush:
        """Read and check a push; nothing changes."""
        return self.check(self.intake.read(events), first_row)

    def check(self, read: ConformedInput, first_row: int = 0) -> PreparedPush:
        """Check what was read; bind the queries where these are the first columns."""
        feed, members = self.feed, self.members
        if feed is None:
            members = self._bind(read.loaded)
            feed = self._new_feed(members)
        if self.lenient:
            read = self._without_unsupported(read, feed, members)
        checked = feed.check(read.loaded, first_row)
        if feed.waits or self.careful or len(members) > 1:
            stretch = feed.stretch(checked)
            for member in members.values():
                member.recogniser.check(stretch)
        return PreparedPush(read, feed, members, checked)

    def _bind(self, loaded: InputBatch) -> dict[str, QueryInstance]:
        return {name: self._member(name, query, loaded) for name, query in self.queries.items()}

    def _member(
        self, name: str, query: Query, loaded: InputBatch, *, by_definition: bool = False
    ) -> QueryInstance:
        manner = self.manner
        if by_definition:
            manner = replace(manner, by_definition=True)
        bound = bind_to(query, loaded, self.options)
        self.intake.kept |= columns_kept(bound, self.options)
        tally = Tally()
        shape = shape_of(bound, query.fingerprint, manner.positions_only, manner.exact)
        return QueryInstance(
            query,
            replace(shape, query=name or query.name),
            recogniser(
                bound,
                tally,
                manner.limits,
                positions_only=manner.positions_only,
                by_definition=manner.by_definition,
                defers=manner.defers,
                compact_always=manner.compact_always,
                warns=manner.warns,
                exact=manner.exact,
            ),
            tally,
            loaded.columns_only(),
            requirement(bound),
        )

    def _new_feed(self, members: Mapping[str, QueryInstance]) -> ReorderBuffer:
        one = next(iter(members.values()))
        return ReorderBuffer(one.shape.time_path, self.options, self.intake.sources, self.lenient)

    def _without_unsupported(
        self, read: ConformedInput, feed: ReorderBuffer, members: Mapping[str, QueryInstance]
    ) -> ConformedInput:
        """Put rows with values that no register can hold aside."""
        loaded = read.loaded
        try:
            self._try(feed, members, read)
        except UnsupportedError:
            aside, good = list(read.aside), []
            for row in range(loaded.table.num_rows):
                one = replace(read, loaded=loaded.take(np.array([row])))
                try:
                    self._try(feed, members, one)
                    good.append(row)
                except UnsupportedError as error:
                    reason = f"a condition compares values that a stream cannot keep ({error})"
                    aside.append(loaded.rejected(row, reason))
            return replace(read, loaded=loaded.take(np.array(good, np.int64)), aside=tuple(aside))
        return read

    def _try(
        self, feed: ReorderBuffer, members: Mapping[str, QueryInstance], read: ConformedInput
    ) -> None:
        stretch = feed.stretch(
            CheckedBatch(read.loaded, np.zeros(0, np.int64), feed.kind, None, (), 0)
        )
        for member in members.values():
            member.recogniser.check(stretch)

    def apply(self, prepared: PreparedPush) -> ResultChunks:
        """Take over a push, and return what it completes."""
        checked = prepared.checked
        if self.feed is None and not checked.loaded.table.num_columns:
            # Nothing came, not even columns: the first rows are still to come.
            empty = prepared.feed.stretch(checked)
            return {
                name: [ResultChunk(member.shape, lambda: empty, *NOTHING)]
                for name, member in prepared.members.items()
            }
        if self.feed is None:
            for member in prepared.members.values():
                self.occurrences.want(member.required)
        self.feed, self.members = prepared.feed, prepared.members
        feed = self.feed
        self.intake.keep(prepared.read)
        if feed.waits or checked.loaded.streams is not None:
            return self._push(feed.add(checked), feed.watermark)
        stretch = feed.stretch(checked)
        found = self._push(stretch, None)
        feed.add(checked, stretch)
        return found

    def advance(self, time: int) -> ResultChunks:
        """Let time pass."""
        assert self.feed is not None
        return self._push(self.feed.advance(time), self.feed.watermark)

    def finish(self) -> ResultChunks:
        """Release what waits, and let all queries know that this was all."""
        if self.feed is None:
            return {}
        found = self._push(self.feed.finish(), None)
        if self.stopped is not None:
            return found
        for name, member in self.members.items():
            outcome = member.recogniser.finish()
            if outcome:
                found[name].append(self._piece(member, outcome))
        return found

    def _push(self, stretch: EventBatch, watermark: int | None) -> ResultChunks:
        """Let all queries read the next stretch, and know how far time has come."""
        outcomes: dict[str, list[OperatorOutput]] = {}
        self.stopped = None
        if not len(stretch.times):
            # Results without rows have the types of their columns all the same.
            stretch = replace(stretch, table=self._fields.empty_table())
        sharing = self._shared(stretch)
        self._look(stretch, sharing)
        for name, member in self.members.items():
            outcomes[name] = [self._read(name, member, stretch, sharing)]
            if watermark is not None and member.behind is None:
                later = member.recogniser.advance(watermark)
                if later:
                    outcomes[name].append(later)
        self.store.add(stretch)
        found = {
            name: [self._piece(member, outcome) for outcome in outcomes[name]]
            for name, member in self.members.items()
        }
        self._forget(stretch.first + len(stretch.times))
        return found

    def _read(
        self, name: str, member: QueryInstance, stretch: EventBatch, sharing: Sharing | None
    ) -> OperatorOutput:
        """Let a query read a stretch, as far as its budget goes."""
        try:
            if sharing is not None and isinstance(member.recogniser, MatchOperator):
                return member.recogniser.push(stretch, sharing)
            return member.recogniser.push(stretch)
        except StoppedError as stopped:
            member.behind = stopped.position
            self.stopped = BudgetError(f"query '{name}': {stopped}" if name else str(stopped))
            return stopped.outcome

    @property
    def is_behind(self) -> bool:
        """Whether some query has not read all events."""
        return any(member.behind is not None for member in self.members.values())

    def catch_up(self) -> ResultChunks:
        """Let queries that stopped at a budget read what is left, should it be larger by now."""
        found: ResultChunks = {}
        self.stopped = None
        for name, member in self.members.items():
            found[name] = [self._piece(member, NOTHING)]
            if member.behind is None:
                continue
            rest = self.store.since(member.behind)
            member.behind, nulls = None, member.tally.nulls
            found[name].append(self._piece(member, self._read(name, member, rest, None)))
            # They were counted with the whole stretch.
            member.tally.nulls = nulls
            watermark = None if self.feed is None or not self.feed.waits else self.feed.watermark
            if watermark is not None and member.behind is None:
                found[name].append(self._piece(member, member.recogniser.advance(watermark)))
        return found

    def _shared(self, stretch: EventBatch) -> Sharing | None:
        """Answer the predicates of all queries about a stretch, each once."""
        every = [member.recogniser for member in self.members.values()]
        fast = [each for each in every if isinstance(each, MatchOperator)]
        if len(fast) < 2 or not len(stretch.times):
            return None
        if self._union is None:
            self._union = Union((each.alphabet, each.needed_events()) for each in fast)
        batch = Batch(stretch.table, stretch.types, self.tally)
        return Sharing(self._union, self._union.read(batch, read_streams(stretch)))

    def _look(self, stretch: EventBatch, sharing: Sharing | None) -> None:
        """Note which types and values occur, as long as some that are required have not."""
        seen = self.occurrences
        if not seen.waiting:
            for member in self.members.values():
                member.tally.witness = None
            return
        one = next(iter(self.members.values())) if len(self.members) == 1 else None
        # What the kernels read has its distinct strings at hand; they show it when they are done.
        shown = one is not None and not isinstance(one.recogniser, ReferenceOperator)
        for member in self.members.values():
            member.tally.witness = seen.read if shown else None
        if not shown:
            seen.read(
                Batch(stretch.table, stretch.types) if sharing is None else sharing.shared.batch
            )

    def silences(self) -> list[Silence]:
        """Say what the queries require and no event had, if there were events at all."""
        if not self.released:
            return []
        required = {name: member.required for name, member in self.members.items()}
        return silences(self.occurrences, required, self.intake.fields, self.options.type)

    def add(self, name: str, query: Query) -> None:
        """Let one more query read the stream from here on."""
        if self.feed is not None:
            types = pa.chunked_array([], pa.string())
            known = next(iter(self.members.values())).columns.closed if self.members else False
            member = self._member(
                name, query, InputBatch(self._fields.empty_table(), known, types, None)
            )
            member.recogniser.begin_at(self.feed.next_position)
            member.shape = replace(member.shape, since=self.feed.next_position)
            self.occurrences.want(member.required)
            self.members[name] = member
        self.queries[name] = query
        self._tell_intake()
        self._union = None

    @property
    def _fields(self) -> pa.Schema:
        """The columns that have come so far."""
        return pa.schema(list(self.intake.fields.items()))

    def remove(self, name: str) -> None:
        """Let a query go, and what is kept for it."""
        del self.queries[name]
        self.members.pop(name, None)
        self._union = None

    def _piece(self, member: QueryInstance, outcome: OperatorOutput) -> ResultChunk:
        if outcome:
            return ResultChunk(member.shape, self.store.view(), *outcome)
        newest = self.store.newest
        return ResultChunk(member.shape, lambda: newest, *outcome)

    def _forget(self, next_position: int) -> None:
        """Let go of rows that nobody needs any more."""
        members = self.members.values()
        if self.store.has_grown:
            first = min(each.first_needed(next_position) for each in members)
            self.store.forget_before(first, self._numberings())
        if self.store.is_large:
            needed = self._needed(next_position)
            if needed is not None:
                self.store.keep_only(needed, self._numberings())

    def _needed(self, next_position: int) -> np.ndarray | None:
        """Return all positions whose events may still be asked for; None: all from the first."""
        found = []
        for member in self.members.values():
            needed = member.needed(next_position)
            if needed is None:
                return None
            found.append(needed)
        return np.concatenate([*found, np.zeros(0, np.int64)])

    def _numberings(self) -> list[Numbering]:
        """Return which events ids number together; rows of totals have no ids."""
        listed = [each.shape for each in self.members.values() if each.shape.totals is None]
        return list(dict.fromkeys(shape.numbering for shape in listed))

    def _trim(self) -> None:
        """Let go of all rows that nobody needs, before the others are written down."""
        following = self.released
        every = [each.first_needed(following) for each in self.members.values()]
        first = min([following, *every])
        self.store = self.store.trimmed(first, self._needed(following), self._numberings())

    @property
    def released(self) -> int:
        """How many events have got a position."""
        return 0 if self.feed is None else self.feed.next_position

    # snapshots

    def save(self) -> dict[str, Any]:
        """Write down the state of all queries, and what they share."""
        if self.feed is None:
            return {}
        saved: dict[str, Any] = {
            "names": tuple(self.members),
            "fields": self._fields.empty_table(),
            "nulls": self.tally.nulls,
            "unseen": self.occurrences.save(),
            **below("feed", self.feed.save()),
        }
        for number, member in enumerate(self.members.values()):
            saved[f"{number}/columns"] = member.columns.table
            saved[f"{number}/closed"] = member.columns.closed
            saved[f"{number}/way"] = member.recogniser.tag
            saved[f"{number}/nulls"] = member.tally.nulls
            if member.behind is not None:
                saved[f"{number}/behind"] = member.behind
            saved |= below(str(number), member.recogniser.save())
            saved[f"{number}/since"] = member.shape.since
        # After the queries, which may have let go of something.
        self._trim()
        return saved | below("store", self.store.save())

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take over a state that was saved; ValueError where it cannot be one of these queries."""
        if not saved:
            return
        if tuple(self.queries) != saved["names"]:
            raise ValueError("it has other queries")
        types = pa.chunked_array([], pa.string())
        for number, (name, query) in enumerate(self.queries.items()):
            columns = saved[f"{number}/columns"]
            known = InputBatch(columns, saved[f"{number}/closed"], types, None)
            # What was evaluated by definition goes on so, though kernels may cover it by now.
            tag = _TAGS_OF_CLASSES.get(saved[f"{number}/way"], saved[f"{number}/way"])
            member = self._member(name, query, known, by_definition=tag == ReferenceOperator.tag)
            if member.recogniser.tag != tag:
                raise ValueError("it was evaluated in a way that there is no longer")
            member.shape = replace(member.shape, since=saved.get(f"{number}/since", 0))
            self.members[name] = member
        self.intake.fields = {field.name: field.type for field in saved["fields"].schema}
        feed = self.feed = self._new_feed(self.members)
        kind = pa.null()
        if feed.time_path is not None:
            kind = column_at(saved["fields"], feed.time_path).type
        feed.load(part(saved, "feed"), kind)
        self.tally.nulls = saved["nulls"]
        self.occurrences.load(saved.get("unseen"))
        self.store.load(part(saved, "store"), feed.time_path)
        for number, member in enumerate(self.members.values()):
            member.tally.nulls = saved[f"{number}/nulls"]
            member.behind = saved.get(f"{number}/behind")
            member.recogniser.load(part(saved, str(number)), self.store.view()())
