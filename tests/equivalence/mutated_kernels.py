"""Mutations of the kernels themselves; run as a module with NUMBA_DISABLE_JIT=1.

Prints, as JSON, whether the suite notices each of them, and whether it fails without any.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

from ensue.kernels.graph import choose as choosing
from ensue.kernels.graph import enumerate as listing
from ensue.kernels.graph import expand as expansion
from ensue.kernels.graph import first as completing
from ensue.kernels.graph import order as ordering
from ensue.kernels.graph import segment
from ensue.kernels.graph.compact import Marked
from ensue.kernels.layout import NIL, UNION
from ensue.kernels.match import (
    configurations,
    due,
    factors,
    index,
    lazy,
    ranges,
    step_outcomes,
    subtrees,
    treap,
)
from ensue.kernels.match import correlate as correlation
from ensue.kernels.match import evaluate as evaluation
from ensue.kernels.match.layout import BEGUN, BRANCH, OWN, SINCE, STALE, WHOLE
from tests.equivalence.suite import Case, choice_suite, first_failure, related_suite, suite

Patch = pytest.MonkeyPatch


def none(patch: Patch) -> None:
    """Change nothing."""


def unions_are_not_ordered(patch: Patch) -> None:
    def join(graph: Any, counters: Any, a: int, from_a: int, b: int, from_b: int) -> int:
        if from_a > from_b:
            a, from_a, b = b, from_b, a
        node: int = evaluation.add_node(graph, counters, UNION, a, b, 0, from_a)
        return node

    patch.setattr(evaluation, "join", join)


def unions_know_the_earliest_start(patch: Patch) -> None:
    original = evaluation.join

    def join(graph: Any, counters: Any, a: int, from_a: int, b: int, from_b: int) -> int:
        node: int = original(graph, counters, a, from_a, b, from_b)
        graph.start[node] = min(from_a, from_b)
        return node

    patch.setattr(evaluation, "join", join)


def unions_forget_their_right_side(patch: Patch) -> None:
    patch.setattr(evaluation, "join", lambda graph, counters, a, from_a, b, from_b: a)


def outputs_forget_where_they_are(patch: Patch) -> None:
    original = evaluation.add_node
    patch.setattr(
        evaluation,
        "add_node",
        lambda graph, counters, label, left, right, position, start: original(
            graph, counters, label, left, right, 0, start
        ),
    )


def _packed_otherwise(patch: Patch, change: Callable[[Any], Any]) -> None:
    """Let enumeration see other clocks on the right side of unions."""
    original = listing.pack

    def pack(graph: Any) -> Any:
        packed = original(graph)
        packed[:, 2] = change(packed[:, 2])
        return packed

    patch.setattr(segment, "pack", pack)


def enumeration_ignores_the_window(patch: Patch) -> None:
    _packed_otherwise(patch, lambda clocks: np.iinfo(np.int64).max)


def enumeration_takes_the_edge_for_outside(patch: Patch) -> None:
    _packed_otherwise(patch, lambda clocks: clocks - 1)


# --- configurations with registers -----------------------------------------------------------


def contents_with_one_hash_are_taken_for_equal(patch: Patch) -> None:
    patch.setattr(index, "hash_of", lambda group, registers, row: group)
    patch.setattr(index, "same", lambda a, i, b, j: True)


def an_event_looks_for_its_partners_in_the_wrong_place(patch: Patch) -> None:
    patch.setattr(correlation, "partners_of", lambda index, group, content: 0)


def compaction_leaves_equalities_out_of_the_index(patch: Patch) -> None:
    original = configurations.rebuild

    def rebuild(tables: Any, slots: Any, index: Any, *rest: Any) -> None:
        original(tables, slots, index, *rest)
        index.partners[:] = NIL

    patch.setattr(configurations, "rebuild", rebuild)


def compaction_indexes_what_was_there_before(patch: Patch) -> None:
    original = configurations.rebuild

    def rebuild(tables: Any, slots: Any, *rest: Any) -> None:
        *_, keys = rest
        before = slots.registers.copy()
        slots.registers[: len(keys)] = before[: len(keys)][::-1]
        original(tables, slots, *rest)
        slots.registers[:] = before

    patch.setattr(configurations, "rebuild", rebuild)


def a_merge_forgets_what_was_there(patch: Patch) -> None:
    def add_runs(state: Any, slot: int, node: int, *_: int) -> None:
        state.slots.root[slot], state.slots.start[slot] = node, state.graph.start[node]

    patch.setattr(correlation, "add_runs", add_runs)


def guards_are_not_asked(patch: Patch) -> None:
    for place in (correlation, step_outcomes):
        patch.setattr(place, "allowed", lambda *_: True)


def registers_stay_as_they_are(patch: Patch) -> None:
    patch.setattr(correlation, "put", lambda *_: None)


def _searched_otherwise(patch: Patch, change: Callable[[Any, int], int]) -> None:
    """Give even few configurations a tree, and let a search find others."""
    original = treap.search

    def search(*arguments: Any) -> int:
        return change(arguments[-2], original(*arguments))

    patch.setattr(configurations, "SCAN_LIMIT", 0)
    patch.setattr(treap, "search", search)
    patch.setattr(correlation, "planted", lambda *_: NIL)


def a_search_misses_one(patch: Patch) -> None:
    _searched_otherwise(patch, lambda found, count: max(count - 1, 0))


def a_search_finds_one_twice(patch: Patch) -> None:
    def change(found: Any, count: int) -> int:
        if 0 < count < len(found) - 1:
            found[count] = found[0]
            count += 1
        return count

    _searched_otherwise(patch, change)


def a_range_misses_one(patch: Patch) -> None:
    original = ranges.gather_parts

    def gather_parts(*arguments: Any) -> int:
        return max(arguments[-1], original(*arguments) - 1)

    patch.setattr(configurations, "SCAN_LIMIT", 0)
    patch.setattr(ranges, "gather_parts", gather_parts)


def subtrees_forget_what_came(patch: Patch) -> None:
    """The node of a subtree stays as it was when a configuration gets other runs."""
    patch.setattr(configurations, "SCAN_LIMIT", 0)
    patch.setattr(correlation, "touch", lambda *_: None)


def subtrees_are_their_root_alone(patch: Patch) -> None:
    def whole_of(trees: Any, graph: Any, counters: Any, number: int, top: int, *_: Any) -> Any:
        trees.branches[top, BRANCH * number + SINCE] = trees.branches[top, BRANCH * number + BEGUN]
        return trees.branches[top, BRANCH * number + OWN]

    patch.setattr(configurations, "SCAN_LIMIT", 0)
    patch.setattr(due, "whole_of", whole_of)


def lazy_steps_are_not_taken(patch: Patch) -> None:
    patch.setattr(correlation, "extend", lambda *_: None)


def lazy_steps_are_never_applied(patch: Patch) -> None:
    patch.setattr(correlation, "prepare", lambda *_: 0)


def lazy_steps_are_for_later_runs_too(patch: Patch) -> None:
    """A configuration gets other runs before it is brought up to date."""
    patch.setattr(correlation, "bring_up", lambda *_: None)


def only_what_an_event_looks_for_is_brought_up_to_date(patch: Patch) -> None:
    """But not all of a state that ends."""
    original = lazy.bring_up_some

    def bring_up_some(*arguments: Any) -> int:
        return 0 if arguments[7] == NIL else original(*arguments)

    patch.setattr(lazy, "bring_up_some", bring_up_some)


def products_begin_too_early(patch: Patch) -> None:
    original = expansion.copy_factor

    def copy_factor(graph: Any, top: int, first: int, *rest: Any) -> int:
        return original(graph, top, 0, *rest)

    patch.setattr(expansion, "copy_factor", copy_factor)


def products_begin_too_late(patch: Patch) -> None:
    original = expansion.copy_factor

    def copy_factor(graph: Any, top: int, first: int, *rest: Any) -> int:
        return original(graph, top, int(graph.start[top]), *rest)

    patch.setattr(expansion, "copy_factor", copy_factor)


def subtrees_owe_nothing(patch: Patch) -> None:
    """What lazy steps owe to ranges of configurations is never asked for."""
    patch.setattr(configurations, "SHARED_FROM", 0)
    patch.setattr(configurations, "SCAN_LIMIT", 0)
    patch.setattr(correlation, "gather_due", lambda *arguments: arguments[-2])


def subtrees_owe_what_came_too_early(patch: Patch) -> None:
    """A configuration is owed paths that began before it."""
    original = due.owed

    def owed(graph: Any, counters: Any, node: int, root: int, first: int, *rest: int) -> Any:
        return original(graph, counters, node, root, 0, *rest)

    patch.setattr(configurations, "SHARED_FROM", 0)
    patch.setattr(configurations, "SCAN_LIMIT", 0)
    patch.setattr(due, "owed", owed)


def subtrees_owe_what_was_paid(patch: Patch) -> None:
    """A configuration is brought up to date, and those above it do not know."""
    patch.setattr(configurations, "SHARED_FROM", 0)
    patch.setattr(configurations, "SCAN_LIMIT", 0)
    patch.setattr(lazy, "touch", lambda *_: None)


def compaction_forgets_what_waits(patch: Patch) -> None:
    original = factors.needed_factors

    def needed_factors(*arguments: Any) -> Any:
        some, first = original(*arguments)
        return type(some)(*(each[:0] for each in some)), first[:0]

    patch.setattr(factors, "needed_factors", needed_factors)


def compaction_forgets_what_was_applied(patch: Patch) -> None:
    patch.setattr(Marked, "starts_at", lambda self, numbers: np.zeros_like(numbers))


def a_side_stays(patch: Patch) -> None:
    """What is lower than a slot stays as it was when something comes there."""

    def make_stale(trees: Any, number: int, slot: int, low: bool) -> None:
        trees.branches[slot, BRANCH * number + WHOLE] = STALE

    patch.setattr(configurations, "SCAN_LIMIT", 0)
    patch.setattr(treap, "make_stale", make_stale)
    patch.setattr(subtrees, "make_stale", make_stale)


OF_REGISTERS: tuple[Callable[[Patch], None], ...] = (
    contents_with_one_hash_are_taken_for_equal,
    an_event_looks_for_its_partners_in_the_wrong_place,
    compaction_leaves_equalities_out_of_the_index,
    compaction_indexes_what_was_there_before,
    a_merge_forgets_what_was_there,
    guards_are_not_asked,
    registers_stay_as_they_are,
    a_search_misses_one,
    a_search_finds_one_twice,
    a_range_misses_one,
    subtrees_forget_what_came,
    subtrees_are_their_root_alone,
    a_side_stays,
    lazy_steps_are_not_taken,
    lazy_steps_are_never_applied,
    lazy_steps_are_for_later_runs_too,
    only_what_an_event_looks_for_is_brought_up_to_date,
    products_begin_too_early,
    products_begin_too_late,
    subtrees_owe_nothing,
    subtrees_owe_what_came_too_early,
    subtrees_owe_what_was_paid,
    compaction_forgets_what_waits,
    compaction_forgets_what_was_applied,
)

# --- the choice on the match graph -----------------------------------------------------------


def another_difference_decides(patch: Patch) -> None:
    original, other = choosing.preferred, {choosing.LAST: choosing.NEXT}
    patch.setattr(
        choosing,
        "preferred",
        lambda chosen, visible, a, b, strategy: original(
            chosen, visible, a, b, other.get(strategy, choosing.LAST)
        ),
    )


def one_of_equal_supports_is_chosen(patch: Patch) -> None:
    patch.setattr(choosing, "both", lambda chosen, counters, a, b: a)


def the_choice_ignores_the_window(patch: Patch) -> None:
    patch.setattr(choosing, "alive", lambda *_: True)
    patch.setattr(ordering, "is_inside", lambda *_: True)


def every_node_covers_every_other(patch: Patch) -> None:
    patch.setattr(ordering, "covers", lambda *_: True)


def covering_is_turned_around(patch: Patch) -> None:
    original = ordering.covers

    def covers(graph: Any, order: Any, visible: Any, above: int, below: int) -> bool:
        known: bool = original(graph, order, visible, below, above)
        return known

    patch.setattr(ordering, "covers", covers)


def spines_are_followed_to_their_ends(patch: Patch) -> None:
    def along(order: Any, node: int, start: int) -> int:
        while order.notes[node, ordering.SPINE] != NIL:
            node = order.notes[node, ordering.SPINE]
        return node

    patch.setattr(ordering, "along", along)


def starts_complete_again(patch: Patch) -> None:
    original = completing.walk_open

    def walk_open(graph: Any, *rest: Any) -> int:
        graph.position[graph.label <= 0] = 0
        return original(graph, *rest)

    patch.setattr(completing, "walk_open", walk_open)


def starts_left_of_a_spine_are_all_walked(patch: Patch) -> None:
    patch.setattr(completing, "larger", lambda least, _: least)


def events_that_do_not_count_count(patch: Patch) -> None:
    patch.setattr(choosing, "settled", lambda chosen, visible, node: node)


OF_CHOICE: tuple[Callable[[Patch], None], ...] = (
    another_difference_decides,
    one_of_equal_supports_is_chosen,
    the_choice_ignores_the_window,
    every_node_covers_every_other,
    covering_is_turned_around,
    spines_are_followed_to_their_ends,
    starts_complete_again,
    starts_left_of_a_spine_are_all_walked,
    events_that_do_not_count_count,
)

MUTATIONS: tuple[Callable[[Patch], None], ...] = (
    none,
    unions_are_not_ordered,
    unions_know_the_earliest_start,
    unions_forget_their_right_side,
    outputs_forget_where_they_are,
    enumeration_ignores_the_window,
    enumeration_takes_the_edge_for_outside,
)


def _fails(cases: Callable[[], tuple[Case, ...]]) -> bool:
    """Tell whether a mutation is noticed, be it by an index that leads nowhere."""
    try:
        return first_failure(cases) is not None
    except IndexError:
        return True


def main() -> None:
    """Try them all."""
    assert numba.config.DISABLE_JIT, "compiled kernels cannot be mutated"
    suite()
    noticed = {}
    for apply in MUTATIONS:
        with pytest.MonkeyPatch.context() as patch:
            apply(patch)
            noticed[apply.__name__] = first_failure() is not None
    noticed["none"] = noticed["none"] or first_failure(related_suite) is not None
    for apply in OF_REGISTERS:
        with pytest.MonkeyPatch.context() as patch:
            apply(patch)
            noticed[apply.__name__] = first_failure(related_suite) is not None
    noticed["none"] = noticed["none"] or first_failure(choice_suite) is not None
    for apply in OF_CHOICE:
        with pytest.MonkeyPatch.context() as patch:
            apply(patch)
            noticed[apply.__name__] = _fails(choice_suite)
    json.dump(noticed, sys.stdout)


if __name__ == "__main__":
    main()
