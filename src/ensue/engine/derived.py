"""Queries with derived streams: the matches of each level are pushed on to those that read it.

To a pipeline such a query is one operator on the events of its input. Inside, each level has an
execution of its own, with the events that its matches may still need. Streams that meet in one
level are put in one order: a derived event comes right after the event that completed it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from ensue.analysis.derived import END_TIME, MATCH_ID, Level
from ensue.engine.derived_times import lag_behind, scale_of
from ensue.engine.execution import Execution, QueryInstance
from ensue.engine.places import LATER, NOTHING, Events, merged, of_streams, padded
from ensue.errors import BudgetError
from ensue.operators.operator import NO_OUTPUT, Operator, OperatorOutput, StoppedError
from ensue.operators.widening import carry_over, deferred_by
from ensue.results.chunk import ResultChunk
from ensue.results.derived_events import derived_events, nested
from ensue.results.match_set import TooManyError
from ensue.results.tables import typed_times
from ensue.state.container import below, part
from ensue.stream.batch import EventBatch, repeated
from ensue.stream.time_scale import TimeScale


@dataclass(slots=True)
class LevelExecution:
    """One level: its query on the streams that it reads."""

    level: Level
    instance: QueryInstance
    numbered: bool = False
    """Whether it counts the positions of its events itself: it does not read the whole input."""
    lag: int | None = 0
    """How far the times of its events are behind those of the input; None: that is not known."""
    execution: Execution = field(default_factory=Execution)
    next_position: int = 0

    def __post_init__(self) -> None:
        self.execution.add(self.level.name, self.instance)

    @property
    def operator(self) -> Operator:
        return self.instance.operator

    def run(self, events: Events, now: int | None, finishes: bool) -> list[ResultChunk]:
        """Read what a step brings, let time pass, and return what that completes."""
        name = self.level.name
        found = self.execution.push(events.batch)[name]
        self.next_position = events.batch.first + len(events.batch.times)
        if self.execution.stopped is not None:
            assert self.instance.behind is not None
            raise StoppedError(self.execution.stopped, NO_OUTPUT, self.instance.behind)
        if now is not None and self.lag is not None:
            found += self.execution.advance(now - self.lag)[name]
        return [*found, *self.execution.finish()[name]] if finishes else found

    def save(self) -> dict[str, Any]:
        """Save the state of the query, and its events."""
        return {"next": self.next_position, **self.execution.save()}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on from what was saved; ValueError where another operator saved it."""
        if saved["0/way"] != self.operator.tag:
            raise ValueError("it was evaluated by an operator that there is no longer")
        self.next_position = saved["next"]
        self.execution.load(saved, self.next_position, self.level.bound.clock.column)


@dataclass(frozen=True, slots=True)
class Step:
    """What comes at once: events, time, the end."""

    stream: EventBatch
    now: int | None
    waits: bool
    finishes: bool


_EVENTS_REPLAYED = 1 << 14
"""So many events, at least, are kept to be read again before a state is noted."""

_EVENTS_A_STEP = 16
"""A step takes as much as so many events, however few it has."""


