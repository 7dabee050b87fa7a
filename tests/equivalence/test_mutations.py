"""Mutations of the engine, each of which the suite of query-stream pairs must notice.

A suite that passes says little unless it would have failed on an engine that is wrong. Kernels are
compiled: their tables and callers are mutated here, they themselves in a process without Numba.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ensue.automata import machine as m
from ensue.automata.determine import START, Determined, Step
from ensue.engine import fast, reading
from ensue.predicates.evaluate import Batch
from ensue.predicates.symbols import Alphabet
from ensue.runtime import evaluator, extract
from ensue.runtime.layout import DEAD, NOTHING, STAY
from tests.equivalence.suite import first_failure, suite

Patch = pytest.MonkeyPatch
Mutation = Callable[[Patch], None]

MUTATIONS: dict[str, Mutation] = {}


def mutation(apply: Mutation) -> Mutation:
    MUTATIONS[apply.__name__] = apply
    return apply


# --- machines: what may be skipped -----------------------------------------------------------


@mutation
def a_sequence_never_skips(patch: Patch) -> None:
    def steps(self: m.Chain, state: Any, holds: m.Holds) -> Iterator[m.Move]:
        index, inner = state
        if inner is not None:
            yield from self._inside(index, self.items[index].next(inner, holds))
        else:
            yield from self._from(index, holds)

    patch.setattr(m.Chain, "next", steps)


@mutation
def a_contiguous_sequence_skips(patch: Patch) -> None:
    original = m.Chain.next
    patch.setattr(
        m.Chain,
        "next",
        lambda self, state, holds: original(replace(self, contiguous=False), state, holds),
    )


@mutation
def an_optional_item_is_required(patch: Patch) -> None:
    def start(self: m.Chain, done: int, holds: m.Holds) -> Iterator[m.Move]:
        if done + 1 < len(self.items):
            yield from self._inside(done + 1, self.items[done + 1].first(holds))

    patch.setattr(m.Chain, "_from", start)


@mutation
def a_repetition_never_skips(patch: Patch) -> None:
    original = m.Repeated.next
    patch.setattr(
        m.Repeated,
        "next",
        lambda self, state, holds: original(replace(self, contiguous=True), state, holds),
    )


@mutation
def a_contiguous_repetition_skips(patch: Patch) -> None:
    original = m.Repeated.next
    patch.setattr(
        m.Repeated,
        "next",
        lambda self, state, holds: original(replace(self, contiguous=False), state, holds),
    )


@mutation
def a_repetition_ends_after_one_round(patch: Patch) -> None:
    def once(_: m.Repeated, moves: m.Moves) -> Iterator[m.Move]:
        for label, final, state in moves:
            yield m.Move(label, final, None if state is None else (state,))

    patch.setattr(m.Repeated, "_round", once)


# --- machines: both, one of, all, none -------------------------------------------------------


@mutation
def or_drops_its_last_item(patch: Patch) -> None:
    original = m.Choice.first
    patch.setattr(
        m.Choice,
        "first",
        lambda self, holds: original(replace(self, items=self.items[:-1]), holds),
    )


def _agreed(
    left: m.Moves,
    right: m.Moves,
    same: Callable[[m.Move, m.Move], bool],
    ends: Callable[[bool, bool], bool],
) -> Iterator[m.Move]:
    rights = list(right)
    for a in left:
        for b in rights:
            if same(a, b):
                alive = a.state is not None and b.state is not None
                yield m.Move(a.label, ends(a.final, b.final), (a.state, b.state) if alive else None)


@mutation
def and_ignores_labels(patch: Patch) -> None:
    patch.setattr(
        m.Agreement,
        "_agreed",
        lambda self, left, right: _agreed(left, right, lambda a, b: True, lambda a, b: a and b),
    )


@mutation
def and_ends_with_one_side(patch: Patch) -> None:
    patch.setattr(
        m.Agreement,
        "_agreed",
        lambda self, left, right: _agreed(
            left, right, lambda a, b: a.label == b.label, lambda a, b: a or b
        ),
    )


@mutation
def all_forgets_overlap(patch: Patch) -> None:
    """While one side is under way, the others wait."""
    original = m._side

    def apart(self: m.Together, state: Any, holds: m.Holds) -> Iterator[m.Move]:
        outset = all(each is m._BEFORE for each in state)
        busy = [index for index, each in enumerate(state) if isinstance(each, tuple)]
        for active in busy or range(len(self.items)):
            for side in original(self.items[active], state[active], holds):
                states = (*state[:active], side.state, *state[active + 1 :])
                if all(each is m._DONE for each in states):
                    if side.ends:
                        yield m.Move(side.label, True, None)
                elif not (outset and all(each is m._BEFORE for each in states)):
                    yield m.Move(side.label, False, states)

    patch.setattr(m.Together, "next", apart)


@mutation
def all_begins_with_its_first_item(patch: Patch) -> None:
    original = m.Together.next

    def ordered(self: m.Together, state: Any, holds: m.Holds) -> Iterator[m.Move]:
        for move in original(self, state, holds):
            if move.state is None or move.state[0] is not m._BEFORE:
                yield move

    patch.setattr(m.Together, "next", ordered)


@mutation
def unless_only_looks_where_the_match_ends(patch: Patch) -> None:
    """The printed construction of paper 000."""

    def guarded(
        self: m.Without, moves: m.Moves, running: frozenset[Any], holds: m.Holds
    ) -> Iterator[m.Move]:
        rivals = [
            rival
            for each in (self.absent.first(holds), *(self.absent.next(r, holds) for r in running))
            for rival in each
        ]
        guard = frozenset(rival.state for rival in rivals if rival.state is not None)
        forbidden = any(rival.final for rival in rivals)
        for label, final, state in moves:
            if state is not None or not forbidden:
                after = None if state is None else (state, guard)
                yield m.Move(label, final and not forbidden, after)

    patch.setattr(m.Without, "_guarded", guarded)


@mutation
def unless_only_looks_from_where_the_match_starts(patch: Patch) -> None:
    original = m.Without.next
    patch.setattr(
        m.Without,
        "next",
        lambda self, state, holds: original(
            replace(self, absent=_Started(self.absent)), state, holds
        ),
    )


class _Started:
    """A machine that starts no new runs."""

    nullable = False

    def __init__(self, inner: m.Machine) -> None:
        self.next = inner.next

    def first(self, holds: m.Holds) -> m.Moves:
        return ()


@mutation
def unless_is_ignored(patch: Patch) -> None:
    patch.setattr(m.Without, "first", lambda self, holds: self.inner.first(holds))
    patch.setattr(m.Without, "next", lambda self, state, holds: self.inner.next(state, holds))


@mutation
def not_is_always_true(patch: Patch) -> None:
    patch.setattr(m.NotOne, "first", lambda self, holds: [m.Move(0, True, None)])


@mutation
def not_is_never_true(patch: Patch) -> None:
    patch.setattr(m.NotOne, "first", lambda self, holds: [])


@mutation
def an_event_may_have_any_type(patch: Patch) -> None:
    patch.setattr(m.One, "first", lambda self, holds: [m.Move(self.label, True, None)])


# --- machines: labels ------------------------------------------------------------------------


@mutation
def filters_are_ignored(patch: Patch) -> None:
    patch.setattr(m.Filtered, "change", lambda self, label, holds: label)


@mutation
def filters_look_at_every_event(patch: Patch) -> None:
    patch.setattr(
        m.Filtered, "change", lambda self, label, holds: label if holds(self.test) else None
    )


@mutation
def projections_are_ignored(patch: Patch) -> None:
    patch.setattr(m.Projected, "change", lambda self, label, holds: label)


@mutation
def as_forgets_the_name(patch: Patch) -> None:
    patch.setattr(m.Named, "change", lambda self, label, holds: label)


@mutation
def as_binds_what_is_not_bound(patch: Patch) -> None:
    patch.setattr(m.Named, "change", lambda self, label, holds: label | self.variable)


@mutation
def as_forgets_what_was_bound(patch: Patch) -> None:
    patch.setattr(m.Named, "change", lambda self, label, holds: self.variable if label else 0)


# --- machines: strategies --------------------------------------------------------------------


@mutation
def start_is_ignored(patch: Patch) -> None:
    patch.setattr(m.FromStart, "first", lambda self, holds: self.inner.first(holds))


@mutation
def strict_is_ignored(patch: Patch) -> None:
    patch.setattr(
        m.WithoutGap,
        "_phased",
        lambda self, phase, moves: [
            m.Move(label, final, None if state is None else (0, state))
            for label, final, state in moves
        ],
    )


@mutation
def strict_allows_a_gap_of_one(patch: Patch) -> None:
    def phased(_: m.WithoutGap, phase: int, moves: m.Moves) -> Iterator[m.Move]:
        for label, final, state in moves:
            if label and phase == 3:
                continue
            after = 1 if label else min(phase + 1, 3) if phase else 0
            yield m.Move(label, final, None if state is None else (after, state))

    patch.setattr(m.WithoutGap, "_phased", phased)


def _nobody(rank: int, ours: bool, theirs: bool) -> int | None:
    return None


@mutation
def next_is_dropped(patch: Patch) -> None:
    patch.setitem(m.COMPARE, "NEXT", _nobody)


@mutation
def last_is_dropped(patch: Patch) -> None:
    patch.setitem(m.COMPARE, "LAST", _nobody)


@mutation
def max_is_dropped(patch: Patch) -> None:
    patch.setitem(m.COMPARE, "MAX", _nobody)


@mutation
def next_is_last(patch: Patch) -> None:
    patch.setitem(m.COMPARE, "NEXT", m._last)


@mutation
def next_is_max(patch: Patch) -> None:
    patch.setitem(m.COMPARE, "NEXT", m._max)


@mutation
def last_is_next(patch: Patch) -> None:
    patch.setitem(m.COMPARE, "LAST", m._next)


@mutation
def max_is_next(patch: Patch) -> None:
    patch.setitem(m.COMPARE, "MAX", m._next)


@mutation
def max_is_beaten_by_what_marks_less(patch: Patch) -> None:
    patch.setitem(m.COMPARE, "MAX", lambda rank, ours, theirs: m._max(rank, theirs, ours))


@mutation
def rivals_with_other_bindings_are_forgotten(patch: Patch) -> None:
    """The printed construction of paper 000: equal so far means equal bindings."""
    original = m.Unbeaten._compared

    def compared(
        self: m.Unbeaten, moves: list[m.Move], theirs: list[tuple[int, list[m.Move]]]
    ) -> Iterator[m.Move]:
        for move in moves:
            alike = [
                (
                    rank,
                    [
                        each
                        for each in others
                        if rank or bool(each.label) != bool(move.label) or each.label == move.label
                    ],
                )
                for rank, others in theirs
            ]
            yield from original(self, [move], alike)

    patch.setattr(m.Unbeaten, "_compared", compared)


# --- determinisation and tables --------------------------------------------------------------


@mutation
def runs_with_the_same_labels_stay_apart(patch: Patch) -> None:
    """Every machine state is a deterministic state, so matches are found more than once."""

    def work_out(self: Determined, state: int, holds: m.Holds) -> tuple[Step, ...]:
        machine = self.compiled.machine
        moves = (
            machine.first(holds)
            if state == START
            else [move for each in self.contents[state] for move in machine.next(each, holds)]
        )
        return tuple(
            Step(label, final, -1 if after is None else self._number(frozenset({after})))
            for label, final, after in moves
        )

    patch.setattr(Determined, "work_out", work_out)


@mutation
def a_merged_run_ends_only_if_the_last_of_them_does(patch: Patch) -> None:
    def work_out(self: Determined, state: int, holds: m.Holds) -> tuple[Step, ...]:
        machine = self.compiled.machine
        moves = (
            machine.first(holds)
            if state == START
            else [move for each in self.contents[state] for move in machine.next(each, holds)]
        )
        ends: dict[int, bool] = {}
        reached: dict[int, set[Any]] = {}
        for label, final, after in moves:
            ends[label] = final
            reached.setdefault(label, set()).update([] if after is None else [after])
        return tuple(
            Step(label, ends[label], self._number(frozenset(after)) if after else -1)
            for label, after in sorted(reached.items())
            if ends[label] or after
        )

    patch.setattr(Determined, "work_out", work_out)


@mutation
def waiting_states_die(patch: Patch) -> None:
    original = evaluator.Table._cell
    patch.setattr(
        evaluator.Table,
        "_cell",
        lambda self, state, bits: DEAD if (cell := original(self, state, bits)) == STAY else cell,
    )


def _steps(patch: Patch, change: Callable[[tuple[Step, ...]], tuple[Step, ...]]) -> None:
    original = Determined.step
    patch.setattr(
        Determined, "step", lambda self, state, symbol: change(original(self, state, symbol))
    )


@mutation
def only_the_first_of_several_steps_is_taken(patch: Patch) -> None:
    _steps(patch, lambda steps: steps[:1])


@mutation
def what_can_go_on_never_ends(patch: Patch) -> None:
    _steps(
        patch,
        lambda steps: tuple(
            Step(step.label, step.final and step.state == NOTHING, step.state) for step in steps
        ),
    )


@mutation
def what_ends_never_goes_on(patch: Patch) -> None:
    _steps(
        patch,
        lambda steps: tuple(
            Step(step.label, step.final, NOTHING if step.final else step.state) for step in steps
        ),
    )


# --- predicates and symbols ------------------------------------------------------------------


@mutation
def two_symbols_are_one(patch: Patch) -> None:
    original = Alphabet.read

    def read(self: Alphabet, *arguments: Any) -> np.ndarray:
        symbols = original(self, *arguments)
        return np.where(symbols == len(self.bits) - 1, np.int32(0), symbols)

    patch.setattr(Alphabet, "read", read)


@mutation
def null_satisfies_a_predicate(patch: Patch) -> None:
    original = Batch.compute

    def holds(self: Batch, predicate: Any) -> np.ndarray:
        found: Any = original(self, predicate)
        return found.values.astype(bool) | ~found.is_valid()

    patch.setattr(Batch, "holds", holds)


@mutation
def every_event_opens_its_stream(patch: Patch) -> None:
    original = Alphabet.read
    patch.setattr(
        Alphabet,
        "read",
        lambda self, batch, streams, first: original(
            self, batch, streams, None if first is None else np.ones_like(first)
        ),
    )


# --- clauses ---------------------------------------------------------------------------------


def _options(patch: Patch, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Change what the evaluator is told."""
    original = fast.Evaluator
    patch.setattr(
        fast,
        "Evaluator",
        lambda *arguments, **options: original(*arguments, **{**options, **change(options)}),
    )


