"""The state of an evaluation as arrays that mean the same in another process.

Deterministic states are named by their contents and labels by their bits, since their numbers
depend on what came first. What can be rebuilt (lists of slots, indexes) is not written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ensue.kernels.graph.compact import mark_below
from ensue.kernels.layout import (
    CLIP,
    EMPTY,
    FLOOR,
    FOREVER,
    NIL,
    NODES,
    PRODUCT,
    STARTS,
    UNION,
    Graph,
    Roots,
)
from ensue.kernels.match.driver import MatchDriver
from ensue.kernels.match.factors import Factors, saved_factors
from ensue.kernels.tables import Table


def save(driver: MatchDriver) -> dict[str, Any]:
    """Write down the partial matches of an evaluation that has just been compacted."""
    used, keys = driver.configurations.used()
    nodes, starts = int(driver.counters[NODES]), int(driver.counters[STARTS])
    graph, slots = driver.graph, driver.configurations.slots
    own, waiting = len(used), saved_factors(driver.configurations.lazy, used)
    every = [slots.state[used], waiting.get("lazy/origin"), waiting.get("lazy/state")]
    known = [each for each in every if each is not None]
    states, state = np.unique(np.concatenate(known), return_inverse=True)
    state = state.astype(np.int32)
    if waiting:
        waiting["lazy/origin"], waiting["lazy/state"] = state[own:].reshape(2, -1)
    contents = driver.table.determined.contents
    registers = np.full((len(used), _registers(driver)), EMPTY, np.int64)
    if driver.registers:
        registers[:, driver.table.registers] = slots.registers[used]
    return {
        "states": tuple(contents[number] for number in states.tolist()),
        "labels": saved_labels(graph.label[:nodes], driver.table),
        "slots/state": state[:own],
        "slots/registers": registers,
        "slots/root": slots.root[used],
        "slots/key": keys.astype(np.int64),
        "graph/label": graph.label[:nodes],
        "graph/left": graph.left[:nodes],
        "graph/right": graph.right[:nodes],
        "graph/position": graph.position[:nodes],
        "graph/start": graph.start[:nodes],
        "graph/start_position": graph.start_position[:starts],
        "graph/start_clock": graph.start_clock[:starts],
        "floor": int(driver.counters[FLOOR]),
        **waiting,
    }


def saved_labels(label: np.ndarray, table: Table) -> dict[int, int]:
    """Return the bits of the labels that nodes of a graph have, by their numbers."""
    numbers = np.flatnonzero(np.bincount(label - PRODUCT)) + PRODUCT
    return {number: table.labels[number] for number in numbers.tolist() if number > 0}


def load(driver: MatchDriver, saved: Mapping[str, Any]) -> None:
    """Put a fresh driver into the state that was saved; ValueError where it cannot be one."""
    table = driver.table
    waits = "lazy/key" in saved and bool(
        len(saved["lazy/key"]) or (saved["graph/label"] == PRODUCT).any()
    )
    clips = bool(table.determined.compiled.plan.clips)
    _check(saved, _registers(driver), [CLIP] * clips + [PRODUCT] * waits)
    if waits:
        _check_factors(saved, lazy=driver.can_wait())
    numbers = np.array([table.determined.recall(each) for each in saved["states"]], np.int32)
    label = saved["graph/label"].copy()
    for number, bits in saved["labels"].items():
        label[saved["graph/label"] == number] = table.label_of(bits)
    names = ("left", "right", "position", "start", "start_position", "start_clock")
    state = saved["slots/state"]
    driver.restore(
        Graph(label, *(saved[f"graph/{name}"] for name in names)),
        saved["floor"],
        numbers[state] if len(state) else state,
        saved["slots/registers"][:, table.registers],
        saved["slots/root"],
        saved["slots/key"],
    )
    if waits:
        origin, state = numbers[saved["lazy/origin"]], numbers[saved["lazy/state"]]
        factors = Factors(saved["lazy/key"], origin, state, saved["lazy/root"])
        driver.configurations.wait_again(factors, saved["lazy/applied"])


def _registers(driver: MatchDriver) -> int:
    """Return how many registers the plan has, those that stay empty included."""
    return driver.table.determined.compiled.plan.registers


def _check(saved: Mapping[str, Any], registers: int, kinds: list[int]) -> None:
    """Make sure that no kernel reads beyond an array, whatever was saved."""
    root, keys = saved["slots/root"], saved["slots/key"]
    count, starts = len(saved["slots/state"]), len(saved["graph/start_clock"])
    names = [name for name in saved if name.startswith("graph/")]
    labels = [*kinds, *saved["labels"]]
    check_graph({name[6:]: saved[name] for name in names}, labels, root)
    right_shape = len(root) == len(keys) == count and saved["slots/registers"].shape == (
        count,
        registers,
    )
    if not (
        right_shape
        and (keys >= 0).all()
        and _below(saved["slots/state"], len(saved["states"]))
        and 0 <= saved["floor"] <= starts
        and all(isinstance(each, frozenset) and each for each in saved["states"])
    ):
        raise ValueError("the saved partial matches are inconsistent")


def _check_factors(saved: Mapping[str, Any], *, lazy: bool) -> None:
    """Make sure of the same for what waits to be applied, in a graph that is checked already."""
    starts, states = len(saved["graph/start_clock"]), len(saved["states"])
    applied, key = saved["lazy/applied"], saved["lazy/key"]
    names = ("origin", "state", "root")
    if not (
        lazy
        and len(applied) == len(saved["slots/state"])
        and _below(applied, starts + 1)
        and all(len(saved[f"lazy/{name}"]) == len(key) for name in names)
        and (key >= 0).all()
        and _below(saved["lazy/origin"], states)
        and _below(saved["lazy/state"], states)
        and _below(saved["lazy/root"], len(saved["graph/label"]))
    ):
        raise ValueError("the saved partial matches are inconsistent")
    graph = Graph(*(saved[f"graph/{name}"] for name in Graph._fields))
    product = graph.label == PRODUCT
    left, right = graph.left[product], graph.right[product]
    roots = np.concatenate([right, saved["lazy/root"]]).astype(np.int32)
    if (right < 0).any():
        raise ValueError("the saved partial matches are inconsistent")
    forever, first = np.full(len(roots), FOREVER, np.int64), np.zeros(len(roots), np.int32)
    marked = mark_below(graph, Roots(roots, forever, first), within_keys=False)
    if (
        not _below(graph.position[product], starts + 1)
        or (graph.start[left] != graph.start[product]).any()
        or (graph.label[marked.places > 0] < UNION).any()
    ):
        raise ValueError("the saved partial matches are inconsistent")


def check_graph(graph: Mapping[str, np.ndarray], labels: Iterable[int], root: np.ndarray) -> None:
    """Make sure that no kernel reads beyond the arrays of a graph, nor walks it for ever."""
    nodes, starts = len(graph["label"]), len(graph["start_clock"])
    label, left, right = graph["label"], graph["left"], graph["right"]
    number = np.arange(nodes)
    known = np.array([UNION, 0, *labels], np.int64)
    right_shape = (
        all(len(graph[name]) == nodes for name in ("left", "right", "position", "start"))
        and len(graph["start_position"]) == starts
    )
    if not (
        right_shape
        and np.isin(label, known).all()
        and ((left >= NIL) & (left < number)).all()
        and ((right >= NIL) & (right < number)).all()
        and (left[label != 0] >= 0).all()
        and (graph["position"][label > 0] >= 0).all()
        and (right[label == UNION] >= 0).all()
        and _below(graph["start"], starts)
        and _below(root, nodes)
    ):
        raise ValueError("the saved partial matches are inconsistent")


def _below(numbers: np.ndarray, end: int) -> bool:
    return bool(((numbers >= 0) & (numbers < end)).all())
