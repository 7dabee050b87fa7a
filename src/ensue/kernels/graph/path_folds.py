"""Aggregates of the user over all matches of many completing events, on one graph, none listed.

An element of a commutative monoid is worked out for the paths below every node, bottom up: that of
a union combines those of its sides, and an event that is bound on all paths below it is combined as
often as there are paths, by doubling. As in path_totals.py, only the nodes that a window's edge
cuts in two are looked at again for a single event.

The same code runs on Python's objects, with numbers of paths of any size, and compiled on numbers
of 64 bits; the latter tells where these are too few for the number of paths.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ensue.analysis.user_functions import UserAggregate
from ensue.kernels.compile.user_code import compiled_by_numba
from ensue.kernels.layout import NIL, UNION, Graph, Hits

_MOST_PATHS = 2**62
"""Numbers of paths beyond this are left to Python."""


class Monoid(NamedTuple):
    """How elements are combined, and whether by a function that Numba has compiled."""

    zero: Any
    combine: Callable[[Any, Any], Any]
    compiled: bool = False


def element_type(user: UserAggregate) -> Any:
    """Return what arrays of elements hold."""
    if not user.compiled:
        return object
    return np.int64 if type(user.zero) is int else np.float64


def runs_compiled(user: UserAggregate, distinct: object) -> bool:
    """Tell whether Numba lifts values; those that are known by their ranks are not."""
    return user.compiled and distinct is None


def power(combine: Callable[[Any, Any], Any], zero: Any, value: Any, times: int) -> Any:
    """Combine a value with itself so many times.

    >>> power(lambda a, b: a + b, 0, 3, 5)
    15
    """
    result = zero
    while times > 0:
        if times & 1:
            result = combine(result, value)
        times >>= 1
        if times > 0:
            value = combine(value, value)
    return result


def _fold_paths(
    combine: Any,
    repeat: Any,
    zero: Any,
    label: Any,
    left: Any,
    right: Any,
    start: Any,
    clock: Any,
    root: Any,
    edge: Any,
    floor: Any,
    binds: Any,
    row: Any,
    known: Any,
    lifted: Any,
    paths: Any,
    element: Any,
    cut_paths: Any,
    cut: Any,
    earliest: Any,
    seen: Any,
    stack: Any,
    found: Any,
    most: Any,
) -> bool:
    """Fold the paths below every root; return whether no number of paths exceeds `most`."""
    for node in range(label.shape[0]):
        earliest[node] = start[node]
        element[node] = zero
        if label[node] == 0:
            paths[node] = 1
            continue
        first = left[node]
        paths[node] = paths[first]
        element[node] = element[first]
        earliest[node] = min(earliest[node], earliest[first])
        if label[node] == UNION:
            second = right[node]
            earliest[node] = min(earliest[node], earliest[second])
            paths[node] += paths[second]
            element[node] = combine(element[node], element[second])
            if paths[node] > most:
                return False
        elif label[node] > 0 and binds[label[node]] and known[row[node]]:
            more = repeat(combine, zero, lifted[row[node]], paths[node])
            element[node] = combine(element[node], more)
    for hit in range(root.shape[0]):
        depth = 1
        stack[0] = root[hit]
        found[hit] = zero
        while depth > 0:
            depth -= 1
            top = stack[depth]
            node = top if top >= 0 else -top - 1
            if top >= 0:
                if seen[node] == hit:
                    continue
                seen[node] = hit
                last = start[node]
                begin = earliest[node]
                if begin >= floor[hit] and clock[begin] >= edge[hit]:
                    cut_paths[node] = paths[node]
                    cut[node] = element[node]
                    continue
                if last < floor[hit] or clock[last] < edge[hit]:
                    cut_paths[node] = 0
                    cut[node] = zero
                    continue
                stack[depth] = -node - 1
                stack[depth + 1] = left[node]
                depth += 2
                if right[node] != NIL:
                    stack[depth] = right[node]
                    depth += 1
                continue
            cut_paths[node] = cut_paths[left[node]]
            cut[node] = cut[left[node]]
            if label[node] == UNION:
                cut_paths[node] += cut_paths[right[node]]
                cut[node] = combine(cut[node], cut[right[node]])
            elif label[node] > 0 and binds[label[node]] and known[row[node]]:
                more = repeat(combine, zero, lifted[row[node]], cut_paths[node])
                cut[node] = combine(cut[node], more)
        found[hit] = cut[root[hit]]
    return True


def fold(
    monoid: Monoid,
    graph: Graph,
    hits: Hits,
    binds: np.ndarray,
    rows: np.ndarray,
    known: np.ndarray,
    lifted: np.ndarray,
) -> np.ndarray:
    """Return the element of all events bound in all matches of every hit.

    Args:
        monoid: how elements are combined.
        graph: the graph, without clipped nodes.
        hits: the completing events.
        binds: whether the events of each label count.
        rows: the row of each output node's event.
        known: which rows have a value.
        lifted: the elements of the rows; of Python's objects, unless they are numbers of Numba's.
    """
    if monoid.compiled:
        done = _run(compiled_by_numba(_fold_paths), monoid, graph, hits, binds, rows, known, lifted)
        if done is not None:
            return done
        lifted = lifted.astype(object)
    plain = monoid._replace(
        compiled=False, combine=getattr(monoid.combine, "py_func", monoid.combine)
    )
    done = _run(_fold_paths, plain, graph, hits, binds, rows, known, lifted)
    assert done is not None
    return done


def _run(
    run: Any,
    monoid: Monoid,
    graph: Graph,
    hits: Hits,
    binds: np.ndarray,
    rows: np.ndarray,
    known: np.ndarray,
    lifted: np.ndarray,
) -> np.ndarray | None:
    """Fold, or return None where there are more paths than 64 bits can count."""
    nodes = len(graph.label)
    numbers: Any = np.int64 if monoid.compiled else object
    elements = lifted.dtype if monoid.compiled else object
    zero = lifted.dtype.type(monoid.zero) if monoid.compiled else monoid.zero
    found = np.empty(len(hits.end), elements)
    whole = run(
        monoid.combine,
        compiled_by_numba(power) if monoid.compiled else power,
        zero,
        graph.label,
        graph.left,
        graph.right,
        graph.start,
        graph.start_clock,
        hits.root,
        hits.edge,
        hits.floor,
        binds,
        rows,
        known,
        lifted,
        np.zeros(nodes, numbers),
        np.empty(nodes, elements),
        np.zeros(nodes, numbers),
        np.empty(nodes, elements),
        np.zeros(nodes, np.int64),
        np.full(nodes, NIL, np.int64),
        np.zeros(3 * nodes + 3, np.int64),
        found,
        _MOST_PATHS if monoid.compiled else np.inf,
    )
    return found if whole else None


def _lift_all(lift: Any, values: Any, elements: Any) -> None:
    for place in range(values.shape[0]):
        elements[place] = lift(values[place])


def lift_all(lift: Callable[[Any], Any], values: np.ndarray, kind: Any) -> np.ndarray:
    """Make elements of numbers."""
    elements = np.zeros(len(values), kind)
    compiled_by_numba(_lift_all)(compiled_by_numba(lift), values, elements)
    return elements


def _fold_groups(combine: Any, zero: Any, elements: Any, ends: Any, found: Any) -> None:
    begin = 0
    for group in range(ends.shape[0]):
        total = zero
        for place in range(begin, ends[group]):
            total = combine(total, elements[place])
        found[group] = total
        begin = ends[group]


def fold_groups(user: UserAggregate, values: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the element of each group of numbers, which ends before a place, in their order."""
    kind = element_type(user)
    elements = lift_all(user.lift, values, kind)
    found = np.zeros(len(ends), kind)
    combine = compiled_by_numba(user.combine)
    compiled_by_numba(_fold_groups)(combine, elements.dtype.type(user.zero), elements, ends, found)
    return found
