"""The state of an evaluation as arrays that mean the same in another process.

Deterministic states are named by their contents and labels by their bits, since their numbers
depend on what came first. What can be rebuilt (lists of slots, indexes) is not written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ensue.kernels.layout import CLIP, EMPTY, FLOOR, NIL, NODES, STARTS, UNION, Graph
from ensue.kernels.match.driver import MatchDriver
from ensue.kernels.tables import Table


def save(driver: MatchDriver) -> dict[str, Any]:
    """Write down the partial matches of an evaluation that has just been compacted."""
    used, keys = driver.configurations.used()
    nodes, starts = int(driver.counters[NODES]), int(driver.counters[STARTS])
    graph, slots = driver.graph, driver.configurations.slots
    states, state = np.unique(slots.state[used], return_inverse=True)
    contents = driver.table.determined.contents
    registers = np.full((len(used), _registers(driver)), EMPTY, np.int64)
    if driver.registers:
        registers[:, driver.table.registers] = slots.registers[used]
    return {
        "states": tuple(contents[number] for number in states.tolist()),
        "labels": saved_labels(graph.label[:nodes], driver.table),
        "slots/state": state.astype(np.int32),
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
    }


def saved_labels(label: np.ndarray, table: Table) -> dict[int, int]:
    """Return the bits of the labels that nodes of a graph have, by their numbers."""
    numbers = np.flatnonzero(np.bincount(label - CLIP)) + CLIP
    return {number: table.labels[number] for number in numbers.tolist() if number > 0}


def load(driver: MatchDriver, saved: Mapping[str, Any]) -> None:
    """Put a fresh driver into the state that was saved; ValueError where it cannot be one."""
    table = driver.table
    _check(saved, _registers(driver), clips=bool(table.determined.compiled.plan.clips))
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


def _registers(driver: MatchDriver) -> int:
    """Return how many registers the plan has, those that stay empty included."""
    return driver.table.determined.compiled.plan.registers


def _check(saved: Mapping[str, Any], registers: int, *, clips: bool) -> None:
    """Make sure that no kernel reads beyond an array, whatever was saved."""
    root, keys = saved["slots/root"], saved["slots/key"]
    count, starts = len(saved["slots/state"]), len(saved["graph/start_clock"])
    names = [name for name in saved if name.startswith("graph/")]
    labels = [CLIP, *saved["labels"]] if clips else saved["labels"]
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
