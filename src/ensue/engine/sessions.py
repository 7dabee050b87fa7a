"""Many queries on one stream, in one pass.

Queries that read the same columns in the same order share a pipeline: events are read, put in order
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
from ensue.engine.execution import QueryInstance
from ensue.engine.lock import OperationLock, exclusive
from ensue.engine.pipeline import Pipeline, PreparedPush
from ensue.engine.query import Query, compile
from ensue.engine.unseen import warn_of
from ensue.errors import EventError
from ensue.io.rejected import Rejected
from ensue.messages import Message, Option
from ensue.options import OnError, ReadOptions, with_settings
from ensue.plan.mode import ExecutionMode
from ensue.predicates.vectors import UnsupportedError
from ensue.results.chunk import ResultChunks
from ensue.results.match_count import MatchCount
from ensue.results.matches import InputSummary, Matches
from ensue.stream.batch import declared_columns, read_once
from ensue.stream.reorder import ReorderBuffer, shown_time
from ensue.stream.times import time_in_units

KEPT = 10_000
"""So many late events, and rejected ones, are kept: the last ones."""


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
        mode: ExecutionMode,
        on_error: OnError = "raise",
    ) -> None:
        self._turn = OperationLock()
        self._options, self._manner = options, mode
        self._on_error = on_error
        self._pipelines: dict[str, Pipeline] = {}
        self._pipeline_of: dict[str, Pipeline] = {}
        self._counts: dict[str, MatchCount] = {}
        self._late = self._rejected = 0
        self._late_tables: deque[pa.Table] = deque()
        self._rejected_rows: deque[Rejected] = deque(maxlen=KEPT)
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

    @property
    @exclusive
    def queries(self) -> dict[str, Query]:
        """The queries, by name."""
        return self._queries()

    def _queries(self) -> dict[str, Query]:
        return {name: pipeline.queries[name] for name, pipeline in self._pipeline_of.items()}

    @exclusive
    def add(self, name: str, query: Query | str) -> None:
        """Let one more query read the stream, from the next event that is released."""
        self._add(name, query)

    def _add(self, name: str, query: Query | str) -> None:
        if name in self._pipeline_of:
            raise ValueError(f"there is a query named '{name}' already; replace() it")
        ready = compile(query, name=name) if isinstance(query, str) else query
        options = with_settings(self._options, ready.settings)
        key = _pipeline_key(ready, options)
        pipeline = self._pipelines.get(key)
        if pipeline is None:
            pipeline = Pipeline({name: ready}, options, self._manner, self._on_error != "raise")
            self._pipelines[key] = pipeline
        else:
            pipeline.add(name, ready)
        self._pipeline_of[name] = pipeline
        self._counts[name] = MatchCount()
        for each in self._pipelines.values():
            each.check_ahead = len(self._pipelines) > 1

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
        self._refuse_if_over()
        pipelines = self.pipelines
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
        self._note(prepared)
        return self._whole(found)

    @exclusive
    def advance(self, time: int | datetime | date) -> dict[str, Matches]:
        """Advance time without events, and return what that completes.

        It is as if an event of this time had come that no query looks at: events may still be
        late by the lateness bound, and what waited for that long is released. A time that is past
        changes nothing.
        """
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

    @exclusive
    def finish(self) -> dict[str, Matches]:
        """Signal the end of input and return the remaining matches; nothing can be pushed then."""
        self._refuse_if_over()
        found = self._without_events(lambda pipeline, _: pipeline.finish())
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
        pipelines = [pipeline for pipeline in self._pipelines.values() if pipeline.is_behind]
        chunks: ResultChunks = {}
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
            if pipeline.stopped is not None:
                pipeline.stopped.matches = in_order
                raise pipeline.stopped
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
        instances: Mapping[str, QueryInstance] = (
            pipeline.instances if prepared is None else prepared.instances
        )
        found = {}
        for name, instance in instances.items():
            account = InputSummary(instance.tally, pipeline.released - before)
            if prepared is not None:
                account.add(prepared.late, prepared.rejected)
            every = [*caught.get(name, ()), *chunks.get(name, ())]
            self._counts[name].add(every)
            found[name] = Matches(instance.schema, iter(every), account, live=False)
        return found

    def _note(self, prepared: list[PreparedPush]) -> None:
        """Write down what does not take part; pipelines on one clock agree on it."""
        by_clock = {each.reorder.time_path: each for each in reversed(prepared)}
        for each in by_clock.values():
            if each.late is not None:
                self._late += each.late.num_rows
                self._late_tables.append(each.late)
                kept = sum(table.num_rows for table in self._late_tables)
                while kept - self._late_tables[0].num_rows >= KEPT:
                    kept -= self._late_tables.popleft().num_rows
            if each.rejected:
                self._rejected += len(each.rejected)
                self._rejected_rows.extend(each.rejected)

    # what there is to know

    def __repr__(self) -> str:
        return f"Sessions({', '.join(self._pipeline_of) or 'no queries'}; {self.state})"

    @property
    def state(self) -> str:
        """How far the stream was read, in words; nothing is counted for it."""
        pipelines = self.pipelines
        events = max((pipeline.released for pipeline in pipelines), default=0)
        buffers = [pipeline.reorder for pipeline in pipelines if pipeline.reorder is not None]
        waiting = max((reorder.waiting for reorder in buffers), default=0)
        said = f"{events:,} event{'' if events == 1 else 's'} read"
        said += f", {waiting:,} waiting" if waiting else ""
        return said + (", finished" if self._finished else "")

    @property
    @exclusive
    def late(self) -> pa.Table:
        """The last 10,000 events that came too late; `matches.late` has those of one push."""
        if not self._late_tables:
            known = [pipeline.conformer.fields for pipeline in self._pipelines.values()]
            fields = known[0] if known else {}
            return pa.schema(list(fields.items())).empty_table()
        every = pa.concat_tables(list(self._late_tables), promote_options="permissive")
        return every.slice(max(every.num_rows - KEPT, 0))

    @property
    @exclusive
    def rejected(self) -> list[Rejected]:
        """The last 10,000 events that could not be read or take part, each with the reason."""
        return list(self._rejected_rows)

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
        pipelines = self.pipelines
        instances = [instance for pipeline in pipelines for instance in pipeline.instances.values()]
        live = [instance.operator.live for instance in instances]
        tallies = [
            *(each.tally for each in instances),
            *(pipeline.execution.tally for pipeline in pipelines),
        ]
        buffers = [pipeline.reorder for pipeline in pipelines if pipeline.reorder is not None]
        watermark: Any = None
        for reorder in buffers:
            if (
                watermark is None
                and reorder.time_path is not None
                and reorder.watermark is not None
            ):
                watermark = shown_time(reorder.watermark, reorder.kind)
        return {
            "events": max((pipeline.released for pipeline in pipelines), default=0),
            "matches": sum(each.total for each in self._counts.values()),
            "late": self._late,
            "rejected": self._rejected,
            "aside": self._rejected,
            "waiting": max((reorder.waiting for reorder in buffers), default=0),
            "watermark": watermark.as_py() if isinstance(watermark, pa.Scalar) else watermark,
            "nodes": sum(nodes for nodes, _ in live),
            "bytes": sum(size for _, size in live)
            + sum(pipeline.execution.store.nbytes for pipeline in pipelines),
            "rows": sum(pipeline.execution.store.rows for pipeline in pipelines),
            "nulls": sum(tally.nulls for tally in tallies),
            "queries": {name: each.total for name, each in self._counts.items()},
        }

    # snapshots

    @exclusive
    def snapshot(self) -> bytes:
        """Return the state of the session as bytes, from which `resume` goes on.

        What was late or rejected is counted in it; the events themselves are not part of it.
        """
        header = {
            "options": snapshot.describe_options(self._options),
            "manner": snapshot.describe_mode(self._manner),
            "on_error": self._on_error,
            "queries": {name: snapshot.describe(query) for name, query in self._queries().items()},
            "counts": {name: each.total for name, each in self._counts.items()},
            "late": self._late,
            "aside": self._rejected,
            "finished": self._finished,
            "lanes": tuple(tuple(pipeline.queries) for pipeline in self._pipelines.values()),
        }
        return snapshot.write(header, self.pipelines)

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
            snapshot.mode_of(header["manner"], limits),
            on_error or header["on_error"],
        )
        # Queries are added in the order of their pipelines, as they were written.
        for names in header["lanes"]:
            for name in names:
                session._add(name, queries[name])
        if (
            tuple(tuple(pipeline.queries) for pipeline in session._pipelines.values())
            != header["lanes"]
        ):
            raise snapshot.damaged("its queries are not those of its pipelines")
        for number, pipeline in enumerate(session._pipelines.values()):
            snapshot.restore(pipeline, sections, number)
        session._pipeline_of = {name: session._pipeline_of[name] for name in header["queries"]}
        session._counts = {name: MatchCount(known) for name, known in header["counts"].items()}
        session._late, session._rejected = header["late"], header["aside"]
        session._finished = header["finished"]
        return session


def _pipeline_key(query: Query, options: ReadOptions) -> str:
    """Name what queries must have in common to share a pipeline."""
    sources = [word.text for word in query.tree.sources]
    clock = query.bind(query.schema, Clock()).clock.column
    columns = sorted((name, str(kind)) for name, kind in declared_columns(query.schema).items())
    return repr((sources, clock, columns, options))
