"""Many queries on one stream, in one pass.

Queries that read the same columns in the same order share a lane: events are read, put in order
and kept once for all of them, and each distinct predicate is evaluated once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime
from typing import Any, Literal

import pyarrow as pa

from ensue.analysis.context import Clock
from ensue.engine import snapshot
from ensue.engine.feed import shown_time
from ensue.engine.intake import Aside
from ensue.engine.lane import Lane, Manner, Member, Prepared
from ensue.engine.match import Account, Matches
from ensue.engine.piece import Piece
from ensue.engine.query import Query, compile
from ensue.engine.stream import Options, declared_columns, read_once
from ensue.engine.times import time_in_units
from ensue.errors import BudgetError, EventError
from ensue.predicates.vectors import UnsupportedError

OnError = Literal["raise", "aside"]

KEPT = 10_000
"""So many late events, and events put aside, are kept: the last ones."""


class Sessions:
    """Many queries on a live stream: a push returns {name: matches}.

    Each query finds what it would find alone. Queries can be added, replaced and removed between
    pushes; one that is added sees the events that are released from then on.
    """

    def __init__(
        self,
        queries: Mapping[str, Query],
        options: Options,
        manner: Manner,
        on_error: OnError = "raise",
    ) -> None:
        if on_error not in ("raise", "aside"):
            raise ValueError(f"on_error must be 'raise' or 'aside', not {on_error!r}")
        self._options, self._manner = options, manner
        self._on_error = on_error
        self._lanes: dict[str, Lane] = {}
        self._lane_of: dict[str, Lane] = {}
        self._counts: dict[str, int] = {}
        self._late = self._aside = 0
        self._late_tables: deque[pa.Table] = deque()
        self._aside_rows: deque[Aside] = deque(maxlen=KEPT)
        self._finished = self._stopped = False
        for name, query in queries.items():
            self.add(name, query)

    # queries

    @property
    def lanes(self) -> list[Lane]:
        """The queries by what they share."""
        return list(self._lanes.values())

    @property
    def queries(self) -> dict[str, Query]:
        """The queries, by name."""
        return {name: lane.queries[name] for name, lane in self._lane_of.items()}

    def add(self, name: str, query: Query | str) -> None:
        """Let one more query read the stream, from the next event that is released."""
        if name in self._lane_of:
            raise ValueError(f"there is a query named '{name}' already; replace() it")
        ready = compile(query, name=name) if isinstance(query, str) else query
        key = _lane_key(ready)
        lane = self._lanes.get(key)
        if lane is None:
            lane = Lane({name: ready}, self._options, self._manner, self._on_error == "aside")
            self._lanes[key] = lane
        else:
            lane.add(name, ready)
        self._lane_of[name] = lane
        self._counts[name] = 0
        for each in self._lanes.values():
            each.careful = len(self._lanes) > 1

    def replace(self, name: str, query: Query | str) -> None:
        """Put a query in the place of another, whose partial matches are forgotten."""
        ready = compile(query, name=name) if isinstance(query, str) else query
        self.remove(name)
        self.add(name, ready)

    def remove(self, name: str) -> None:
        """Let a query go."""
        if name not in self._lane_of:
            known = ", ".join(self._lane_of) or "none"
            raise KeyError(f"there is no query named '{name}'; the queries are {known}")
        lane = self._lane_of.pop(name)
        del self._counts[name]
        lane.remove(name)
        if not lane.queries:
            self._lanes = {key: each for key, each in self._lanes.items() if each is not lane}

    # events

    def push(self, events: object, *, first_row: int = 0) -> dict[str, Matches]:
        """Read more events and return the matches that they complete, by query.

        Args:
            events: what `query.run` takes, a single event as a dict, or {stream: events} for
                some of the streams of FROM. Either all of it is read, or an EventError says what
                is wrong with it and the session is as it was before.
            first_row: the number by which errors call the first of these events.
        """
        self._refuse_if_finished()
        lanes = self.lanes
        if len(lanes) > 1:
            events = read_once(events)
        try:
            prepared = [lane.prepare(events, first_row) for lane in lanes]
            found: dict[str, Matches] = {}
            with self._within_budget():
                for lane, each in zip(lanes, prepared, strict=True):
                    before = lane.released
                    pieces = lane.apply(each)
                    found |= self._matched(lane, each, pieces, before)
        except UnsupportedError as error:
            raise EventError(
                f"a condition compares values that a stream cannot keep ({error}); "
                "on_error='aside' puts such events aside"
            ) from error
        self._note(prepared)
        return self._in_order(found)

    def advance(self, time: int | datetime | date) -> dict[str, Matches]:
        """Know that time has come so far without events, and return what that completes.

        It is as if an event of this time had come that no query looks at: events may still be
        late by the lateness bound, and what waited for that long is released. A time that is past
        changes nothing.
        """
        self._refuse_if_finished()
        found: dict[str, Matches] = {}
        for lane in self._lanes.values():
            if lane.feed is not None and lane.feed.time_path is None:
                raise EventError(
                    "advance() needs a time column: pass time= when opening the session"
                )
        for lane in self._lanes.values():
            if lane.feed is None:
                found |= self._nothing(lane)
                continue
            before = lane.released
            reached = time_in_units(time, lane.feed.kind, lane.options.time_unit)
            with self._within_budget():
                found |= self._matched(lane, None, lane.advance(reached), before)
        return self._in_order(found)

    def finish(self) -> dict[str, Matches]:
        """Know that this was all, and return what that completes; nothing can be pushed then."""
        self._refuse_if_finished()
        found: dict[str, Matches] = {}
        for lane in self._lanes.values():
            if lane.feed is None:
                found |= self._nothing(lane)
            else:
                before = lane.released
                with self._within_budget():
                    found |= self._matched(lane, None, lane.finish(), before)
        self._finished = True
        return self._in_order(found)

    def _refuse_if_finished(self) -> None:
        if self._finished:
            raise EventError("this session is finished; open another one")
        self._refuse_if_stopped()

    def _refuse_if_stopped(self) -> None:
        if self._stopped:
            raise BudgetError(
                "this session stopped at its budget, within a push; resume its last snapshot "
                "with a larger budget and push again what came after it"
            )

    @contextmanager
    def _within_budget(self) -> Iterator[None]:
        """Stop for good where a budget runs out: a push would be half read."""
        try:
            yield
        except BudgetError:
            self._stopped = True
            raise

    def _nothing(self, lane: Lane) -> dict[str, Matches]:
        """Return no matches of a lane that has not had any events."""
        prepared = lane.prepare([])
        return self._matched(lane, prepared, lane.apply(prepared), 0)

    def _in_order(self, found: Mapping[str, Matches]) -> dict[str, Matches]:
        return {name: found[name] for name in self._lane_of}

    def _matched(
        self,
        lane: Lane,
        prepared: Prepared | None,
        pieces: Mapping[str, Iterable[Piece]],
        before: int,
    ) -> dict[str, Matches]:
        """Hand out what a step completed."""
        members: Mapping[str, Member] = lane.members if prepared is None else prepared.members
        found = {}
        for name, member in members.items():
            account = Account(member.tally, lane.released - before)
            if prepared is not None:
                account.add(prepared.late, prepared.aside)
            matches = Matches(member.shape, iter(pieces[name]), account, live=False)
            self._counts[name] += matches.count
            found[name] = matches
        return found

    def _note(self, prepared: list[Prepared]) -> None:
        """Write down what does not take part; lanes on one clock agree on it."""
        by_clock = {each.feed.time_path: each for each in reversed(prepared)}
        for each in by_clock.values():
            if each.late.num_rows:
                self._late += each.late.num_rows
                self._late_tables.append(each.late)
                kept = sum(table.num_rows for table in self._late_tables)
                while kept - self._late_tables[0].num_rows >= KEPT:
                    kept -= self._late_tables.popleft().num_rows
            if each.aside:
                self._aside += len(each.aside)
                self._aside_rows.extend(each.aside)

    # what there is to know

    @property
    def late(self) -> pa.Table:
        """The last 10,000 events that came too late; `matches.late` has those of one push."""
        if not self._late_tables:
            known = [lane.intake.fields for lane in self._lanes.values()]
            fields = known[0] if known else {}
            return pa.schema(list(fields.items())).empty_table()
        every = pa.concat_tables(list(self._late_tables), promote_options="permissive")
        return every.slice(max(every.num_rows - KEPT, 0))

    @property
    def aside(self) -> list[Aside]:
        """The last 10,000 events that could not be read, each with the reason."""
        return list(self._aside_rows)

    @property
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
            "matches": sum(self._counts.values()),
            "late": self._late,
            "aside": self._aside,
            "waiting": max((feed.waiting for feed in feeds), default=0),
            "watermark": watermark.as_py() if isinstance(watermark, pa.Scalar) else watermark,
            "nodes": sum(nodes for nodes, _ in live),
            "bytes": sum(size for _, size in live) + sum(lane.store.nbytes for lane in lanes),
            "rows": sum(lane.store.rows for lane in lanes),
            "nulls": sum(tally.nulls for tally in tallies),
            "queries": dict(self._counts),
        }

    # snapshots

    def snapshot(self) -> bytes:
        """Return the state of the session as bytes, from which `resume` goes on.

        What was late or put aside is counted in it; the events themselves are not part of it.
        """
        self._refuse_if_stopped()
        header = {
            "options": snapshot.describe_options(self._options),
            "manner": snapshot.describe_manner(self._manner),
            "on_error": self._on_error,
            "queries": {name: snapshot.describe(query) for name, query in self.queries.items()},
            "counts": dict(self._counts),
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
        on_error: OnError | None = None,
        **budgets: int | None,
    ) -> Sessions:
        """Go on from a snapshot of these very queries."""
        sections = snapshot.read(block)
        header = sections["header"]
        snapshot.refuse_others(queries, header["queries"])
        session = cls(
            {},
            snapshot.options_of(header["options"]),
            snapshot.manner_of(header["manner"], budgets),
            on_error or header["on_error"],
        )
        # Queries are added in the order of their lanes, as they were written.
        for names in header["lanes"]:
            for name in names:
                session.add(name, queries[name])
        if tuple(tuple(lane.queries) for lane in session._lanes.values()) != header["lanes"]:
            raise snapshot.damaged("its queries are not those of its lanes")
        for number, lane in enumerate(session._lanes.values()):
            snapshot.restore(lane, sections, number)
        session._lane_of = {name: session._lane_of[name] for name in header["queries"]}
        session._counts = dict(header["counts"])
        session._late, session._aside = header["late"], header["aside"]
        session._finished = header["finished"]
        return session


def _lane_key(query: Query) -> str:
    """Name what queries must have in common to share a lane."""
    sources = [word.text for word in query.tree.sources]
    clock = query.bind(query.schema, Clock()).clock.column
    columns = sorted((name, str(kind)) for name, kind in declared_columns(query.schema).items())
    return repr((sources, clock, columns))
