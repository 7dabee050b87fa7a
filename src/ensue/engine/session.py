"""Sessions: a query on a live stream, pushed batch by batch.

`LiveStream` is what sessions of one query and of many share: queries that read the same columns in
the same order share a pipeline, so that events are read, put in order and kept once for all of
them, and each distinct predicate is evaluated once. A push first prepares all pipelines, which
changes nothing, and then applies them, so that it is taken as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import pyarrow as pa

from ensue.engine import snapshot, stats
from ensue.engine.binding import sharing_key
from ensue.engine.execution import QueryInstance
from ensue.engine.left_out import LeftOut
from ensue.engine.lock import OperationLock, exclusive
from ensue.engine.pipeline import Pipeline, PreparedPush
from ensue.engine.query import Query
from ensue.engine.unseen import warn_of
from ensue.errors import BudgetError, EventError, renamed
from ensue.io.rejected import Rejected
from ensue.messages import Message, Option
from ensue.options import OnError, ReadOptions, with_settings
from ensue.plan.mode import ExecutionMode
from ensue.predicates.vectors import UnsupportedError
from ensue.results.chunk import MatchCount, ResultChunks
from ensue.results.input_summary import InputSummary
from ensue.results.matches import Matches
from ensue.stream.batch import read_once
from ensue.stream.reorder import ReorderBuffer
from ensue.stream.times import Time, time_in_units

_NAME = ""
"""What the query of a session of one is called."""


class LiveStream(stats.StatsView):
    """Queries on a live stream. Any thread may call any method: they run one after the other."""

    def __init__(
        self,
        queries: Mapping[str, Query],
        options: ReadOptions,
        mode: ExecutionMode,
        on_error: OnError = "raise",
    ) -> None:
        self._turn = OperationLock()
        self._options, self._mode = options, mode
        self._on_error = on_error
        self._pipelines: dict[str, Pipeline] = {}
        self._pipeline_of: dict[str, Pipeline] = {}
        self._counts: dict[str, MatchCount] = {}
        self._left_out = LeftOut()
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
    def pipelines(self) -> list[Pipeline]:
        """The queries by what they share."""
        return list(self._pipelines.values())

    def _queries(self) -> dict[str, Query]:
        return {name: pipeline.queries[name] for name, pipeline in self._pipeline_of.items()}

    def _add(self, name: str, query: Query) -> None:
        if name in self._pipeline_of:
            raise ValueError(f"there is a query named '{name}' already; replace() it")
        options = with_settings(self._options, query.settings)
        key = sharing_key(query, options)
        pipeline = self._pipelines.get(key)
        if pipeline is None:
            pipeline = Pipeline({name: query}, options, self._mode, self._on_error != "raise")
            self._pipelines[key] = pipeline
        else:
            pipeline.add(name, query)
        self._pipeline_of[name] = pipeline
        self._counts[name] = MatchCount()
        for each in self._pipelines.values():
            each.check_ahead = len(self._pipelines) > 1

    # events

    def _push(self, events: object, first_row: int) -> dict[str, Matches]:
        self._refuse_if_over()
        pipelines = self._pipelines.values()
        if len(pipelines) > 1:
            events = read_once(events)
        try:
            prepared = [pipeline.prepare(events, first_row) for pipeline in pipelines]
            caught = self._catch_up()
            found: dict[str, Matches] = {}
            for pipeline, each in zip(pipelines, prepared, strict=True):
                before = pipeline.released
                chunks = pipeline.apply(each)
                found |= self._matched(pipeline, each, caught, chunks, before)
        except UnsupportedError as error:
            raise EventError(
                Message(
                    f"a condition compares values that a stream cannot keep ({error}); ",
                    Option("on_error", "collect"),
                    " keeps such events apart",
                )
            ) from error
        for each in prepared:
            if each.leaves_out:
                self._left_out.add(prepared)
                break
        return self._whole(found)

    def _advance(self, time: Time) -> dict[str, Matches]:
        self._refuse_if_over()
        for pipeline in self._pipelines.values():
            if pipeline.reorder is not None and pipeline.reorder.time_path is None:
                raise EventError(
                    Message(
                        "advance() needs a time column: pass ",
                        Option("time"),
                        " when opening the session",
                    )
                )

        def advance(pipeline: Pipeline, reorder: ReorderBuffer) -> ResultChunks:
            return pipeline.advance(time_in_units(time, reorder.kind, pipeline.options.time_unit))

        return self._without_events(advance)

    def _finish(self, at: Time | None) -> dict[str, Matches]:
        self._refuse_if_over()
        found = self._without_events(lambda pipeline, _: pipeline.finish(at))
        self._finished = True
        warn_of(each for pipeline in self._pipelines.values() for each in pipeline.silences())
        return found

    def _without_events(
        self, step: Callable[[Pipeline, ReorderBuffer], ResultChunks]
    ) -> dict[str, Matches]:
        """Take a step in all pipelines that have had events."""
        caught = self._catch_up()
        found: dict[str, Matches] = {}
        for pipeline in self._pipelines.values():
            before = pipeline.released
            if pipeline.reorder is None:
                found |= self._nothing(pipeline, caught)
            else:
                found |= self._matched(
                    pipeline, None, caught, step(pipeline, pipeline.reorder), before
                )
        return self._whole(found)

    def _refuse_if_over(self) -> None:
        if self._finished:
            raise EventError("this session is finished; open another one")
        if self._closed:
            raise EventError("this session is closed; open another one, or resume a snapshot")

    def _catch_up(self) -> ResultChunks:
        """Let queries read what they have not read yet because a budget ran out."""
        pipelines = [each for each in self._pipelines.values() if each.execution.is_behind]
        chunks: ResultChunks = {}
        if not pipelines:
            return chunks
        for pipeline in pipelines:
            chunks |= pipeline.catch_up()
        if any(pipeline.stopped is not None for pipeline in pipelines):
            found: dict[str, Matches] = {}
            for pipeline in self._pipelines.values():
                if pipeline in pipelines:
                    found |= self._matched(pipeline, None, chunks, {}, pipeline.released)
                else:
                    found |= self._nothing(pipeline, {})
            self._whole(found)
        return chunks

    def _nothing(self, pipeline: Pipeline, caught: ResultChunks) -> dict[str, Matches]:
        """Return no matches but those that a pipeline has caught up on."""
        prepared = pipeline.prepare([])
        return self._matched(
            pipeline, prepared, caught, pipeline.apply(prepared), pipeline.released
        )

    def _whole(self, found: Mapping[str, Matches]) -> dict[str, Matches]:
        """Return what was found, or raise it where a query has not read everything."""
        in_order = {name: found[name] for name in self._pipeline_of}
        for pipeline in self._pipelines.values():
            stopped = pipeline.execution.stopped
            if stopped is not None:
                stopped.matches = in_order
                raise stopped
        return in_order

    def _matched(
        self,
        pipeline: Pipeline,
        prepared: PreparedPush | None,
        caught: ResultChunks,
        chunks: ResultChunks,
        before: int,
    ) -> dict[str, Matches]:
        """Hand out what a step completed."""
        instances: Mapping[str, QueryInstance] = pipeline.instances
        left_out, released = False, pipeline.released - before
        if prepared is not None:
            instances, left_out = prepared.instances, prepared.leaves_out
        found = {}
        for name, instance in instances.items():
            account = InputSummary(instance.tally, released)
            if left_out and prepared is not None:
                account.add(prepared.late, prepared.rejected)
            every = chunks.get(name, [])
            if caught:
                every = [*caught.get(name, ()), *every]
            self._counts[name].add(every)
            found[name] = Matches(instance.schema, iter(every), account, live=False)
        return found

    # what there is to know

    @property
    def progress(self) -> str:
        """How far the stream was read, in words; nothing is counted for it."""
        return stats.progress(self.pipelines) + (", finished" if self._finished else "")

    @property
    @exclusive
    def late(self) -> pa.Table:
        """The last 10,000 events that came too late; `matches.late` has those of one push."""
        known = [pipeline.conformer.fields for pipeline in self._pipelines.values()]
        return self._left_out.late_table(known[0] if known else {})

    @property
    @exclusive
    def rejected(self) -> list[Rejected]:
        """The last 10,000 events that could not be read or take part, each with the reason."""
        return list(self._left_out.rejected_rows)

    @property
    def aside(self) -> list[Rejected]:
        """The deprecated name of `rejected`."""
        return renamed("aside", "rejected", self.rejected)

    @property
    @exclusive
    def stats(self) -> dict[str, Any]:
        """What the session has seen and what it keeps.

        `events` have got a position, `waiting` ones have not yet; no event before `watermark` can
        take part any more; `nodes` and `bytes` are what is kept for partial matches, `rows` the
        events that they may need; `nulls` counts values that arithmetic did not have; `queries`
        has the matches of each.
        """
        return self._stats()

    def _stats(self) -> dict[str, Any]:
        return stats.gather(
            self.pipelines, self._counts, self._left_out.late, self._left_out.rejected
        )

    @exclusive
    def snapshot(self) -> bytes:
        """Return the state of the session as bytes, from which `resume` goes on.

        What was late or rejected is counted in it; the events themselves are not part of it.
        """
        header = {
            "options": snapshot.describe_options(self._options),
            "manner": snapshot.describe_mode(self._mode),
            "on_error": self._on_error,
            "queries": {name: snapshot.describe(query) for name, query in self._queries().items()},
            "counts": {name: each.total for name, each in self._counts.items()},
            "late": self._left_out.late,
            "aside": self._left_out.rejected,
            "finished": self._finished,
            "lanes": tuple(tuple(pipeline.queries) for pipeline in self._pipelines.values()),
        }
        return snapshot.write(header, self.pipelines)

    def _restore(self, queries: Mapping[str, Query], sections: Mapping[str, Any]) -> None:
        """Take over the state of a snapshot of these very queries."""
        header = sections["header"]
        # Queries are added in the order of their pipelines, as they were written.
        for names in header["lanes"]:
            for name in names:
                self._add(name, queries[name])
        if tuple(tuple(each.queries) for each in self._pipelines.values()) != header["lanes"]:
            raise snapshot.damaged("its queries are not those of its pipelines")
        for number, pipeline in enumerate(self._pipelines.values()):
            snapshot.restore(pipeline, sections, number)
        self._pipeline_of = {name: self._pipeline_of[name] for name in header["queries"]}
        self._counts = {name: MatchCount(known) for name, known in header["counts"].items()}
        self._left_out = LeftOut(header["late"], header["aside"])
        self._finished = header["finished"]


class Session(LiveStream):
    """A query on a live stream: what it found comes back from each push.

    The results do not depend on how the stream is cut into pushes. The session keeps the rows
    that partial matches may still need and no others; matches own what they need.
    """

    def __init__(
        self, query: Query, options: ReadOptions, mode: ExecutionMode, on_error: OnError = "raise"
    ) -> None:
        self.query = query
        super().__init__({_NAME: query}, options, mode, on_error)

    def __repr__(self) -> str:
        return f"Session({self.query!r}, {self.progress})"

    @exclusive
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
            return self._push(events, first_row)[_NAME]
        except BudgetError as error:
            raise _of_one(error) from None

    @exclusive
    def advance(self, time: Time) -> Matches:
        """Advance time without events, and return what that completes.

        It is as if an event of this time had come that the query does not look at: events may
        still be late by the lateness bound, and what waited for that long is released. A time that
        is past changes nothing.
        """
        try:
            return self._advance(time)[_NAME]
        except BudgetError as error:
            raise _of_one(error) from None

    @exclusive
    def finish(self, *, at: Time | None = None) -> Matches:
        """Signal the end of input and return the remaining matches; nothing can be pushed then.

        Args:
            at: the time that has come by then, which may decide what NOT FOLLOWED BY waits for;
                without it, the time of the last event.
        """
        try:
            return self._finish(at)[_NAME]
        except BudgetError as error:
            raise _of_one(error) from None

    @property
    @exclusive
    def stats(self) -> dict[str, Any]:
        """What the session has seen and what it keeps.

        `events` have got a position, `waiting` ones have not yet; no event before `watermark` can
        take part any more; `nodes` and `bytes` are what is kept for partial matches, `rows` the
        events that they may need; `nulls` counts values that arithmetic did not have.
        """
        return {name: each for name, each in self._stats().items() if name != "queries"}

    @classmethod
    def resume(
        cls, query: Query, block: bytes, on_error: OnError | None, limits: Mapping[str, int]
    ) -> Session:
        """Go on from a snapshot."""
        sections = snapshot.read(block, {_NAME: query})
        session = cls.__new__(cls)
        session.query = query
        LiveStream.__init__(session, {}, *snapshot.settings_of(sections, on_error, limits))
        session._restore({_NAME: query}, sections)
        return session


def _of_one(error: BudgetError) -> BudgetError:
    error.matches = error.matches[_NAME]
    return error
