"""Many queries on one stream, in one pass.

Queries that read the same columns in the same order share a lane: events are read, put in order
and kept once for all of them, and each distinct predicate is evaluated once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, Self

import pyarrow as pa

from ensue.analysis.context import Clock
from ensue.engine import snapshot
from ensue.engine.lock import OperationLock, exclusive
from ensue.engine.pipeline import ExecutionMode, Pipeline, PreparedPush, QueryInstance
from ensue.engine.query import Query, compile
from ensue.engine.unseen import warn_of
from ensue.errors import EventError
from ensue.io.rejected import Rejected
from ensue.options import OnError, ReadOptions, with_settings
from ensue.predicates.vectors import UnsupportedError
from ensue.results.chunk import ResultChunks
from ensue.results.match_count import MatchCount
from ensue.results.matches import InputSummary, Matches
from ensue.stream.batch import declared_columns, read_once
from ensue.stream.reorder import ReorderBuffer, shown_time
from ensue.stream.times import time_in_units

KEPT = 10_000
"""So many late events, and events put aside, are kept: the last ones."""


class Sessions:
    """Many queries on a live stream: a push returns {name: matches}.

    Each query finds what it would find alone. Queries can be added, replaced and removed between
    pushes; one that is added sees the events that are released from then on. Any thread may call
    any method: one call after the other has its turn.
    """

    def __init__(
        self,
        queries: Mapping[str, Query],
        options: ReadOptions,
        manner: ExecutionMode,
        on_error: OnError = "raise",
    ) -> None:
        self._turn = OperationLock()
        self._options, self._manner = options, manner
        self._on_error = on_error
        self._lanes: dict[str, Pipeline] = {}
        self._lane_of: dict[str, Pipeline] = {}
        self._counts: dict[str, MatchCount] = {}
        self._late = self._aside = 0
        self._late_tables: deque[pa.Table] = deque()
        self._aside_rows: deque[Rejected] = deque(maxlen=KEPT)
        self._finished = self._closed = False
        for name, query in queries.items():
            self._add(name, query)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @exclusive
    def close(self) -> None:
        """Take no more events; what the session knows can still be read.

        It does not finish the stream: where the end of it is to complete matches, call `finish`.
        """
        self._closed = True

    # queries

    @property
    def lanes(self) -> list[Pipeline]:
        """The queries by what they share."""
        return list(self._lanes.values())

    @property
    @exclusive
    def queries(self) -> dict[str, Query]:
        """The queries, by name."""
        return self._queries()

    def _queries(self) -> dict[str, Query]:
        return {name: lane.queries[name] for name, lane in self._lane_of.items()}

    @exclusive
    def add(self, name: str, query: Query | str) -> None:
        """Let one more query read the stream, from the next event that is released."""
        self._add(name, query)

    def _add(self, name: str, query: Query | str) -> None:
        if name in self._lane_of:
            raise ValueError(f"there is a query named '{name}' already; replace() it")
        ready = compile(query, name=name) if isinstance(query, str) else query
        options = with_settings(self._options, ready.settings)
        key = _lane_key(ready, options)
        lane = self._lanes.get(key)
        if lane is None:
            lane = Pipeline({name: ready}, options, self._manner, self._on_error != "raise")
            self._lanes[key] = lane
        else:
            lane.add(name, ready)
        self._lane_of[name] = lane
        self._counts[name] = MatchCount()
        for each in self._lanes.values():
            each.careful = len(self._lanes) > 1

    @exclusive
    def replace(self, name: str, query: Query | str) -> None:
        """Put a query in the place of another, whose partial matches are forgotten."""
        ready = compile(query, name=name) if isinstance(query, str) else query
        self._remove(name)
        self._add(name, ready)

    @exclusive
    def remove(self, name: str) -> None:
        """Let a query go."""
        self._remove(name)

    def _remove(self, name: str) -> None:
        if name not in self._lane_of:
            known = ", ".join(self._lane_of) or "none"
            raise KeyError(f"there is no query named '{name}'; the queries are {known}")
        lane = self._lane_of.pop(name)
        del self._counts[name]
        lane.remove(name)
        if not lane.queries:
            self._lanes = {key: each for key, each in self._lanes.items() if each is not lane}

    # events

    @exclusive
    def push(self, events: object, *, first_row: int = 0) -> dict[str, Matches]:
        """Read more events and return the matches that they complete, by query.

        Args:
            events: what `query.run` takes, a single event as a dict, or {stream: events} for
                some of the streams of FROM. Either all of it is read, or an EventError says what
                is wrong with it and the session is as it was before. Where a budget runs out,
                the BudgetError has what was found by then in its `matches`; the events that the
                query has not read are kept, and are read once it has a larger budget.
            first_row: the number by which errors call the first of these events.
        """
        self._refuse_if_over()
        lanes = self.lanes
        if len(lanes) > 1:
            events = read_once(events)
        try:
            prepared = [lane.prepare(events, first_row) for lane in lanes]
            caught = self._catch_up()
            found: dict[str, Matches] = {}
            for lane, each in zip(lanes, prepared, strict=True):
                before = lane.released
                pieces = lane.apply(each)
                found |= self._matched(lane, each, caught, pieces, before)
        except UnsupportedError as error:
            raise EventError(
                f"a condition compares values that a stream cannot keep ({error}); "
                "on_error='collect' keeps such events apart"
            ) from error
        self._note(prepared)
        return self._whole(found)

    @exclusive
    def advance(self, time: int | datetime | date) -> dict[str, Matches]:
        """Know that time has come so far without events, and return what that completes.

        It is as if an event of this time had come that no query looks at: events may still be
        late by the lateness bound, and what waited for that long is released. A time that is past
        changes nothing.
        """
        self._refuse_if_over()
        for lane in self._lanes.values():
            if lane.feed is not None and lane.feed.time_path is None:
                raise EventError(
                    "advance() needs a time column: pass time= when opening the session"
                )

        def advance(lane: Pipeline, feed: ReorderBuffer) -> ResultChunks:
            return lane.advance(time_in_units(time, feed.kind, lane.options.time_unit))

        return self._without_events(advance)

    @exclusive
    def finish(self) -> dict[str, Matches]:
        """Know that this was all, and return what that completes; nothing can be pushed then."""
        self._refuse_if_over()
        found = self._without_events(lambda lane, _: lane.finish())
        self._finished = True
        warn_of(each for lane in self._lanes.values() for each in lane.silences())
        return found

    def _without_events(
        self, step: Callable[[Pipeline, ReorderBuffer], ResultChunks]
    ) -> dict[str, Matches]:
        """Take a step in all lanes that have had events."""
        caught = self._catch_up()
        found: dict[str, Matches] = {}
        for lane in self._lanes.values():
            before = lane.released
            if lane.feed is None:
                found |= self._nothing(lane, caught)
            else:
                found |= self._matched(lane, None, caught, step(lane, lane.feed), before)
        return self._whole(found)

    def _refuse_if_over(self) -> None:
        if self._finished:
            raise EventError("this session is finished; open another one")
        if self._closed:
            raise EventError("this session is closed; open another one, or resume a snapshot")

    def _catch_up(self) -> ResultChunks:
        """Let queries read what they have not read yet because a budget ran out."""
        lanes = [lane for lane in self._lanes.values() if lane.is_behind]
        pieces: ResultChunks = {}
        for lane in lanes:
            pieces |= lane.catch_up()
        if any(lane.stopped is not None for lane in lanes):
            found: dict[str, Matches] = {}
            for lane in self._lanes.values():
                if lane in lanes:
                    found |= self._matched(lane, None, pieces, {}, lane.released)
                else:
                    found |= self._nothing(lane, {})
            self._whole(found)
        return pieces

    def _nothing(self, lane: Pipeline, caught: ResultChunks) -> dict[str, Matches]:
        """Return no matches but those that a lane has caught up on."""
        prepared = lane.prepare([])
        return self._matched(lane, prepared, caught, lane.apply(prepared), lane.released)

    def _whole(self, found: Mapping[str, Matches]) -> dict[str, Matches]:
        """Return what was found, or raise it where a query has not read everything."""
        in_order = {name: found[name] for name in self._lane_of}
        for lane in self._lanes.values():
            if lane.stopped is not None:
                lane.stopped.matches = in_order
                raise lane.stopped
        return in_order

    def _matched(
        self,
        lane: Pipeline,
        prepared: PreparedPush | None,
        caught: ResultChunks,
        pieces: ResultChunks,
        before: int,
    ) -> dict[str, Matches]:
        """Hand out what a step completed."""
        members: Mapping[str, QueryInstance] = (
            lane.members if prepared is None else prepared.members
        )
        found = {}
        for name, member in members.items():
            account = InputSummary(member.tally, lane.released - before)
            if prepared is not None:
                account.add(prepared.late, prepared.aside)
            every = [*caught.get(name, ()), *pieces.get(name, ())]
            self._counts[name].add(every)
            found[name] = Matches(member.shape, iter(every), account, live=False)
        return found

    def _note(self, prepared: list[PreparedPush]) -> None:
        """Write down what does not take part; lanes on one clock agree on it."""
        by_clock = {each.feed.time_path: each for each in reversed(prepared)}
        for each in by_clock.values():
            if each.late is not None:
                self._late += each.late.num_rows
                self._late_tables.append(each.late)
                kept = sum(table.num_rows for table in self._late_tables)
                while kept - self._late_tables[0].num_rows >= KEPT:
                    kept -= self._late_tables.popleft().num_rows
            if each.aside:
                self._aside += len(each.aside)
                self._aside_rows.extend(each.aside)

    # what there is to know

    def __repr__(self) -> str:
        return f"Sessions({', '.join(self._lane_of) or 'no queries'}; {self.state})"

    @property
    def state(self) -> str:
        """How far the stream was read, in words; nothing is counted for it."""
        lanes = self.lanes
        events = max((lane.released for lane in lanes), default=0)
        feeds = [lane.feed for lane in lanes if lane.feed is not None]
        waiting = max((feed.waiting for feed in feeds), default=0)
        said = f"{events:,} event{'' if events == 1 else 's'} read"
        said += f", {waiting:,} waiting" if waiting else ""
        return said + (", finished" if self._finished else "")

    @property
    @exclusive
    def late(self) -> pa.Table:
        """The last 10,000 events that came too late; `matches.late` has those of one push."""
        if not self._late_tables:
            known = [lane.intake.fields for lane in self._lanes.values()]
            fields = known[0] if known else {}
            return pa.schema(list(fields.items())).empty_table()
        every = pa.concat_tables(list(self._late_tables), promote_options="permissive")
        return every.slice(max(every.num_rows - KEPT, 0))

    @property
    @exclusive
    def rejected(self) -> list[Rejected]:
        """The last 10,000 events that could not be read or take part, each with the reason."""
        return list(self._aside_rows)

    @property
    def aside(self) -> list[Rejected]:
        """The same as `rejected`, under the name that it had before."""
        return self.rejected

    @property
    @exclusive
    def stats(self) -> dict[str, Any]:
        """What the session has seen and what it keeps.

        `events` have got a position, `waiting` ones have not yet; no event before `watermark` can
        take part any more; `nodes` and `bytes` are what is kept for partial matches, `rows` the
        events that they may need; `nulls` counts values that arithmetic did not have; `queries`
        has the matches of each.
        """
        lanes = self.lanes
        members = [member for lane in lanes for member in lane.members.values()]
        live = [member.recogniser.live for member in members]
        tallies = [*(each.tally for each in members), *(lane.tally for lane in lanes)]
        feeds = [lane.feed for lane in lanes if lane.feed is not None]
        watermark: Any = None
        for feed in feeds:
            if watermark is None and feed.time_path is not None and feed.watermark is not None:
                watermark = shown_time(feed.watermark, feed.kind)
        return {
            "events": max((lane.released for lane in lanes), default=0),
            "matches": sum(each.total for each in self._counts.values()),
            "late": self._late,
            "rejected": self._aside,
            "aside": self._aside,
            "waiting": max((feed.waiting for feed in feeds), default=0),
            "watermark": watermark.as_py() if isinstance(watermark, pa.Scalar) else watermark,
            "nodes": sum(nodes for nodes, _ in live),
            "bytes": sum(size for _, size in live) + sum(lane.store.nbytes for lane in lanes),
            "rows": sum(lane.store.rows for lane in lanes),
            "nulls": sum(tally.nulls for tally in tallies),
            "queries": {name: each.total for name, each in self._counts.items()},
        }

    # snapshots

    @exclusive
    def snapshot(self) -> bytes:
        """Return the state of the session as bytes, from which `resume` goes on.

        What was late or put aside is counted in it; the events themselves are not part of it.
        """
        header = {
            "options": snapshot.describe_options(self._options),
            "manner": snapshot.describe_manner(self._manner),
            "on_error": self._on_error,
            "queries": {name: snapshot.describe(query) for name, query in self._queries().items()},
            "counts": {name: each.total for name, each in self._counts.items()},
            "late": self._late,
            "aside": self._aside,
            "finished": self._finished,
            "lanes": tuple(tuple(lane.queries) for lane in self._lanes.values()),
        }
        return snapshot.write(header, self.lanes)

    @classmethod
    def resume(
        cls,
        queries: Mapping[str, Query],
        block: bytes,
        on_error: OnError | None,
        limits: Mapping[str, int],
    ) -> Sessions:
        """Go on from a snapshot of these very queries."""
        sections = snapshot.read(block)
        header = sections["header"]
        snapshot.refuse_others(queries, header["queries"])
        session = cls(
            {},
            snapshot.options_of(header["options"]),
            snapshot.manner_of(header["manner"], limits),
            on_error or header["on_error"],
        )
        # Queries are added in the order of their lanes, as they were written.
        for names in header["lanes"]:
            for name in names:
                session._add(name, queries[name])
        if tuple(tuple(lane.queries) for lane in session._lanes.values()) != header["lanes"]:
            raise snapshot.damaged("its queries are not those of its lanes")
        for number, lane in enumerate(session._lanes.values()):
            snapshot.restore(lane, sections, number)
        session._lane_of = {name: session._lane_of[name] for name in header["queries"]}
        session._counts = {name: MatchCount(known) for name, known in header["counts"].items()}
        session._late, session._aside = header["late"], header["aside"]
        session._finished = header["finished"]
        return session


def _lane_key(query: Query, options: ReadOptions) -> str:
    """Name what queries must have in common to share a lane."""
    sources = [word.text for word in query.tree.sources]
    clock = query.bind(query.schema, Clock()).clock.column
    columns = sorted((name, str(kind)) for name, kind in declared_columns(query.schema).items())
    return repr((sources, clock, columns, options))
