"""The state of a counter as arrays that mean the same in another process.

Deterministic states are named by their contents, since their numbers depend on what came first.
The cells of the table by which the kept events were read are worked out again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ensue.automata.determine import START
from ensue.kernels.count.driver import CountDriver, copy_into
from ensue.kernels.count.runs import (
    COUNTERS,
    FREE_NODE,
    FREE_PAIR,
    NODES,
    OWN_PAIRS,
    PAIRS,
    Nodes,
    Pairs,
    Runs,
    new_nodes,
    new_pairs,
)
from ensue.kernels.count.weights import WEIGHTS, Values, load_weights, save_weights
from ensue.kernels.layout import NIL
from ensue.kernels.memory import doubled

_RUNS = tuple(
    f"runs/{name}" for name in ("forward", "rows", "front", "back", "oldest", "newest", "epoch")
)
"""The names of the arrays of `Runs` in a snapshot, whatever they are called in the code."""


def save(counter: CountDriver) -> dict[str, Any]:
    """Write down the runs; states are named by their contents."""
    pairs, nodes = int(counter.counters[PAIRS]), int(counter.counters[NODES])
    known = counter.nodes
    return {
        "states": tuple(counter.table.determined.contents[1:]),
        "counters": counter.counters,
        "pairs/state": counter.pairs.state[:pairs],
        "pairs/next": counter.pairs.next[:pairs],
        **{f"pairs/{n}": v for n, v in save_weights(_cut(counter.pairs.weight, pairs)).items()},
        "nodes/number": known.number[:nodes],
        "nodes/clock": known.clock[:nodes],
        "nodes/next": known.next[:nodes],
        "nodes/vector": known.vector[:nodes],
        **{f"nodes/{n}": v for n, v in save_weights(_cut(known.values, nodes)).items()},
        **dict(zip(_RUNS, counter.runs, strict=True)),
    }


def load(counter: CountDriver, saved: Mapping[str, Any], alphabet: list[int]) -> None:
    """Put a fresh counter into the state that was saved; ValueError where it cannot be one."""
    numbers = [0, *(counter.table.determined.recall(each) for each in saved["states"])]
    states = np.array(numbers, np.int32)
    weight = load_weights({n: saved[f"pairs/{n}"] for n in WEIGHTS})
    values = load_weights({n: saved[f"nodes/{n}"] for n in WEIGHTS})
    pairs = Pairs(saved["pairs/state"], saved["pairs/next"], weight)
    nodes = Nodes(
        saved["nodes/number"],
        saved["nodes/clock"],
        saved["nodes/next"],
        saved["nodes/vector"],
        Values(*values),
    )
    runs = Runs(*(saved[name] for name in _RUNS))
    _check(counter, pairs, nodes, runs, saved["counters"], len(states), len(alphabet))
    pairs.state[:] = states[pairs.state]
    rows = _members(runs.rows, nodes.next)
    nodes.number[rows] = states[nodes.number[rows]]
    like = counter.terms.nothing(0)
    counter.pairs = new_pairs(doubled(1 << 10, len(pairs.state)), like, exact=counter.exact)
    counter.nodes = new_nodes(doubled(1 << 10, len(nodes.number)), like, exact=counter.exact)
    copy_into(pairs, counter.pairs)
    copy_into(nodes, counter.nodes)
    counter.runs, counter.counters = runs, saved["counters"]
    _recall_cells(counter, alphabet)


def _recall_cells(counter: CountDriver, alphabet: list[int]) -> None:
    """Work out again the cells that the events of the back were read by."""
    after: dict[tuple[frozenset[int], int], frozenset[int]] = {}
    for head in counter.runs.back[counter.runs.back != NIL].tolist():
        symbols: list[int] = []
        while head != NIL:
            symbols.append(int(counter.nodes.number[head]))
            head = int(counter.nodes.next[head])
        active: frozenset[int] = frozenset()
        for symbol in reversed(symbols):
            if (active, symbol) not in after:
                after[active, symbol] = _step(counter, active, symbol, alphabet)
            active = after[active, symbol]


def _step(
    counter: CountDriver, active: frozenset[int], symbol: int, alphabet: list[int]
) -> frozenset[int]:
    found: set[int] = set()
    for state in (START, *active):
        counter.table.fill(state, symbol, alphabet)
        steps = counter.table.determined.step(state, alphabet[symbol])
        found.update(step.state for step in steps if step.state != NIL)
    return frozenset(found)


def _check(
    counter: CountDriver,
    pairs: Pairs,
    nodes: Nodes,
    runs: Runs,
    counters: np.ndarray,
    states: int,
    symbols: int,
) -> None:
    """Make sure that no kernel reads beyond an array, whatever was saved."""
    count, many, keys = len(pairs.state), len(nodes.number), len(runs.forward)
    fit = all(
        each.shape == (size, len(terms))
        for size, part in ((count, pairs.weight), (many, nodes.values))
        for each, terms in zip(part, counter.terms, strict=True)
    )
    sizes = {len(each) for each in runs}, {len(each) for each in nodes[:4]}
    if not (
        fit
        and count >= OWN_PAIRS
        and sizes == ({keys}, {many})
        and counters.shape == (COUNTERS,)
        and (counters[PAIRS], counters[NODES]) == (count, many)
        and _within(pairs.state, 0, states)
        and _within(nodes.number, 0, max(states, symbols))
        and all(_within(each, NIL, count) for each in (pairs.next, nodes.vector))
        and all(_within(each, NIL, many) for each in (nodes.next, *runs[1:4]))
        and _within(runs.forward, NIL, count)
        and _within(counters[[FREE_PAIR]], NIL, count)
        and _within(counters[[FREE_NODE]], NIL, many)
        and _within(nodes.number[_members(runs.rows, nodes.next)], 0, states)
        and _within(nodes.number[_members(runs.back, nodes.next)], 0, symbols)
    ):
        raise ValueError("the saved runs are inconsistent")


def _cut(weights: Any, count: int) -> Any:
    return type(weights)(*(each[:count] for each in weights))


def _within(numbers: np.ndarray, low: int, end: int) -> bool:
    return bool(((numbers >= low) & (numbers < end)).all())


def _members(heads: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return all nodes of some lists."""
    layer = heads[heads != NIL]
    found = [layer]
    for _ in range(len(after)):
        layer = after[layer]
        layer = layer[layer != NIL]
        if not len(layer):
            break
        found.append(layer)
    return np.concatenate(found)