@mutation
def the_window_is_one_too_long(patch: Patch) -> None:
    _options(patch, lambda told: {"window": told["window"] + (told["window"] >= 0)})


@mutation
def the_window_is_one_too_short(patch: Patch) -> None:
    _options(patch, lambda told: {"window": max(told["window"] - 1, -1)})


@mutation
def the_window_is_ignored(patch: Patch) -> None:
    _options(patch, lambda told: {"window": -1})


@mutation
def limit_is_ignored(patch: Patch) -> None:
    _options(patch, lambda told: {"limit": -1})


@mutation
def limit_is_one_too_many(patch: Patch) -> None:
    _options(patch, lambda told: {"limit": told["limit"] + (told["limit"] >= 0)})


@mutation
def consume_is_ignored(patch: Patch) -> None:
    _options(patch, lambda told: {"consume": "NONE"})


@mutation
def a_partition_consumes_all_others(patch: Patch) -> None:
    _options(patch, lambda told: {"consume": told["consume"].replace("PARTITION", "ANY")})


@mutation
def consume_by_any_spares_other_partitions(patch: Patch) -> None:
    _options(patch, lambda told: {"consume": told["consume"].replace("ANY", "PARTITION")})


def _keys(patch: Patch, change: Callable[[np.ndarray], np.ndarray]) -> None:
    original = fast.Keys.read

    def read(*arguments: Any, **options: Any) -> tuple[np.ndarray, Any]:
        keys, opens = original(*arguments, **options)
        return change(keys), opens

    patch.setattr(fast.Keys, "read", read)


