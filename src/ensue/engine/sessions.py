"""Sessions of many queries: one pass over the events for all of them."""

from __future__ import annotations

from collections.abc import Mapping

from ensue.engine import snapshot
from ensue.engine.lock import exclusive
from ensue.engine.query import Query, compile
from ensue.engine.session import LiveStream
from ensue.options import OnError
from ensue.results.matches import Matches
from ensue.stream.times import Time


class Sessions(LiveStream):
    """Many queries on a live stream: a push returns {name: matches}.

    Each query finds what it would find alone. Queries can be added, replaced and removed between
    pushes; one that is added sees the events that are released from then on. Any thread may call
    any method: they run one after the other.
    """

    def __repr__(self) -> str:
        return f"Sessions({', '.join(self._pipeline_of) or 'no queries'}; {self.progress})"

    # queries

    @property
    @exclusive
    def queries(self) -> dict[str, Query]:
        """The queries, by name."""
        return self._queries()

    @exclusive
    def add(self, name: str, query: Query | str) -> None:
        """Let one more query read the stream, from the next event that is released."""
        self._add(name, _compiled(name, query))

    @exclusive
    def replace(self, name: str, query: Query | str) -> None:
        """Put a query in the place of another, whose partial matches are dropped."""
        ready = _compiled(name, query)
        self._remove(name)
        self._add(name, ready)

    @exclusive
    def remove(self, name: str) -> None:
        """Drop a query and its partial matches."""
        self._remove(name)

    def _remove(self, name: str) -> None:
        if name not in self._pipeline_of:
            known = ", ".join(self._pipeline_of) or "none"
            raise KeyError(f"there is no query named '{name}'; the queries are {known}")
        pipeline = self._pipeline_of.pop(name)
        del self._counts[name]
        pipeline.remove(name)
        if not pipeline.queries:
            self._pipelines = {
                key: each for key, each in self._pipelines.items() if each is not pipeline
            }

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
        return self._push(events, first_row)

    @exclusive
    def advance(self, time: Time) -> dict[str, Matches]:
        """Advance time without events, and return what that completes.

        It is as if an event of this time had come that no query looks at: events may still be
        late by the lateness bound, and what waited for that long is released. A time that is past
        changes nothing.
        """
        return self._advance(time)

    @exclusive
    def finish(self, *, at: Time | None = None) -> dict[str, Matches]:
        """Signal the end of input and return the remaining matches; nothing can be pushed then.

        Args:
            at: the time that has come by then, which may decide what NOT FOLLOWED BY waits for;
                without it, the time of the last event.
        """
        return self._finish(at)

    @classmethod
    def resume(
        cls,
        queries: Mapping[str, Query],
        block: bytes,
        on_error: OnError | None,
        limits: Mapping[str, int],
    ) -> Sessions:
        """Go on from a snapshot of these very queries."""
        sections = snapshot.read(block, queries)
        session = cls({}, *snapshot.settings_of(sections, on_error, limits))
        session._restore(queries, sections)
        return session


def _compiled(name: str, query: Query | str) -> Query:
    return compile(query, name=name) if isinstance(query, str) else query
