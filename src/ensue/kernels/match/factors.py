"""The factors of lazy steps (lazy.py) between two stops of a kernel: kept, moved, and grown."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensue.kernels.graph.arena import Arena
from ensue.kernels.layout import FOREVER, NIL, Graph, Int32, Roots
from ensue.kernels.match.layout import Lazy, Slots, new_lazy
from ensue.kernels.memory import doubled

FIRST_FACTORS = 16


class Factors(NamedTuple):
    """Some factors: the key, the origin and the state of each, and its node."""

    key: Int32
    origin: Int32
    state: Int32
    root: Int32


def needed_factors(
    lazy: Lazy, graph: Graph, state: np.ndarray, keys: np.ndarray, applied: np.ndarray
) -> tuple[Factors, np.ndarray]:
    """Return the factors of which something waits, and of each the first start that does.

    Configurations are given by their states, their keys, and what is applied to them.
    """
    count = int(lazy.counts[0])
    factors = Factors(lazy.key[:count], lazy.origin[:count], lazy.state[:count], lazy.root[:count])
    states = max(int(state.max(initial=0)), int(factors.origin.max(initial=0))) + 1
    group = keys.astype(np.int64) * states + state
    order = np.argsort(group, kind="stable")
    groups, begins = np.unique(group[order], return_index=True)
    if not count or not len(groups):
        none = np.zeros(0, np.int32)
        return Factors(none, none, none, none), none
    first = np.minimum.reduceat(applied[order], begins)
    wanted = factors.key.astype(np.int64) * states + factors.origin
    place = np.minimum(np.searchsorted(groups, wanted), len(groups) - 1)
    needed = (groups[place] == wanted) & (graph.start[factors.root] >= first[place])
    return Factors(*(each[needed] for each in factors)), first[place][needed]


def compact_with_factors(
    arena: Arena,
    lazy: Lazy | None,
    targets: np.ndarray,
    slots: Slots,
    roots: Roots,
    used: np.ndarray,
    keys: np.ndarray,
) -> np.ndarray:
    """Keep what lies below configurations, and of factors what waits for them.

    Return where the roots of the configurations are then. Those in use and their keys are given;
    `targets` numbers the states that lazy steps lead to.
    """
    if lazy is None:
        return arena.compact(roots, roots.floor[:0])[0]
    applied = lazy.applied[used]
    factors, first = needed_factors(lazy, arena.graph, slots.state[used], keys, applied)
    # Those without an edge come first.
    edges = np.full(len(first), FOREVER, np.int64)
    every = zip(Roots(factors.root, edges, first), roots, strict=True)
    places, lazy.applied[used] = arena.compact(Roots(*map(np.concatenate, every)), applied)
    put_factors(lazy, factors._replace(root=places[: len(first)]), targets)
    return places[len(first) :]


def put_factors(lazy: Lazy, factors: Factors, targets: np.ndarray) -> None:
    """Go on with these factors, and no others; `targets` numbers the states they lead to."""
    order = np.argsort(factors.key, kind="stable")
    count = len(order)
    lazy.counts[0] = count
    lazy.heads[:] = NIL
    for mine, given in zip((lazy.key, lazy.origin, lazy.state, lazy.root), factors, strict=True):
        mine[:count] = given[order]
    lazy.target[:count] = targets[lazy.state[:count]]
    keys = lazy.key[:count]
    lazy.next[:count] = NIL
    same = np.flatnonzero(keys[1:] == keys[:-1])
    lazy.next[same] = same + 1
    opens = np.ones(count, bool)
    opens[1:] = keys[1:] != keys[:-1]
    lazy.heads[keys[opens]] = np.flatnonzero(opens)


def saved_factors(lazy: Lazy | None, used: np.ndarray) -> dict[str, np.ndarray]:
    """Return what waits to be applied to the configurations in use; nothing where no step does."""
    if lazy is None:
        return {}
    count = int(lazy.counts[0])
    found = {f"lazy/{name}": getattr(lazy, name)[:count] for name in Factors._fields}
    return {**found, "lazy/applied": lazy.applied[used]}


def grown_factors(lazy: Lazy, factors: int, keys: int, slots: int) -> Lazy:
    """Return the same with room for so many at least."""
    sizes = len(lazy.root), len(lazy.heads), len(lazy.applied)
    wanted = [doubled(size, most) for size, most in zip(sizes, (factors, keys, slots), strict=True)]
    if wanted == list(sizes):
        return lazy
    grown = new_lazy(*wanted)
    for old, new in zip(lazy, grown, strict=True):
        new[: len(old)] = old
    return grown
