"""Mutations of sessions, each of which a small fixed suite of streams in pieces must notice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import ensue
from ensue.engine.pipeline import Pipeline
from ensue.kernels.match import state as match_state
from ensue.operators.match import MatchOperator
from ensue.predicates.sharing import Union
from ensue.stream.keys import Keys
from ensue.stream.reorder import ReorderBuffer
from ensue.stream.store import EventStore
from tests.equivalence.test_engine import described
from tests.pairs import collected

pytestmark = pytest.mark.adequacy

Patch = pytest.MonkeyPatch

WRITTEN = (
    "SELECT * FROM S WHERE A ; B",
    "SELECT * FROM S WHERE A ; B PARTITION BY [k] WITHIN 1 EVENTS",
    "SELECT * FROM S WHERE START(ANY) ; B PARTITION BY [k]",
    "SELECT * FROM S WHERE (A AS x ; B AS y) FILTER x.k = y.k",
    "SELECT * FROM S WHERE A AS x ; B FILTER x[v > 1 OR NOT (v > 0 AND w > 1)]",
    "SELECT * FROM S WHERE A ; B CONSUME BY ANY",
    "SELECT * FROM S WHERE A ; (B ; C)+",
    "SELECT * FROM S WHERE A ; C PARTITION BY [k] WITHIN 2 EVENTS",
)


Case = tuple[dict[str, ensue.Query], list[dict[str, Any]], dict[str, Any]]

TIED = [
    {"type": "B", "v": 1, "w": 0.5, "k": "p", "ts": 1, "n": 2},
    {"type": "C", "v": 1, "w": 0.5, "k": "p", "ts": 3, "n": 3},
    {"type": "A", "v": 1, "w": 0.5, "k": "p", "ts": 1, "n": 1},
]
"""The last comes as late as the bound allows, and stands before the first."""

RICH = [
    {
        "type": kind,
        "v": number % 3,
        "w": 0.5,
        "k": "ppqqp"[number % 5],
        "ts": 3 * number,
        "n": number,
    }
    for number, kind in enumerate("AABACBCABACBBC")
]


@cache
def suite() -> tuple[Case, ...]:
    """Queries, events that come late, and what each query must find."""
    rng = np.random.default_rng(11)
    cases = [_case({"tied": "SELECT * FROM S WHERE A ; B", "other": WRITTEN[1]}, TIED)]
    cases.append(_case({f"rich {n}": text for n, text in enumerate(WRITTEN)}, RICH))
    for number, pair in enumerate(collected(6, 21, 9)):
        texts = {"drawn": pair.text, "written": WRITTEN[number % len(WRITTEN)]}
        rows = [{**row, "n": i} for i, row in enumerate(pair.rows)]
        delays = rng.integers(0, 3, len(rows))
        late = sorted(range(len(rows)), key=lambda i: (rows[i]["ts"] + delays[i], i))
        cases.append(_case(texts, [rows[i] for i in late]))
    return tuple(cases)


def _case(texts: dict[str, str], rows: list[dict[str, Any]]) -> Case:
    queries = {name: ensue.compile(text) for name, text in texts.items()}
    ordered = sorted(rows, key=lambda row: (row["ts"], row["n"]))
    return (
        queries,
        rows,
        {
            name: described(query.run(ordered, time="ts", tiebreak="n"))
            for name, query in queries.items()
        },
    )


def noticed() -> bool:
    """Tell whether a session, as it is now, gets one of the cases wrong."""
    for queries, rows, expected in suite():
        session = ensue.open(queries, time="ts", tiebreak="n", lateness=2)
        found: dict[str, list[Any]] = {name: [] for name in queries}
        try:
            for row in rows:
                for name, matches in session.push([row]).items():
                    found[name] += described(matches)
                session = ensue.resume(queries, session.snapshot())
            for name, matches in session.finish().items():
                found[name] += described(matches)
        except (ensue.EnsueError, IndexError, KeyError, AssertionError):
            return True
        if {name: sorted(some) for name, some in found.items()} != expected:
            return True
    return False


def what_is_at_the_watermark_is_released(patch: Patch) -> None:
    release = ReorderBuffer._release
    patch.setattr(
        ReorderBuffer,
        "_release",
        lambda self, mark: release(self, None if mark is None else mark + 1),
    )


def ties_are_not_broken(patch: Patch) -> None:
    patch.setattr(ReorderBuffer, "_order", lambda self, loaded, times, arrivals: np.argsort(times))


def the_buffer_is_not_saved(patch: Patch) -> None:
    save = ReorderBuffer.save
    patch.setattr(
        ReorderBuffer,
        "save",
        lambda self: {k: v for k, v in save(self).items() if not k.startswith("waiting")},
    )


def states_are_saved_by_number(patch: Patch) -> None:
    """Take states for each other, as numbers in another process would."""
    original = match_state.save

    def save(evaluator: Any) -> dict[str, Any]:
        state = original(evaluator)
        return {**state, "states": tuple(reversed(state["states"]))}

    patch.setattr(match_state, "save", save)


def labels_are_saved_by_number(patch: Patch) -> None:
    original = match_state.save

    def save(evaluator: Any) -> dict[str, Any]:
        state = original(evaluator)
        bits = list(reversed(state["labels"].values()))
        return {**state, "labels": dict(zip(state["labels"], bits, strict=True))}

    patch.setattr(match_state, "save", save)


def keys_seen_are_forgotten(patch: Patch) -> None:
    settle = Keys.settle
    none = np.zeros(0, np.int64)
    patch.setattr(Keys, "settle", lambda self, living: settle(self, none))


def numbers_within_keys_start_anew(patch: Patch) -> None:
    save = Keys.save
    patch.setattr(
        Keys, "save", lambda self: {**save(self), "counts": np.zeros_like(save(self)["counts"])}
    )


def needed_rows_are_dropped(patch: Patch) -> None:
    patch.setattr(EventStore, "has_grown", property(lambda self: len(self._batches) > 1))
    patch.setattr(MatchOperator, "first_needed", lambda self, position: position)


def positions_start_anew(patch: Patch) -> None:
    load = Pipeline.load

    def later(self: Pipeline, state: Any) -> None:
        load(self, state)
        if self.reorder is not None:
            self.reorder.next_position += 1

    patch.setattr(Pipeline, "load", later)


def queries_get_the_answers_of_others(patch: Patch) -> None:
    read = Union.read
    patch.setattr(
        Union,
        "read",
        lambda self, *a: replace((found := read(self, *a)), truths=found.truths[::-1]),
    )


def the_first_event_is_everywhere(patch: Patch) -> None:
    patch.setattr(MatchOperator, "load", _beginning_again(MatchOperator.load))


def _beginning_again(load: Callable[..., None]) -> Callable[..., None]:
    def later(self: MatchOperator, state: Any, kept: Any) -> None:
        load(self, state, kept)
        if self.keys is not None:
            self.keys.settle(np.zeros(0, np.int64))

    return later


MUTATIONS = (
    what_is_at_the_watermark_is_released,
    ties_are_not_broken,
    the_buffer_is_not_saved,
    states_are_saved_by_number,
    labels_are_saved_by_number,
    keys_seen_are_forgotten,
    numbers_within_keys_start_anew,
    needed_rows_are_dropped,
    positions_start_anew,
    queries_get_the_answers_of_others,
    the_first_event_is_everywhere,
)


def test_nothing_is_noticed_without_a_mutation() -> None:
    assert not noticed()


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda each: each.__name__)
def test_a_mutation_is_noticed(mutate: Callable[[Patch], None], monkeypatch: Patch) -> None:
    suite()
    mutate(monkeypatch)
    assert noticed()
