"""The pipeline of a live stream: conform, put in order, evaluate.

    input ──conform──▶ InputBatch ──reorder──▶ EventBatch ──execution──▶ result chunks

A push goes in two steps, so that one that fails changes nothing: `prepare` reads and checks,
`apply` takes over. The queries are bound to the columns of the first rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ensue.analysis.expressions import Operation
from ensue.automata.registers import FORMS_2, OLDER_FORMS
from ensue.engine.execution import Execution
from ensue.engine.instances import BoundInstance, bind_instance, operator_tag, rebind_instance
from ensue.engine.query import Query
from ensue.engine.text_options import text_options, with_query
from ensue.engine.unseen import Silence, silences
from ensue.engine.user_calls import check_calls, failing_rows
from ensue.errors import BudgetError, CeqlError, EventError
from ensue.io.rejected import Rejected
from ensue.messages import Message, Option
from ensue.operators.operator import NO_OUTPUT
from ensue.options import ReadOptions
from ensue.plan.mode import ExecutionMode
from ensue.predicates.vectors import UnsupportedError, column_at
from ensue.results.chunk import ResultChunk, ResultChunks
from ensue.state.container import below, part
from ensue.stream.batch import EventBatch, InputBatch
from ensue.stream.conform import ConformedInput, Conformer
from ensue.stream.reorder import CheckedBatch, ReorderBuffer
from ensue.stream.store import EventStore
from ensue.stream.times import Time, time_in_units

_FORMS = 3
"""Which conditions registers decide; earlier snapshots, in which they were fewer, do not say."""


class PreparedPush(NamedTuple):
    """A push that was read and checked, and has changed nothing yet."""

    input: ConformedInput
    reorder: ReorderBuffer
    instances: Mapping[str, BoundInstance]
    checked: CheckedBatch
    store: EventStore | None = None
    """The events that are kept, where their times are counted anew."""

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        """Rows that cannot take part."""
        first, then = self.input.rejected, self.checked.rejected
        return first + then if first or then else ()

    @property
    def leaves_out(self) -> bool:
        """Whether some rows do not take part."""
        return bool(self.rejected) or self.checked.late is not None

    @property
    def waits(self) -> bool:
        """Whether some rows may be released later than the others."""
        return self.reorder.waits or self.checked.batch.streams is not None

    @property
    def late(self) -> pa.Table | None:
        """Rows that came too late, if any."""
        return self.checked.late


@dataclass(slots=True)
class Pipeline:
    """Queries on one stream of input, and what they share."""

    queries: dict[str, Query]
    options: ReadOptions
    mode: ExecutionMode
    lenient: bool = False
    """Reject rows that cannot be read or take part, instead of stopping."""
    check_ahead: bool = False
    """Look at all values before anything changes, because other pipelines read the same push."""
    conformer: Conformer = field(init=False)
    reorder: ReorderBuffer | None = None
    """None until the first columns have come."""
    execution: Execution = field(default_factory=Execution)
    _bound: dict[str, BoundInstance] = field(default_factory=dict)

    def __post_init__(self) -> None:
        one = next(iter(self.queries.values()))
        self.conformer = Conformer(one.streams, self.options, one.schema, self.lenient)
        queries = self.queries.values()
        self.conformer.text = text_options(queries, self.options, collect=self.lenient)

    @property
    def instances(self) -> Mapping[str, BoundInstance]:
        """The queries that have been bound to columns."""
        return self._bound

    @property
    def stopped(self) -> BudgetError | None:
        """Why some query has not read all that the last step brought."""
        return self.execution.stopped

    @property
    def released(self) -> int:
        """How many events have got a position."""
        return 0 if self.reorder is None else self.reorder.next_position

    # a push

    def prepare(self, events: object, first_row: int = 0) -> PreparedPush:
        """Read and check a push; nothing changes."""
        return self.check(self.conformer.read(events), first_row)

    def check(self, read: ConformedInput, first_row: int = 0) -> PreparedPush:
        """Check what was read; bind the queries where these are the first columns."""
        reorder, store, instances = self.reorder, None, self._bound
        calls: list[Operation] = []
        if reorder is None:
            instances = {
                name: self._bind(name, query, read.batch) for name, query in self.queries.items()
            }
            reorder = self._new_reorder(instances)
        elif read.fields is not self.conformer.fields:
            read, reorder, store, instances = self._retyped(read, reorder)
        for instance in instances.values():
            calls += instance.calls
        if calls and self.lenient:
            read = self._without_failures(read, calls)
        elif calls:
            check_calls(calls, read.batch)
        if self.lenient:
            read = self._without_unsupported(read, reorder, instances)
        checked = reorder.check(read.batch, first_row)
        if self.check_ahead or len(instances) > 1 or reorder.waits:
            _check_values(reorder.next_batch(checked), instances)
        return PreparedPush(read, reorder, instances, checked, store)

    def _bind(self, name: str, query: Query, columns: InputBatch) -> BoundInstance:
        return bind_instance(name, query, columns, self.options, self.mode)

    def _retyped(
        self, read: ConformedInput, reorder: ReorderBuffer
    ) -> tuple[ConformedInput, ReorderBuffer, EventStore | None, dict[str, BoundInstance]]:
        """Bind the queries anew where columns get their first type, or integers become doubles.

        Times become timestamps. Where something kept is no double, columns keep their integers.
        """
        wide, learnt = self.conformer.widened(read), self.conformer.learnt(read)
        scale = self.conformer.rescaled(read)
        if not wide and not learnt and scale is None:
            return read, reorder, None, self._bound
        timed = () if scale is None else (scale.column,)
        try:
            if self.execution.is_behind:
                raise UnsupportedError("a query has not read all events, since a budget ran out")
            kept, buffer, store = self.execution.store.view()(), reorder, None
            if scale is not None:
                kept, buffer = scale.batch(kept), reorder.rescaled(scale)
                store = self.execution.store.rescaled(scale)
            waiting = buffer.waiting_rows
            types = {name: read.fields[name] for name in (*wide, *learnt, *timed)}
            fields = pa.schema([(name, types[name]) for name in wide]).empty_table()
            for table in (kept.table, *(() if waiting is None else (waiting,))):
                pa.concat_tables([table, fields], promote_options="permissive")
            instances = {
                name: rebind_instance(
                    name, self.queries[name], instance, types, self.options, self.mode, kept, scale
                )
                for name, instance in self._bound.items()
            }
            return read, buffer, store, instances
        except pa.ArrowInvalid:
            why = "integers beyond 2^53, which are no doubles, are still needed"
        except UnsupportedError as error:
            why = f"the query cannot go on with doubles ({error}); declare the column as double"
        except CeqlError as error:
            why = f"the query cannot be about doubles: {error.diagnostics[0].message}"
        return self.conformer.narrowed(read, [*wide, *timed], why), reorder, None, self._bound

    def _new_reorder(self, instances: Mapping[str, BoundInstance]) -> ReorderBuffer:
        one = next(iter(instances.values()))
        sources = self.conformer.sources
        return ReorderBuffer(one.time_path, self.options, sources, self.lenient)

    def _without_failures(self, read: ConformedInput, calls: Sequence[Operation]) -> ConformedInput:
        """Reject rows on which a function of the user fails."""
        failing = failing_rows(calls, read.batch)
        if not failing:
            return read
        rejected = [read.batch.rejected(row, reason) for row, reason in failing.items()]
        kept = np.setdiff1d(np.arange(read.batch.table.num_rows), list(failing))
        return read._replace(batch=read.batch.take(kept), rejected=(*read.rejected, *rejected))

    def _without_unsupported(
        self, read: ConformedInput, reorder: ReorderBuffer, instances: Mapping[str, BoundInstance]
    ) -> ConformedInput:
        """Reject rows with values that no register can hold."""
        batch = read.batch

        def check(some: InputBatch) -> None:
            unchecked = CheckedBatch(some, np.zeros(0, np.int64), reorder.kind, None, (), 0)
            _check_values(reorder.next_batch(unchecked), instances)

        try:
            check(batch)
        except UnsupportedError:
            rejected, good = list(read.rejected), []
            for row in range(batch.table.num_rows):
                try:
                    check(batch.take(np.array([row])))
                    good.append(row)
                except UnsupportedError as error:
                    reason = f"a condition compares values that a stream cannot keep ({error})"
                    rejected.append(batch.rejected(row, reason))
            kept = batch.take(np.array(good, np.int64))
            return read._replace(batch=kept, rejected=tuple(rejected))
        return read

    def apply(self, prepared: PreparedPush) -> ResultChunks:
        """Take over a push, and return what it completes."""
        checked = prepared.checked
        if self.reorder is None and not checked.batch.table.num_columns:
            # Nothing came, not even columns: the first rows are still to come.
            empty = prepared.reorder.next_batch(checked)
            return {
                name: [ResultChunk(instance.schema, lambda: empty, NO_OUTPUT.matches)]
                for name, instance in prepared.instances.items()
            }
        if self.reorder is None:
            self.reorder = prepared.reorder
            for name, instance in prepared.instances.items():
                self._start(name, instance)
        elif prepared.instances is not self._bound:
            self.reorder = prepared.reorder
            if prepared.store is not None:
                self.execution.occurrences.catch_up()
                self.execution.store = prepared.store
            for name, instance in prepared.instances.items():
                self._bound[name] = instance
                self.execution.add(name, instance)
        reorder = self.reorder
        self.conformer.keep(prepared.input)
        if prepared.waits:
            return self._push(reorder.add(checked), reorder.watermark)
        batch = reorder.next_batch(checked)
        found = self._push(batch, None)
        reorder.add(checked, batch)
        return found

    def _start(self, name: str, instance: BoundInstance) -> None:
        """Let a bound query read the stream."""
        self.execution.require(instance.required)
        self._bound[name] = instance
        self.execution.add(name, instance)

    def _push(self, batch: EventBatch, watermark: int | None) -> ResultChunks:
        if not len(batch.times):
            # Results without rows have the types of their columns all the same.
            batch = replace(batch, table=self._fields.empty_table())
        return self.execution.push(batch, watermark)

    def advance(self, time: int) -> ResultChunks:
        """Let time pass."""
        assert self.reorder is not None
        return self._push(self.reorder.advance(time), self.reorder.watermark)

    def finish(self, at: Time | None = None) -> ResultChunks:
        """Release what waits, signal the end of input, and return the remaining results.

        `at` is the time that has come by then, should it be later than that of the last event.
        """
        if self.reorder is None:
            return {}
        now = None
        if at is not None:
            if self.reorder.time_path is None:
                raise EventError(
                    Message(
                        "there is no time column that could have come to ",
                        f"{at}: pass ",
                        Option("time"),
                    )
                )
            now = time_in_units(at, self.reorder.kind, self.options.time_unit)
        found = self._push(self.reorder.finish(), now)
        if self.stopped is not None:
            return found
        for name, chunks in self.execution.finish().items():
            found[name] += chunks
        return found

    def catch_up(self) -> ResultChunks:
        """Let queries that stopped at a budget read what is left, should it be larger by now."""
        reorder = self.reorder
        waits = reorder is not None and reorder.waits
        return self.execution.catch_up(reorder.watermark if waits and reorder else None)

    def silences(self) -> list[Silence]:
        """Return what the queries require and no event had, if there were events at all."""
        if not self.released:
            return []
        required = {name: instance.required for name, instance in self._bound.items()}
        seen, fields = self.execution.occurrences, self.conformer.fields
        return silences(seen, required, fields, self.options.type)

    # queries that come and go

    def add(self, name: str, query: Query) -> None:
        """Let one more query read the stream from here on."""
        if self.reorder is not None:
            types = pa.chunked_array([], pa.string())
            known = next(iter(self._bound.values())).columns.closed if self._bound else False
            columns = InputBatch(self._fields.empty_table(), known, types, None)
            instance = self._bind(name, query, columns)
            position = self.reorder.next_position
            instance.operator.begin_at(position)
            instance.schema = replace(instance.schema, since=position)
            self._start(name, instance)
        self.queries[name] = query
        text = self.conformer.text
        assert text is not None
        self.conformer.text = with_query(text, query, self.options)

    def remove(self, name: str) -> None:
        """Drop a query and its state."""
        del self.queries[name]
        self._bound.pop(name, None)
        self.execution.remove(name)

    @property
    def _fields(self) -> pa.Schema:
        """The columns that have come so far."""
        return pa.schema(list(self.conformer.fields.items()))

    # state

    def save(self) -> dict[str, Any]:
        """Return the state of all queries, and what they share, as named sections."""
        if self.reorder is None:
            return {}
        saved: dict[str, Any] = {
            "names": tuple(self._bound),
            "fields": self._fields.empty_table(),
            "nulls": self.execution.tally.nulls,
            "instants": tuple(sorted(self.conformer.instants)),
            "unseen": self.execution.occurrences.save(),
            **below("feed", self.reorder.save()),
        }
        for number, instance in enumerate(self._bound.values()):
            saved[f"{number}/columns"] = instance.columns.table
            saved[f"{number}/closed"] = instance.columns.closed
            saved[f"{number}/late"] = tuple(sorted(instance.late))
            saved[f"{number}/forms"] = _FORMS
        return saved | self.execution.save()

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take over a state that was saved; ValueError where it cannot be one of these queries."""
        if not saved:
            return
        if tuple(self.queries) != saved["names"]:
            raise ValueError("it has other queries")
        types = pa.chunked_array([], pa.string())
        for number, (name, query) in enumerate(self.queries.items()):
            closed = saved[f"{number}/closed"]
            columns = InputBatch(saved[f"{number}/columns"], closed, types, None)
            # What was evaluated by definition goes on so, though an automaton may do it by now.
            tag = operator_tag(saved[f"{number}/way"])
            late = frozenset(saved.get(f"{number}/late", ()))
            if saved.get(f"{number}/forms", 1) < _FORMS:
                late |= {FORMS_2 if f"{number}/forms" in saved else OLDER_FORMS}
            by_definition = self.mode.by_definition or tag == "reference"
            mode = replace(self.mode, by_definition=by_definition, late=late)
            instance = bind_instance(name, query, columns, self.options, mode)
            if instance.operator.tag != tag:
                raise ValueError("it was evaluated by an operator that there is no longer")
            self._bound[name] = instance
            self.execution.add(name, instance)
        self.conformer.fields = {field.name: field.type for field in saved["fields"].schema}
        self.conformer.instants = frozenset(saved.get("instants", ()))
        reorder = self.reorder = self._new_reorder(self._bound)
        kind = pa.null()
        if reorder.time_path is not None:
            kind = column_at(saved["fields"], reorder.time_path).type
        reorder.load(part(saved, "feed"), kind)
        self.execution.tally.nulls = saved["nulls"]
        self.execution.occurrences.load(saved.get("unseen"))
        self.execution.load(saved, reorder.next_position, reorder.time_path)


def _check_values(batch: EventBatch, instances: Mapping[str, BoundInstance]) -> None:
    """Raise UnsupportedError for values that an operator could not take."""
    for instance in instances.values():
        instance.operator.check(batch)