@dataclass(slots=True)
class DerivedOperator:
    """The state of a query with derived streams."""

    tag: ClassVar[str] = "derived"
    open_levels: Callable[[], Sequence[LevelExecution]]
    """Opens all levels, as they are before the first event."""
    given: Sequence[str]
    """The streams of the input."""
    type_column: str = "type"
    """The column of the input that holds the types of events."""
    levels: Sequence[LevelExecution] = field(init=False)
    watch: Callable[[str, EventBatch, np.ndarray], None] | None = None
    """Told what each level reads, with the positions of the events of the input that brought it."""
    _begun: bool = False
    """Whether any events have come."""
    _begins: int | None = None
    _saved: dict[str, Any] | None = None
    """A state to go back to when a budget runs out; None: that before the first event."""
    _since: list[Step] = field(default_factory=list)
    """What has come since then."""
    _left: int = _EVENTS_REPLAYED
    """How many events may come before the next state is noted."""

    def __post_init__(self) -> None:
        self._open()

    def _open(self) -> None:
        self.levels = self.open_levels()
        by_name = {each.level.name: each for each in self.levels}
        for each in self.levels:
            level = each.level
            each.numbered = bool(level.derived) or set(level.given) != set(self.given)
            if not level.given and len(level.derived) == 1:
                source = by_name[level.derived[0]]
                each.lag = lag_behind(source.level, source.lag)

    def begin_at(self, position: int) -> None:
        """See the event at a position as the first of the stream."""
        self._begins = position
        for each in self.levels:
            if not each.numbered:
                each.operator.begin_at(position)

    def check(self, stream: EventBatch) -> None:
        """Raise UnsupportedError for values that a level on the input could not take."""
        for each in self.levels:
            if not each.numbered:
                each.operator.check(stream)

    # events

    def push(self, stream: EventBatch) -> OperatorOutput:
        """Read a batch of the input and return what the query itself completes."""
        now = int(stream.times[-1]) if len(stream.times) else None
        return self._step(stream, now)

    def advance(self, time: int) -> OperatorOutput:
        """Advance time on all levels."""
        return self._step(None, time, waits=False)

    def finish(self) -> OperatorOutput:
        """Signal the end of input to all levels, one after the other."""
        return self._step(None, None, finishes=True)

    def _step(
        self,
        stream: EventBatch | None,
        now: int | None,
        *,
        waits: bool = True,
        finishes: bool = False,
    ) -> OperatorOutput:
        """Let all levels read what the input brings, one after the other, and let time pass.

        Events tell a level that reads the input itself how late it is, unless `waits` is False.
        """
        if stream is None:
            if not self._begun:
                return NO_OUTPUT
            # No events, with the columns of the input.
            stream = self.levels[0].execution.store.newest.slice(0, 0)
        self._begun = True
        step = Step(stream, now, waits, finishes)
        try:
            chunks = self._pass(step)
        except StoppedError as stopped:
            # Levels before the one that stopped have read more: go back, and read less.
            output, read = self._pass_less(step, stopped.position - stream.first)
            raise StoppedError(stopped, output, stream.first + read) from stopped
        self._note(step)
        return _output(chunks)

    def _pass(self, step: Step) -> list[ResultChunk]:
        """Let all levels take a step, and return what the last one completes.

        Where a budget runs out on some level, StoppedError tells the event of the input that
        brought what was too much.
        """
        stream = step.stream
        made: dict[str, Events] = {}
        chunks: list[ResultChunk] = []
        for number, each in enumerate(self.levels):
            events = self._events(each, stream, made)
            if self.watch is not None:
                self.watch(each.level.name, events.batch, events.places[:, 0] + stream.first)
            time = None if step.waits and each.level.given else step.now
            try:
                chunks = each.run(events, time, step.finishes)
                if each.level.name:
                    made[each.level.name] = _derived(each, number, chunks, events, stream)
            except BudgetError as error:
                row = 0
                if isinstance(error, StoppedError | TooManyError):
                    place = error.position - events.batch.first
                    row = int(events.places[place, 0]) if 0 <= place < len(events.places) else 0
                raise StoppedError(error, NO_OUTPUT, stream.first + max(row, 0)) from error
        return chunks

    def _pass_less(self, step: Step, read: int) -> tuple[OperatorOutput, int]:
        """Go back to before a step and read some of its events; return how many it could be."""
        nulls = self.levels[-1].instance.tally.nulls
        self._go_back()
        output = NO_OUTPUT
        if read:
            some = step.stream.slice(0, read)
            less = replace(step, stream=some, now=int(some.times[-1]), finishes=False)
            try:
                output = _output(self._pass(less))
                self._note(less)
            except StoppedError:
                read = 0
                self._go_back()
        self.levels[-1].instance.tally.nulls = nulls
        return output, read

    def _go_back(self) -> None:
        """Be as before the last step."""
        self._open()
        if self._saved is not None:
            self._load(self._saved)
        elif self._begins is not None:
            self.begin_at(self._begins)
        for step in self._since:
            self._pass(step)

    def _note(self, step: Step) -> None:
        """Remember a step until a state is noted, which is done in proportion to its size."""
        self._since.append(step)
        self._left -= max(len(step.stream.times), _EVENTS_A_STEP)
        if self._left <= 0:
            self._mark()

    def _mark(self) -> None:
        """Note the state that all levels are in."""
        # Arrays that are saved may be changed by what comes.
        self._saved = {
            name: each.copy() if isinstance(each, np.ndarray) else each
            for name, each in self.save().items()
        }
        sizes = (len(each) for each in self._saved.values() if isinstance(each, np.ndarray | list))
        self._since, self._left = [], max(_EVENTS_REPLAYED, *sizes)

    def _events(
        self, each: LevelExecution, stream: EventBatch, made: Mapping[str, Events]
    ) -> Events:
        """Return what a level reads, in order."""
        level, parts = each.level, list[Events]()
        if level.given:
            own = of_streams(stream, level.given) if each.numbered else np.arange(len(stream.times))
            batch = stream if len(own) == len(stream.times) else stream.take(own)
            if not each.numbered:
                return Events(batch, own[:, None], batch.times)
            if len(level.given) == 1 and level.derived and batch.streams is None:
                names = repeated(level.given[0], len(own))
                batch = replace(batch, streams=pa.chunked_array([names]))
            parts.append(Events(batch, own[:, None], batch.times))
        derived = [made[name] for name in level.derived]
        if len(level.given) + len(derived) > 1:
            # Beside other streams, an event is there when it is known.
            derived = [
                every._replace(batch=replace(every.batch, times=every.known)) for every in derived
            ]
        if level.given:
            derived = [self._alike(every, stream) for every in derived]
        return merged([*parts, *derived], each.next_position)

    def _alike(self, events: Events, stream: EventBatch) -> Events:
        """Give derived events the columns of the input that hold types and times."""
        batch, columns = events.batch, dict[tuple[str, ...], Any]()
        if self.type_column in stream.table.column_names:
            columns[self.type_column,] = batch.types.cast(pa.string())
        if stream.time_path is not None:
            kind = batch.table.column(END_TIME).type
            columns[stream.time_path] = typed_times(events.known, kind)
        table = batch.table
        for name, values in nested(columns).items():
            if name not in table.column_names:
                table = table.append_column(name, values)
        batch = replace(
            batch, table=table, time_path=stream.time_path, tiebreak_path=stream.tiebreak_path
        )
        return events._replace(batch=batch)

    @property
    def columns(self) -> pa.Schema:
        """The columns of the events that the query itself reads, once some have come."""
        return self.levels[-1].execution.store.newest.table.schema

    # state

    def first_needed(self, next_position: int) -> int:
        """Return the next position: each level keeps the events that it needs."""
        return next_position

    def needed(self) -> np.ndarray:
        """Return no position: each level keeps the events that it needs."""
        return np.zeros(0, np.int64)

    @property
    def live(self) -> tuple[int, int]:
        """How many nodes and bytes all levels keep, their events included."""
        every = [each.operator.live for each in self.levels]
        stores = sum(each.execution.store.nbytes for each in self.levels)
        return sum(nodes for nodes, _ in every), stores + sum(size for _, size in every)

    def save(self) -> dict[str, Any]:
        """Save all levels."""
        saved: dict[str, Any] = {}
        for number, each in enumerate(self.levels):
            saved |= below(f"level {number}", each.save())
        return saved

    def load(self, saved: Mapping[str, Any], _: EventBatch) -> None:
        """Go on from what was saved."""
        self._begun = True
        self._load(saved)
        self._mark()

    def _load(self, saved: Mapping[str, Any]) -> None:
        for number, each in enumerate(self.levels):
            each.load(part(saved, f"level {number}"))

    @property
    def deferred(self) -> frozenset[str]:
        """The texts of conditions that some level decides on listing."""
        return frozenset().union(*(deferred_by(each.operator) for each in self.levels))

    def take_over(self, old: DerivedOperator, scale: TimeScale | None = None) -> None:
        """Go on from the state of an operator that was bound to other types of columns."""
        self._begun = old._begun
        for mine, theirs in zip(self.levels, old.levels, strict=True):
            store = theirs.execution.store
            own = scale and scale_of(theirs.level, mine.level, scale)
            store = store.rescaled(own) if own else store
            carry_over(theirs.operator, mine.operator, store.view()(), own)
            mine.execution.store = store
            mine.execution.next_position = theirs.execution.next_position
            mine.next_position = theirs.next_position
        if self._begun:
            self._mark()


