"""Sessions: a query on a live stream, pushed bit by bit."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any, Literal

import pyarrow as pa

from ensue.engine import snapshot
from ensue.engine.feed import shown_time
from ensue.engine.intake import Aside
from ensue.engine.lane import Lane, Manner, Prepared
from ensue.engine.match import Account, Matches
from ensue.engine.piece import Piece
from ensue.engine.query import Query
from ensue.engine.stream import Options
from ensue.engine.times import time_in_units
from ensue.errors import EventError
from ensue.predicates.vectors import UnsupportedError

OnError = Literal["raise", "aside"]

KEPT = 10_000
"""So many late events, and events put aside, are kept: the last ones."""

_NAME = ""


class Session:
    """A query on a live stream: what it found comes back from each push.

    The results do not depend on how the stream is cut into pushes. The session keeps the rows
    that partial matches may still need and no others; matches own what they need.
    """

    def __init__(
        self, query: Query, options: Options, manner: Manner, on_error: OnError = "raise"
    ) -> None:
        if on_error not in ("raise", "aside"):
            raise ValueError(f"on_error must be 'raise' or 'aside', not {on_error!r}")
        self.query = query
        self._lane = Lane({_NAME: query}, options, manner, lenient=on_error == "aside")
        self._matches = self._late = self._aside = 0
        self._late_tables: deque[pa.Table] = deque()
        self._aside_rows: deque[Aside] = deque(maxlen=KEPT)
        self._finished = False

    def push(self, events: object) -> Matches:
        """Read more events and return the matches that they complete.

        Args:
            events: what `query.run` takes, a single event as a dict, or {stream: events} for
                some of the streams of FROM. Either all of it is read, or an EventError says what
                is wrong with it and the session is as it was before.
        """
        self._refuse_if_finished()
        lane = self._lane
        try:
            prepared = lane.prepare(events)
            before = lane.released
            pieces = lane.apply(prepared)[_NAME]
        except UnsupportedError as error:
            raise EventError(
                f"a condition compares values that a stream cannot keep ({error}); "
                "on_error='aside' puts such events aside"
            ) from error
        return self._matched(prepared, pieces, lane.released - before)

    def advance(self, time: int | datetime | date) -> Matches:
        """Know that time has come so far without events, and return what that completes.

        It is as if an event of this time had come that no query looks at: events may still be
        late by the lateness bound, and what waited for that long is released. A time that is past
        changes nothing.
        """
        self._refuse_if_finished()
        lane = self._lane
        if lane.feed is None:
            return self.push([])
        if lane.feed.time_path is None:
            raise EventError("advance() needs a time column: pass time= when opening the session")
        before = lane.released
        pieces = lane.advance(time_in_units(time, lane.feed.kind, lane.options.time_unit))
        return self._matched(None, pieces[_NAME], lane.released - before)

    def finish(self) -> Matches:
        """Know that this was all, and return what that completes; nothing can be pushed then."""
        self._refuse_if_finished()
        lane = self._lane
        if lane.feed is None:
            matches = self.push([])
            self._finished = True
            return matches
        before = lane.released
        pieces = lane.finish()[_NAME]
        self._finished = True
        return self._matched(None, pieces, lane.released - before)

    def snapshot(self) -> bytes:
        """Return the state of the session as bytes, from which `query.resume` goes on.

        What was late or put aside is counted in it; the events themselves are not part of it.
        """
        lane = self._lane
        header = {
            **snapshot.describe(self.query),
            **self._manner(),
            "counts": (self._matches, self._late, self._aside),
            "finished": self._finished,
        }
        return snapshot.write("session", header, {_NAME: lane})

    def _manner(self) -> dict[str, Any]:
        lane = self._lane
        return {
            "options": snapshot.describe_options(lane.options),
            "lenient": lane.lenient,
            "positions_only": lane.manner.positions_only,
            "exact": lane.manner.exact,
            "states": lane.manner.budgets.states,
            "bytes": lane.manner.budgets.bytes,
        }

    @classmethod
    def resume(
        cls,
        query: Query,
        block: bytes,
        on_error: OnError | None = None,
        max_states: int | None = None,
        max_bytes: int | None = None,
    ) -> Session:
        """Go on from a snapshot."""
        sections = snapshot.read("session", block)
        header = sections["header"]
        snapshot.refuse_other(query, header)
        session = cls(
            query,
            snapshot.options_of(header["options"]),
            snapshot.manner_of(header, max_states, max_bytes),
            on_error or ("aside" if header["lenient"] else "raise"),
        )
        snapshot.restore(session._lane, sections, _NAME)
        session._matches, session._late, session._aside = header["counts"]
        session._finished = header["finished"]
        return session

    def _refuse_if_finished(self) -> None:
        if self._finished:
            raise EventError("this session is finished; open another one with query.open()")

    def _matched(
        self, prepared: Prepared | None, pieces: Iterable[Piece], released: int
    ) -> Matches:
        """Hand out what a step completed, and write down what became of the events."""
        lane = self._lane
        members = lane.members if prepared is None else prepared.members
        account = Account(members[_NAME].tally, released)
        if prepared is not None:
            account.add(prepared.late, prepared.aside)
            self._note(prepared)
        matches = Matches(members[_NAME].shape, iter(pieces), account, live=False)
        self._matches += matches.count
        return matches

    def _note(self, prepared: Prepared) -> None:
        if prepared.late.num_rows:
            self._late += prepared.late.num_rows
            self._late_tables.append(prepared.late)
            kept = sum(each.num_rows for each in self._late_tables)
            while kept - self._late_tables[0].num_rows >= KEPT:
                kept -= self._late_tables.popleft().num_rows
        if prepared.aside:
            self._aside += len(prepared.aside)
            self._aside_rows.extend(prepared.aside)

    @property
    def late(self) -> pa.Table:
        """The last 10,000 events that came too late; `matches.late` has those of one push."""
        if not self._late_tables:
            return pa.schema(list(self._lane.intake.fields.items())).empty_table()
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
        events that they may need; `nulls` counts values that arithmetic did not have.
        """
        lane, feed = self._lane, self._lane.feed
        member = lane.members.get(_NAME)
        nodes, size = (0, 0) if member is None else member.recogniser.live
        watermark = None
        if feed is not None and feed.time_path is not None and feed.watermark is not None:
            watermark = shown_time(feed.watermark, feed.kind)
        return {
            "events": lane.released,
            "matches": self._matches,
            "late": self._late,
            "aside": self._aside,
            "waiting": 0 if feed is None else feed.waiting,
            "watermark": watermark.as_py() if isinstance(watermark, pa.Scalar) else watermark,
            "nodes": nodes,
            "bytes": size + lane.store.nbytes,
            "rows": lane.store.rows,
            "nulls": 0 if member is None else member.tally.nulls,
        }
