"""Large batches on several threads, cut into slices of time.

With a window in time, what an event completes follows from the events of one window before it. So a
batch may be cut into slices: each is read by an operator of its own, on a thread of its own, after
the events of one window before the slice, whose matches are dropped. The first slice goes on from
the state so far. The operator of the last slice has all partial matches that are still alive, and
goes on with what follows. Slices are put together in their order, which is that of the matches.

The kernels, Arrow and NumPy release the GIL, so threads are enough.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ensue.errors import BudgetError
from ensue.logic.evaluate import Tally
from ensue.operators.automaton import Automaton
from ensue.operators.factory import open_operator
from ensue.operators.match import MatchOperator
from ensue.operators.operator import Operator, OperatorOutput, StoppedError
from ensue.plan.distribution import asks_start
from ensue.plan.physical import PhysicalPlan
from ensue.predicates.evaluate import Batch
from ensue.stream.batch import EventBatch

_LEAST_ROWS = 1 << 16
"""A slice has at least so many events; fewer are not worth a thread."""

_LEAST_GAIN = 2
"""A slice has at least so many times the events that are read before it."""


class Slicing(NamedTuple):
    """How a query may read large batches."""

    window: int
    """In the units of the times of events."""
    threads: int
    least_rows: int
    """Smaller batches are read by one thread."""
    open: Callable[[Tally], MatchOperator]
    """Opens another operator of the query."""


class Slice(NamedTuple):
    """Some rows of a batch, after others that are read before them."""

    before: int
    begin: int
    end: int


def slicing_of(plan: PhysicalPlan, automaton: Automaton | None = None) -> Slicing | None:
    """Return how a query may read large batches in slices; None: it may not.

    What is consumed, what is the first event of all, and numbers of events depend on more than one
    window of events; strategies and conditions that listing decides keep a state of their own.
    """
    bound = plan.bound
    plain = plan.operator == "match" and plan.residual is None and plan.choice is None
    timed = bound.window is not None and bound.window.kind != "events" and not bound.counts_events
    if plan.mode.threads < 2 or not plain or not timed or plan.mode.compact_always:
        return None
    if bound.consume != "NONE" or bound.not_followed is not None or asks_start(plan.formula):
        return None
    if plan.compiled is None or plan.compiled.absent:
        return None

    def another(tally: Tally) -> MatchOperator:
        operator = open_operator(plan, tally, automaton=automaton)
        assert isinstance(operator, MatchOperator)
        return operator

    assert bound.window is not None
    return Slicing(bound.window.size, plan.mode.threads, 2 * _LEAST_ROWS, another)


def cut(times: np.ndarray, window: int, threads: int) -> list[Slice]:
    """Cut a batch into slices that take about the same time; a single one where that gains little.

    >>> cut(np.arange(1 << 18), 1000, 2)
    [Slice(before=0, begin=0, end=131572), Slice(before=130572, begin=131572, end=262144)]
    """
    rows = len(times)
    count = min(threads, rows // _LEAST_ROWS)
    whole = [Slice(0, 0, rows)]
    if count < 2:
        return whole

    def first_before(row: int) -> int:
        return int(np.searchsorted(times, int(times[row]) - window))

    middle = rows // 2
    more = middle - first_before(middle)
    each = (rows - more) // count
    begins = [each + more + each * number for number in range(count - 1)]
    befores = [first_before(begin) for begin in begins]
    for before, begin in zip(befores, begins, strict=True):
        # Where events lie before the first of the batch, they are known to one operator only.
        if before == 0 or each < _LEAST_GAIN * (begin - before):
            return whole
    parts = zip([0, *befores], [0, *begins], [*begins, rows], strict=True)
    return [Slice(*part) for part in parts]


def read_in_slices(
    slicing: Slicing, operator: Operator, batch: EventBatch, tally: Tally
) -> tuple[OperatorOutput, Operator, StoppedError | None] | None:
    """Let a query read a large batch on several threads.

    Returns what the batch completes, the operator that goes on, and where a budget ran out the
    error that says so; None where the batch is better read as a whole.
    """
    if not isinstance(operator, MatchOperator):
        return None
    slices = cut(batch.times, slicing.window, slicing.threads)
    if len(slices) < 2:
        return None
    operator.check(batch)  # values that no register can hold stop it before anything has changed
    readers = [_Reader(batch, each, slicing.open(Tally())) for each in slices[1:]]
    with ThreadPoolExecutor(len(readers), thread_name_prefix="ensue") as pool:
        futures: list[Future[None]] = [pool.submit(reader.read) for reader in readers]
        first = _Reader(batch, slices[0], operator)
        try:
            first.read()
        finally:
            for future in futures:
                future.exception()
    for future in futures:
        future.result()
    for reader in readers:
        tally.nulls += reader.operator.tally.nulls
        if tally.witness is not None and reader.seen is not None:
            tally.witness(reader.seen)
    outputs: list[OperatorOutput] = []
    before, stopped = first, first.stopped
    outputs.append(first.output)
    for reader in readers:
        if stopped is not None:
            break
        if reader.is_behind:
            # The budget ran out before its slice, where the operator before it went on.
            reader = _Reader(batch, reader.slice, before.operator)
            reader.read()
        outputs.append(reader.output)
        before, stopped = reader, reader.stopped
    before.operator.tally = tally
    joined = outputs[-1]
    for output in reversed(outputs[:-1]):
        joined = output._replace(more=joined)
    return joined, before.operator, stopped


class _Reader:
    """Reads a slice with an operator."""

    def __init__(self, batch: EventBatch, part: Slice, operator: MatchOperator) -> None:
        self.batch, self.slice, self.operator = batch, part, operator
        self.output: OperatorOutput
        self.stopped: StoppedError | None = None
        self.is_behind = False
        """Whether a budget ran out before the slice."""
        self.seen: Batch | None = None
        """The events of the slice as predicates were evaluated on them."""

    def read(self) -> None:
        part, operator = self.slice, self.operator
        try:
            if part.before < part.begin:
                operator.push(self.batch.slice(part.before, part.begin))
                # Values without a result were counted by the slice before.
                operator.tally = Tally(witness=self._see)
        except BudgetError:
            self.is_behind = True
            return
        try:
            self.output = operator.push(self.batch.slice(part.begin, part.end))
        except StoppedError as stopped:
            self.stopped, self.output = stopped, stopped.output

    def _see(self, batch: Batch) -> None:
        self.seen = batch