def _output(chunks: Sequence[ResultChunk]) -> OperatorOutput:
    """Return what the last level completed, with its own events."""
    first, *rest = [chunk for chunk in chunks if chunk] or chunks[:1]
    more = _output(rest) if rest else None
    return OperatorOutput(first.matches, first.totals, first.deadlines, first.events, more)


def _derived(
    level: LevelExecution,
    number: int,
    chunks: list[ResultChunk],
    events: Events,
    stream: EventBatch,
) -> Events:
    """Return matches as events of their stream.

    What an event completes comes right after it. What time decides, because nothing has followed,
    comes after the last event of the input that is not later than the deadline.
    """
    found, name = derived_events(chunks), level.level.name
    count = len(found.times)
    absence = level.level.bound.not_followed
    if absence is None:
        rows = found.end - events.batch.first
        parents, known = events.places[rows], events.known[rows]
    else:
        deadlines = found.deadlines
        if deadlines is None:
            # Rows of count(*) have none; nothing reads those with one in EVENTS beside others.
            size = 0 if absence.window.kind == "events" else absence.window.size
            deadlines = found.times + size
        known = deadlines + (level.lag or 0)
        rows = np.searchsorted(stream.times, known, "right") - 1
        parents = np.column_stack([rows, np.full(count, LATER), known])
    places = padded(parents, parents.shape[1] + 2)
    every, lengths = np.arange(count), (parents != NOTHING).sum(axis=1)
    places[every, lengths], places[every, lengths + 1] = number, every
    names = pa.chunked_array([repeated(name, count)])
    tiebreak = (MATCH_ID,) if level.level.bound.totals is None else None
    batch = EventBatch(found.table, names, names, found.times, (END_TIME,), tiebreak, 0)
    return Events(batch, places, known)
