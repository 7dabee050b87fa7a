"""A layered layout of graphs: nodes in columns from left to right, edges between columns.

In the manner of Sugiyama: edges that would go back are turned for the layout, each node stands one
column right of the last that leads to it, an edge over several columns passes through a bend in
each, and nodes of a column are put in the order of the average place of their neighbours, a few
times from the left and from the right. Meant for a few dozen nodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

_SWEEPS = 12


class Point(NamedTuple):
    """A place on a picture."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Layout:
    """Where nodes are, and through which points edges go, from their source to their target."""

    nodes: Mapping[Hashable, Point]
    edges: Sequence[tuple[Point, ...]]
    """In the order in which they were given; edges from a node to itself have one point."""
    width: float
    height: float


@dataclass(slots=True)
class _Columns:
    """Nodes and bends by column, in their order from top to bottom."""

    of: dict[Hashable, int]
    columns: list[list[Hashable]]
    left: dict[Hashable, list[Hashable]] = field(default_factory=lambda: defaultdict(list))
    right: dict[Hashable, list[Hashable]] = field(default_factory=lambda: defaultdict(list))


def lay_out(
    nodes: Sequence[Hashable],
    edges: Sequence[tuple[Hashable, Hashable]],
    gaps: Mapping[tuple[Hashable, Hashable], float],
    *,
    column: float = 60,
    row: float = 56,
) -> Layout:
    """Place nodes, the first of them leftmost.

    Args:
        nodes: the nodes.
        edges: pairs of nodes.
        gaps: how much room the label of an edge needs between two columns.
        column: the least distance of columns.
        row: the distance of nodes in a column.

    >>> placed = lay_out(["a", "b"], [("a", "b"), ("b", "a")], {})
    >>> placed.nodes["a"].x < placed.nodes["b"].x
    True
    """
    forward = _acyclic(nodes, edges)
    ranks = _ranks(nodes, forward)
    columns, chains = _with_bends(nodes, forward, ranks)
    _order(columns)
    ys = _heights(columns, row)
    wide = [column] * max(len(columns.columns) - 1, 0)
    for (source, target), (a, b) in zip(edges, forward, strict=True):
        if a == b:
            continue
        # The label stands in the gap at the source.
        gap = ranks[a] if (source, target) == (a, b) else ranks[b] - 1
        wide[gap] = max(wide[gap], gaps.get((source, target), 0))
    xs = [sum(wide[:number]) for number in range(len(columns.columns))]
    places = {each: Point(xs[columns.of[each]], ys[each]) for each in columns.of}
    routes = []
    for (source, target), turned, chain in zip(edges, forward, chains, strict=True):
        points = [places[each] for each in chain]
        routes.append(tuple(points if (source, target) == turned else reversed(points)))
    height = max((point.y for point in places.values()), default=0)
    return Layout({each: places[each] for each in nodes}, routes, sum(wide), height)


def _acyclic(
    nodes: Sequence[Hashable], edges: Sequence[tuple[Hashable, Hashable]]
) -> list[tuple[Hashable, Hashable]]:
    """Turn the edges that lead back to a node on the way from the first."""
    out: dict[Hashable, list[Hashable]] = defaultdict(list)
    for source, target in edges:
        out[source].append(target)
    state: dict[Hashable, int] = {}
    back: set[tuple[Hashable, Hashable]] = set()
    for root in nodes:
        if root in state:
            continue
        state[root] = 1
        stack = [(root, iter(out[root]))]
        while stack:
            node, targets = stack[-1]
            target = next(targets, None)
            if target is None:
                state[node] = 2
                stack.pop()
            elif state.get(target) == 1 and target != node:
                back.add((node, target))
            elif target not in state:
                state[target] = 1
                stack.append((target, iter(out[target])))
    return [
        (target, source) if (source, target) in back else (source, target)
        for source, target in edges
    ]


def _ranks(
    nodes: Sequence[Hashable], edges: Sequence[tuple[Hashable, Hashable]]
) -> dict[Hashable, int]:
    """Number the columns: each node right of all that lead to it."""
    ranks = dict.fromkeys(nodes, 0)
    changed = True
    while changed:
        changed = False
        for source, target in edges:
            if source != target and ranks[target] <= ranks[source]:
                ranks[target] = ranks[source] + 1
                changed = True
    return ranks


def _with_bends(
    nodes: Sequence[Hashable],
    edges: Sequence[tuple[Hashable, Hashable]],
    ranks: Mapping[Hashable, int],
) -> tuple[_Columns, list[list[Hashable]]]:
    """Put a bend into every column that an edge passes; return the way of each edge."""
    columns = _Columns(dict(ranks), [[] for _ in range(max(ranks.values(), default=0) + 1)])
    for node in nodes:
        columns.columns[ranks[node]].append(node)
    chains: list[list[Hashable]] = []
    for number, (source, target) in enumerate(edges):
        chain: list[Hashable] = [source]
        if source != target:
            for rank in range(ranks[source] + 1, ranks[target]):
                bend = ("bend", number, rank)
                columns.of[bend] = rank
                columns.columns[rank].append(bend)
                chain.append(bend)
            chain.append(target)
        for a, b in pairwise(chain):
            columns.right[a].append(b)
            columns.left[b].append(a)
        chains.append(chain)
    return columns, chains


def _order(columns: _Columns) -> None:
    """Sort each column by the average place of neighbours, so that few edges cross."""
    for sweep in range(_SWEEPS):
        from_left = sweep % 2 == 0
        near = columns.left if from_left else columns.right
        order = columns.columns if from_left else reversed(columns.columns)
        at = {each: place for some in columns.columns for place, each in enumerate(some)}
        for some in order:
            weight = {
                each: sum(at[other] for other in near[each]) / len(near[each])
                if near[each]
                else float(at[each])
                for each in some
            }
            some.sort(key=weight.__getitem__)
            at.update({each: place for place, each in enumerate(some)})


def _heights(columns: _Columns, row: float) -> dict[Hashable, float]:
    """Give each node and bend its height: near its neighbours, and apart from those beside it."""
    ys = {each: place * row for some in columns.columns for place, each in enumerate(some)}
    for sweep in range(_SWEEPS):
        near = columns.left if sweep % 2 == 0 else columns.right
        for some in columns.columns if sweep % 2 == 0 else reversed(columns.columns):
            wanted = [
                sum(ys[other] for other in near[each]) / len(near[each]) if near[each] else ys[each]
                for each in some
            ]
            placed: list[float] = []
            for y in wanted:
                placed.append(max(y, placed[-1] + row) if placed else y)
            shift = sum(a - b for a, b in zip(wanted, placed, strict=True)) / max(len(some), 1)
            ys.update({each: y + shift for each, y in zip(some, placed, strict=True)})
    least = min(ys.values(), default=0)
    return {each: y - least for each, y in ys.items()}