@mutation
def all_keys_are_one(patch: Patch) -> None:
    _keys(patch, lambda keys: np.minimum(keys, np.int32(0)))


@mutation
def null_is_a_key(patch: Patch) -> None:
    _keys(patch, lambda keys: np.where(keys < 0, keys.max(initial=0) + np.int32(1), keys))


@mutation
def events_windows_count_the_events_of_other_keys(patch: Patch) -> None:
    def count(keys: np.ndarray, _: np.ndarray, ordinals: np.ndarray) -> None:
        ordinals[:] = np.arange(len(keys))

    patch.setattr(reading, "count_ordinals", count)


# --- compaction ------------------------------------------------------------------------------


@mutation
def compaction_drops_the_right_side_of_unions(patch: Patch) -> None:
    original = extract.mark

    def mark(graph: Any, *arguments: Any) -> Any:
        return original(graph._replace(right=np.full_like(graph.right, NOTHING)), *arguments)

    patch.setattr(extract, "mark", mark)


@mutation
def compaction_loses_a_configuration(patch: Patch) -> None:
    original = evaluator._live_slots

    def live(slots: Any) -> tuple[np.ndarray, np.ndarray]:
        every, owners = original(slots)
        return every[:-1], owners[:-1]

    patch.setattr(evaluator, "_live_slots", live)


@mutation
def compaction_mixes_up_keys(patch: Patch) -> None:
    original = evaluator.Evaluator._relink
    patch.setattr(
        evaluator.Evaluator,
        "_relink",
        lambda self, *rest: original(self, *rest[:-1], np.zeros_like(rest[-1])),
    )


# --- tests -----------------------------------------------------------------------------------


def test_the_engine_passes_the_suite() -> None:
    failure = first_failure()
    assert failure is None, f"{failure.query}\n{failure.rows}"


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_fails_the_suite(name: str, monkeypatch: Patch) -> None:
    suite()  # The reference shares expressions with the engine: ask it before anything is mutated.
    MUTATIONS[name](monkeypatch)
    assert first_failure() is not None, "nothing notices"


def test_mutations_of_kernels_fail_the_suite() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.equivalence.mutated_kernels"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    noticed = json.loads(run.stdout)
    assert noticed.pop("none") is False
    assert noticed
    assert all(noticed.values()), noticed
