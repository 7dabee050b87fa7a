"""Sessions: a query on a live stream, pushed bit by bit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Self

import pyarrow as pa

from ensue.engine.query import Query
from ensue.engine.sessions import Sessions
from ensue.errors import BudgetError
from ensue.io.rejected import Rejected
from ensue.options import OnError, ReadOptions
from ensue.plan.mode import ExecutionMode
from ensue.results.matches import Matches

_NAME = ""
"""What the one query is called."""


class Session:
    """A query on a live stream: what it found comes back from each push.

    The results do not depend on how the stream is cut into pushes. The session keeps the rows
    that partial matches may still need and no others; matches own what they need. Any thread may
    call any method: one call after the other has its turn.
    """

    def __init__(
        self, query: Query, options: ReadOptions, mode: ExecutionMode, on_error: OnError = "raise"
    ) -> None:
        self.query = query
        self._of_one = Sessions({_NAME: query}, options, mode, on_error)

    def __repr__(self) -> str:
        return f"Session({self.query!r}, {self._of_one.state})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Take no more events; what the session knows can still be read.

        It does not finish the stream: where the end of it is to complete matches, call `finish`.
        """
        self._of_one.close()

    def push(self, events: object, *, first_row: int = 0) -> Matches:
        """Read more events and return the matches that they complete.

        Args:
            events: what `query.run` takes, a single event as a dict, or {stream: events} for
                some of the streams of FROM. Either all of it is read, or an EventError says what
                is wrong with it and the session is as it was before. Where a budget runs out,
                the BudgetError has what was found by then in its `matches`; the events that the
                query has not read are kept, and are read once it has a larger budget.
            first_row: the number by which errors call the first of these events.
        """
        try:
            return self._of_one.push(events, first_row=first_row)[_NAME]
        except BudgetError as error:
            raise _of_one(error) from None

    def advance(self, time: int | datetime | date) -> Matches:
        """Advance time without events, and return what that completes.

        It is as if an event of this time had come that the query does not look at: events may
        still be late by the lateness bound, and what waited for that long is released. A time that
        is past changes nothing.
        """
        try:
            return self._of_one.advance(time)[_NAME]
        except BudgetError as error:
            raise _of_one(error) from None

    def finish(self) -> Matches:
        """Signal the end of input and return the remaining matches; nothing can be pushed then."""
        try:
            return self._of_one.finish()[_NAME]
        except BudgetError as error:
            raise _of_one(error) from None

    @property
    def late(self) -> pa.Table:
        """The last 10,000 events that came too late; `matches.late` has those of one push."""
        return self._of_one.late

    @property
    def rejected(self) -> list[Rejected]:
        """The last 10,000 events that could not be read or take part, each with the reason."""
        return self._of_one.rejected

    @property
    def aside(self) -> list[Rejected]:
        """The same as `rejected`, under the name that it had before."""
        return self.rejected

    @property
    def stats(self) -> dict[str, Any]:
        """What the session has seen and what it keeps.

        `events` have got a position, `waiting` ones have not yet; no event before `watermark` can
        take part any more; `nodes` and `bytes` are what is kept for partial matches, `rows` the
        events that they may need; `nulls` counts values that arithmetic did not have.
        """
        stats = self._of_one.stats
        del stats["queries"]
        return stats

    def snapshot(self) -> bytes:
        """Return the state of the session as bytes, from which `query.resume` goes on.

        What was late or rejected is counted in it; the events themselves are not part of it.
        """
        return self._of_one.snapshot()

    @classmethod
    def resume(
        cls, query: Query, block: bytes, on_error: OnError | None, limits: Mapping[str, int]
    ) -> Session:
        """Go on from a snapshot."""
        session = cls.__new__(cls)
        session.query = query
        session._of_one = Sessions.resume({_NAME: query}, block, on_error, limits)
        return session


def _of_one(error: BudgetError) -> BudgetError:
    """Let an error have the matches of the one query."""
    error.matches = error.matches[_NAME]
    return error
