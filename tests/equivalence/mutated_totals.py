"""Mutations of the kernels that count, add up, aggregate and prune; with NUMBA_DISABLE_JIT=1.

Prints, as JSON, whether the cases below notice each of them, and whether one fails without any.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numba
import numpy as np
import pytest

import ensue
from ensue.engine.run import find_matches
from ensue.kernels.count import count as counting
from ensue.kernels.count import flip as flipping
from ensue.kernels.graph import bounded, path_totals
from ensue.kernels.layout import FOREVER, NIL, UNION
from ensue.options import ReadOptions
from ensue.results import bounds as pruning
from ensue.results import folding as aggregating
from tests.equivalence.suite import stream

Patch = pytest.MonkeyPatch

TOTALS = "count(*) AS n, sum(b.v) AS s, avg(b.v) AS a, min(b.v) AS l, max(b.v) AS h"
CASES = (
    (TOTALS, "(A AS a ; B AS b) FILTER a.v < b.v WITHIN 4 EVENTS", "A1 A1 A1 B2 B2 B2 B2"),
    (TOTALS, "A ; (B AS b)+ ; C", "A B1 B2 A B3 C B5 C"),
    (TOTALS, "A ; (B AS b)+ ; C WITHIN 4 EVENTS", "A B1 A B2 B C A B4 B0 C B1 C A B2 C A B7 B8 C"),
    (TOTALS, "(A OR B AS b)+ WITHIN 2 EVENTS", "A B1 B2 A B3 B B1 A B2 B2 A"),
    (TOTALS, "A ; B AS b PARTITION BY [k] WITHIN 3 EVENTS", "Ap Aq B1p B2q A B3p B4q Ap B5p"),
    (TOTALS, "A ; (B AS b)+ CONSUME BY ANY", "A A B1 B2 A B3 B4"),
    (TOTALS, "(A ; B AS b) PARTITION BY [k] CONSUME BY PARTITION", "Ap Aq B1p B2p B3q B4q"),
    (TOTALS, "(B+ AS b) FILTER b[increasing(v)] WITHIN 3 EVENTS", "B1 B3 B2 B4 B B5 B1 B6"),
    (TOTALS, "(A AS a ; (B AS b)+) FILTER a.v < b.v WITHIN 4 EVENTS", "A1 B2 B0 A2 B3 B4 B1 A B2"),
    (
        "*",
        "(A ; (B AS b)+) AGGREGATE Y[n = count(b), s = sum(b.v), r = range(b.v)]",
        "A B1 B3 B B2",
    ),
    ("*", "(A ; (B AS b)+) AGGREGATE Y[l = min(b.v), h = max(b.v), a = avg(b.v)]", "A B4 B1 B B2"),
    (
        "*",
        "(A ; (B AS b)+) AGGREGATE Y[f = first(b.v), e = last(b.v), d = stddev(b.v)]",
        "A B B1 B4 B2",
    ),
    ("*", "(A ; (B AS b)+) AGGREGATE Y[n = count(b)] FILTER Y[n <= 2]", "A B1 B2 B3 B4"),
    (
        "*",
        "(A ; (B AS b)+) AGGREGATE Y[n = count(b)] FILTER Y[n >= 3] WITHIN 4 EVENTS",
        "B A B1 B B3 B4",
    ),
    ("*", "(A ; (B AS b)+) AGGREGATE Y[s = sum(b.v)] FILTER Y[s = 3]", "A B1 B2 B3 B0"),
    ("*", "(A ; (B AS b)+) AGGREGATE Y[l = min(b.v)] FILTER Y[l > 1]", "A B1 B2 B3 B"),
    ("*", "(A ; (B AS b)+) AGGREGATE Y[h = max(b.v)] FILTER Y[h <= 2]", "A B1 B2 B3 B"),
    (
        "*",
        "A ; (((B AS b)+ AGGREGATE Y[s = sum(b.v)] FILTER Y[s > 2]) ; C)+",
        "A B1 B2 C B3 C B1 C",
    ),
    ("*", "A ; ((B AS b)+ AGGREGATE Y[n = count(b)] FILTER Y[n = 2])? ; C", "A B1 B2 C B3 C"),
)


@dataclass(frozen=True)
class Case:
    """A query, a stream, and what the reference says."""

    query: ensue.Query
    rows: list[dict[str, Any]]
    expected: list[Any]

    def agrees(self) -> bool:
        """Tell whether the engine, as it is now, finds what it must."""
        try:
            return _found(self.query, self.rows) == self.expected
        except (ArithmeticError, IndexError, ValueError, AssertionError):
            return False


def _found(query: ensue.Query, rows: list[dict[str, Any]], **how: Any) -> list[Any]:
    matches = find_matches(query, rows, ReadOptions(), positions_only=False, **how)
    if matches.schema.totals is not None:
        return [_short((row.time, row.partition, row.values)) for row in matches]
    return sorted(
        _short((m.start, m.end, m.bindings, [m.computed(y) for y in matches.schema.computed]))
        for m in matches
    )


def _short(value: Any) -> str:
    """Write a value down, doubles to nine digits."""
    match value:
        case float():
            return f"{value:.9g}"
        case dict():
            return str({name: _short(each) for name, each in value.items()})
        case list() | tuple():
            return str([_short(each) for each in value])
        case _:
            return str(value)


@cache
def cases() -> tuple[Case, ...]:
    """All cases, judged before anything is mutated."""
    found = []
    for select, where, words in CASES:
        query = ensue.compile(f"SELECT {select} FROM S WHERE {where}")
        rows = stream(words)
        found.append(Case(query, rows, _found(query, rows, by_definition=True)))
    return tuple(found)


def none(patch: Patch) -> None:
    """Change nothing."""


# --- weights ---------------------------------------------------------------------------------


def _steps(change: Callable[..., None]) -> Callable[[Patch], None]:
    """Mutate what one more event adds to the runs of a set."""

    def apply(patch: Patch) -> None:
        original = counting.add_step
        for module in (counting, flipping):
            patch.setattr(module, "add_step", lambda *given: change(original, *given))

    return apply


def _without_values(original: Any, weights: Any, at: int, a: int, binds: Any, *rest: Any) -> None:
    bound = type(binds)(*(each & False for each in binds))
    original(weights, at, a, bound, *rest)


def _for_one_run(original: Any, weights: Any, at: int, a: int, *rest: Any) -> None:
    number = weights.whole[a, 0], weights.real[a, 0]
    weights.whole[a, 0], weights.real[a, 0] = min(number[0], 1), min(number[1], 1.0)
    original(weights, at, a, *rest)
    weights.whole[a, 0], weights.real[a, 0] = number
    weights.whole[at, 0] += number[0] - min(number[0], 1)
    weights.real[at, 0] += number[1] - min(number[1], 1.0)


def _with_the_first_event(original: Any, *given: Any) -> None:
    original(*given[:-1], 0)


a_step_adds_no_values = _steps(_without_values)
a_step_adds_values_once_for_all_runs = _steps(_for_one_run)
a_step_adds_the_values_of_another_event = _steps(_with_the_first_event)


def a_product_forgets_the_sums_of_its_left_side(patch: Patch) -> None:
    original = counting.add_product

    def product(weights: Any, at: int, a: int, b: int) -> None:
        kept = weights.whole[a, 1:].copy(), weights.real[a, 1:].copy()
        weights.whole[a, 1:], weights.real[a, 1:] = 0, 0
        original(weights, at, a, b)
        weights.whole[a, 1:], weights.real[a, 1:] = kept

    patch.setattr(counting, "add_product", product)


def a_product_forgets_bounds(patch: Patch) -> None:
    original = counting.add_product

    def product(weights: Any, at: int, a: int, b: int) -> None:
        before = weights.least[at].copy()
        original(weights, at, a, b)
        weights.least[at] = before

    patch.setattr(counting, "add_product", product)


def the_flip_keeps_one_start_only(patch: Patch) -> None:
    original = counting.flip

    def flip(*given: Any) -> Any:
        state, key = given[2], given[4]
        found = original(*given)
        front = state.runs.front[key]
        if found[0] < 0 and front >= 0:
            state.nodes.next[front] = NIL
        return found

    patch.setattr(counting, "flip", flip)


def the_flip_keeps_what_has_left_the_window(patch: Patch) -> None:
    original = counting.flip
    patch.setattr(counting, "flip", lambda *given: original(*given[:-1], FOREVER))


def the_graph_adds_no_values(patch: Patch) -> None:
    patch.setattr(path_totals, "add_event", lambda *_: None)


def the_graph_adds_the_values_of_another_event(patch: Patch) -> None:
    original = path_totals.add_event
    patch.setattr(path_totals, "add_event", lambda *given: original(*given[:-1], 0))


def what_the_window_cuts_is_not_cleared(patch: Patch) -> None:
    patch.setattr(path_totals, "set_number", lambda *_: None)


def a_union_adds_one_side_only(patch: Patch) -> None:
    original = path_totals.weigh_paths

    def weigh(graph: Any, *rest: Any) -> None:
        right = np.where(graph.label == UNION, graph.left, graph.right)
        original(graph._replace(right=right), *rest)

    patch.setattr(path_totals, "weigh_paths", weigh)


def paths_beyond_the_window_are_added(patch: Patch) -> None:
    original = path_totals.weigh_paths

    def weigh(graph: Any, *rest: Any) -> None:
        clocks = graph.start_clock.copy()
        clocks[:] = clocks.max(initial=0)
        original(graph._replace(start_clock=clocks), *rest)

    patch.setattr(path_totals, "weigh_paths", weigh)


# --- aggregates of matches -------------------------------------------------------------------


def _folds(change: Callable[..., tuple[Any, ...]]) -> Callable[[Patch], None]:
    """Mutate what the kernels of aggregates are given."""

    def apply(patch: Patch) -> None:
        for name in ("fold_whole", "fold_real"):
            original = getattr(aggregating, name)
            patch.setattr(aggregating, name, lambda *given, o=original: o(*change(*given)))

    return apply


aggregates_read_nulls = _folds(
    lambda column, *rest: (column._replace(known=column.known[:0]), *rest)
)
aggregates_read_one_event_only = _folds(
    lambda column, groups, *rest: (
        column,
        groups._replace(rows=groups.rows * 0 + groups.rows.min(initial=0)),
        *rest,
    )
)


# --- pruning ---------------------------------------------------------------------------------


def everything_is_pruned_from_above(patch: Patch) -> None:
    original = bounded.bound_paths

    def bound(graph: Any, bounds: Any) -> None:
        original(graph, bounds)
        bounds.least[:] = bounds.most

    _patch_user(patch, bound)


def everything_is_pruned_from_below(patch: Patch) -> None:
    original = bounded.bound_paths

    def bound(graph: Any, bounds: Any) -> None:
        original(graph, bounds)
        bounds.most[:] = bounds.least

    _patch_user(patch, bound)


def scopes_do_not_begin_anew(patch: Patch) -> None:
    original = bounded.bound_paths

    def bound(graph: Any, bounds: Any) -> None:
        bounds.opens[:] = False
        bounds.begin[bounds.begin != bounds.begin] = 0
        original(graph, bounds)

    _patch_user(patch, bound)


def the_window_is_taken_to_begin_late(patch: Patch) -> None:
    original = bounded.bound_paths

    def bound(graph: Any, bounds: Any) -> None:
        original(graph, bounds)
        bounds.base[:] += 1

    _patch_user(patch, bound)


def _patch_user(patch: Patch, bound: Callable[[Any, Any], None]) -> None:
    patch.setattr(pruning, "bound_paths", bound)


MUTATIONS: dict[str, Callable[[Patch], None]] = {
    "none": none,
    "a step adds no values": a_step_adds_no_values,
    "a step adds values once for all runs": a_step_adds_values_once_for_all_runs,
    "a step adds the values of another event": a_step_adds_the_values_of_another_event,
    "a product forgets the sums of its left side": a_product_forgets_the_sums_of_its_left_side,
    "a product forgets bounds": a_product_forgets_bounds,
    "the flip keeps one start only": the_flip_keeps_one_start_only,
    "the flip keeps what has left the window": the_flip_keeps_what_has_left_the_window,
    "the graph adds no values": the_graph_adds_no_values,
    "the graph adds the values of another event": the_graph_adds_the_values_of_another_event,
    "what the window cuts is not cleared": what_the_window_cuts_is_not_cleared,
    "a union adds one side only": a_union_adds_one_side_only,
    "paths beyond the window are added": paths_beyond_the_window_are_added,
    "aggregates read NULLs": aggregates_read_nulls,
    "aggregates read one event only": aggregates_read_one_event_only,
    "everything is pruned from above": everything_is_pruned_from_above,
    "everything is pruned from below": everything_is_pruned_from_below,
    "scopes do not begin anew": scopes_do_not_begin_anew,
    "the window is taken to begin late": the_window_is_taken_to_begin_late,
}


def main() -> None:
    """Try them all."""
    assert numba.config.DISABLE_JIT, "compiled kernels cannot be mutated"
    cases()
    noticed = {}
    for name, apply in MUTATIONS.items():
        with pytest.MonkeyPatch.context() as patch:
            apply(patch)
            noticed[name] = next((str(c.query) for c in cases() if not c.agrees()), None)
    json.dump(noticed, sys.stdout)


if __name__ == "__main__":
    main()
