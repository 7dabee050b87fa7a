"""Mutations of the operators' machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ensue.automata import machine as m
from tests.equivalence.mutations import Patch, mutation

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
    original = m.side_moves

    def apart(self: m.Together, state: Any, holds: m.Holds) -> Iterator[m.Move]:
        outset = all(each is m.BEFORE for each in state)
        busy = [index for index, each in enumerate(state) if isinstance(each, tuple)]
        for active in busy or range(len(self.items)):
            for side in original(self.items[active], state[active], holds):
                states = (*state[:active], side.state, *state[active + 1 :])
                if all(each is m.DONE for each in states):
                    if side.ends:
                        yield m.Move(side.label, True, None)
                elif not (outset and all(each is m.BEFORE for each in states)):
                    yield m.Move(side.label, False, states)

    patch.setattr(m.Together, "next", apart)


@mutation
def all_begins_with_its_first_item(patch: Patch) -> None:
    original = m.Together.next

    def ordered(self: m.Together, state: Any, holds: m.Holds) -> Iterator[m.Move]:
        for move in original(self, state, holds):
            if move.state is None or move.state[0] is not m.BEFORE:
                yield move

    patch.setattr(m.Together, "next", ordered)


@mutation
def unless_only_looks_where_the_match_ends(patch: Patch) -> None:
    """The printed construction of [CEL]."""

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
    patch.setitem(m.COMPARE, "NEXT", m.compare_last)


@mutation
def next_is_max(patch: Patch) -> None:
    patch.setitem(m.COMPARE, "NEXT", m.compare_max)


@mutation
def last_is_next(patch: Patch) -> None:
    patch.setitem(m.COMPARE, "LAST", m.compare_next)


@mutation
def max_is_next(patch: Patch) -> None:
    patch.setitem(m.COMPARE, "MAX", m.compare_next)


@mutation
def max_is_beaten_by_what_marks_less(patch: Patch) -> None:
    patch.setitem(m.COMPARE, "MAX", lambda rank, ours, theirs: m.compare_max(rank, theirs, ours))


@mutation
def rivals_with_other_bindings_are_forgotten(patch: Patch) -> None:
    """The printed construction of [CEL]: equal so far means equal bindings."""
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
