"""The event store keeps what is needed and no more, and counts what is gone."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ensue.plan.result_schema import Numbering
from ensue.stream.batch import EventBatch
from ensue.stream.ordinals import ordinals
from ensue.stream.rows import load_rows, save_rows
from ensue.stream.store import EventStore
from tests import seams

ALL, BY_KEY = Numbering(()), Numbering((("k",),))


def stretch(
    times: list[int],
    first: int,
    keys: list[str | None] | None = None,
    ties: list[float] | None = None,
) -> EventBatch:
    table = pa.table(
        {
            "ts": pa.array(times, pa.int64()),
            "k": pa.array(keys or [None] * len(times), pa.string()),
            "b": pa.array(ties or [0.0] * len(times), pa.float64()),
        }
    )
    types = pa.chunked_array([pa.array(["A"] * len(times), pa.string())])
    tiebreak = None if ties is None else ("b",)
    return EventBatch(table, types, None, np.array(times, np.int64), ("ts",), tiebreak, first)


def filled(stretches: list[list[int]]) -> EventStore:
    store, position = EventStore(), 0
    for times in stretches:
        store.add(stretch(times, position))
        position += len(times)
    return store


@pytest.mark.parametrize(
    ("stretches", "position", "first"),
    [
        ([[1, 2], [3, 4], [5]], 4, 4),
        ([[1, 2], [3, 4], [5]], 3, 2),
        ([[1, 2], [2, 4], [5]], 4, 4),
        ([[1, 2], [2, 2], [2, 3]], 5, 0),
        ([[1, 2], [3, 4], [4, 5]], 5, 2),
        ([[1], [], [2]], 1, 1),
    ],
)
def test_few_events_are_dropped_only_where_time_changes(
    stretches: list[list[int]], position: int, first: int
) -> None:
    store = filled(stretches)
    store.forget_before(position, [ALL])
    view = store.view()()
    assert view.first == first
    whole = [time for times in stretches for time in times]
    assert np.array_equal(view.times, whole[first:])


def test_many_events_of_one_time_are_dropped_and_counted() -> None:
    store = filled([[7] * 600] * 5)
    store.forget_before(2_500, [ALL])
    assert store.rows == 600
    assert ordinals(store.view()(), np.array([0, 599]), ALL).tolist() == [2400, 2999]
    store.add(stretch([7, 8, 8], 3000))
    assert ordinals(store.view()(), np.arange(600, 603), ALL).tolist() == [3000, 0, 1]


def test_rows_without_ids_are_dropped_wherever_they_are() -> None:
    store = filled([[7, 7], [7], [7]])
    store.forget_before(3)
    assert store.rows == 1


def test_counts_of_a_later_time_outlive_a_cut_before_it() -> None:
    store = filled([[0], [0], [1]])
    store.keep_only(np.array([0, 1]), [ALL], last_too=True)
    store.add(stretch([1, 1], 3))
    store.forget_before(1, [ALL], exactly=True)
    assert ordinals(store.view()(), np.arange(3), ALL).tolist() == [1, 1, 2]


@st.composite
def events(draw: st.DrawFn) -> tuple[list[int], list[str | None], list[float]]:
    """Events with many ties."""
    count = draw(st.integers(1, 14))
    steps = [draw(st.sampled_from((0, 0, 0, 1))) for _ in range(count)]
    keys = [draw(st.sampled_from(("p", "q", None))) for _ in range(count)]
    ties = [draw(st.sampled_from((0.0, -0.0, 1.0, float("nan")))) for _ in range(count)]
    return np.cumsum(steps).tolist(), keys, ties


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=events(), tiebreak=st.booleans(), data=st.data())
def test_ordinals_are_those_of_the_whole_whatever_is_dropped(
    rows: tuple[list[int], list[str | None], list[float]],
    tiebreak: bool,
    data: st.DataObject,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times, keys, ties = rows
    count = len(times)
    since = data.draw(st.integers(0, count), label="the first position of a query")
    numberings = [ALL, BY_KEY, Numbering((("k",),), since)]
    whole = stretch(times, 0, keys, ties if tiebreak else None)
    expected = {each: ordinals(whole, np.arange(count), each) for each in numberings}
    seen = whole.slice(since, count)
    alone = ordinals(EventBatch(**{**vars(seen), "first": 0}), np.arange(count - since), BY_KEY)
    assert expected[numberings[2]][since:].tolist() == alone.tolist()

    store = EventStore()
    borders = sorted({0, count, *data.draw(st.sets(st.integers(0, count)))})
    seams.MANY_TIED.put(monkeypatch, data.draw(st.sampled_from((1, 3))))
    for begin, end in pairwise(borders):
        store.add(whole.slice(begin, end))
        first = data.draw(st.integers(0, end), label="the first position that is needed")
        match data.draw(st.sampled_from(("drop", "split", "thin", "thin all", "resume"))):
            case "drop":
                store.forget_before(first, numberings)
            case "split":
                store.forget_before(first, numberings, exactly=True)
            case "resume":
                store = resumed(store)
            case how:
                needed = data.draw(st.sets(st.integers(0, end)), label="the positions needed")
                kept = np.array(sorted(needed), np.int64)
                store.keep_only(kept, numberings, last_too=how == "thin all")
        view = store.view()()
        positions = view.all_positions()
        for each in numberings:
            found = ordinals(view, np.arange(len(positions)), each)
            counts = positions >= each.since
            assert found[counts].tolist() == expected[each][positions][counts].tolist()


def resumed(store: EventStore) -> EventStore:
    other = EventStore()
    other.load(store.save(), ("ts",))
    return other


def test_rows_of_the_first_version_number_all_events() -> None:
    kept = stretch([1, 1, 2], 0)
    saved: dict[str, Any] = save_rows(kept)
    del saved["numberings"]
    saved |= {"partitions": [(("k",),)], "ordinals/0": np.array([4, -1, -1], np.int64)}
    assert dict(load_rows(saved, ("ts",)).ordinals) == {BY_KEY: pytest.approx([4, -1, -1])}
