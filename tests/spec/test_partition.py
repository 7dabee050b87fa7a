"""Section 5, PARTITION BY: several attributes, NULL keys, nested attributes, what is seen."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

import ensue
from tests.spec.helpers import Event, found, run, spans, stream


def keyed(words: str, **keys: list[Any]) -> list[Event]:
    """Spell a stream with a column of keys or several."""
    events = stream(words)
    for name, values in keys.items():
        for event, value in zip(events, values, strict=True):
            event[name] = value
    return events


def test_each_key_is_a_stream_of_its_own_with_positions_of_the_whole() -> None:
    events = keyed("A A B B", k=[1, 2, 2, 1])
    assert spans("A ; B PARTITION BY [k]", events) == [(1, 2), (0, 3)]


def test_several_attributes_are_one_key() -> None:
    events = keyed("A A B B B", j=[1, 1, 1, 2, 1], k=["x", "y", "x", "x", "y"])
    for by in ("[j], [k]", "[k], [j]"):
        assert spans(f"A ; B PARTITION BY {by}", events) == [(0, 2), (1, 4)]


def test_several_attributes_are_not_mixed_up() -> None:
    events = keyed("A B", j=["a", "ab"], k=["bc", "c"])
    assert spans("A ; B PARTITION BY [j], [k]", events) == []


def test_events_with_null_in_a_key_are_left_out() -> None:
    events = keyed("A A X B B", j=[1, None, 1, 1, None], k=[1, 1, None, 1, 1])
    assert spans("A : B PARTITION BY [j], [k]", events) == [(0, 3)]
    assert spans("A ; B PARTITION BY [j]", events) == [(0, 3)]


def test_nan_is_null_in_a_key_too() -> None:
    events = keyed("A B B", k=[math.nan, math.nan, 1.0])
    assert spans("A ; B PARTITION BY [k]", events) == []


def test_a_match_knows_its_key() -> None:
    events = keyed("A B", j=[1, 1], k=["x", "x"])
    (match,) = run("A ; B PARTITION BY [j], [k]", events)
    assert match.partition == {"j": 1, "k": "x"}
    (match,) = run("A ; B", events)
    assert match.partition == {}


@pytest.mark.parametrize("key", [True, 7, 2.5, "x", Decimal("1.50"), date(2026, 1, 31)])
def test_keys_are_of_any_type_and_come_back_as_they_were(key: object) -> None:
    (match,) = run("A ; B PARTITION BY [k]", keyed("A B", k=[key, key]))
    assert match.partition == {"k": key}


def test_contiguity_sees_the_substream_only() -> None:
    events = keyed("A A B B", k=[1, 2, 1, 2])
    assert spans("A : B PARTITION BY [k]", events) == [(0, 2), (1, 3)]
    assert spans("STRICT(A ; B) PARTITION BY [k]", events) == [(0, 2), (1, 3)]
    assert spans("A : B", events) == [(1, 2)]


def test_start_is_the_first_event_of_the_partition() -> None:
    events = keyed("X A A B B", k=[1, 2, 1, 1, 2])
    assert spans("START(A ; B) PARTITION BY [k]", events) == [(1, 4)]


def test_unless_sees_the_substream_only() -> None:
    events = keyed("A C B", k=[1, 2, 1])
    assert spans("A ; B UNLESS C PARTITION BY [k]", events) == [(0, 2)]
    assert spans("A ; B UNLESS C", events) == []


def test_not_sees_the_substream_only() -> None:
    events = keyed("A C X B", k=[1, 2, 1, 1])
    assert spans("A : NOT(C) : B PARTITION BY [k]", events) == [(0, 3)]


def test_strategies_choose_within_a_partition() -> None:
    events = keyed("A A B B C C", k=[1, 2, 1, 2, 1, 2])
    assert found("A ; B ; C PARTITION BY [k]", events, select="NEXT B") == [
        (0, 4, {"B": [2]}),
        (1, 5, {"B": [3]}),
    ]


def nested(words: str, pids: list[Any]) -> list[Event]:
    return [
        {**event, "process": {"pid": pid, "parent": {"name": f"p{pid}"}}}
        for event, pid in zip(stream(words), pids, strict=True)
    ]


@pytest.mark.parametrize("by", ["`process.pid`", "`process.parent.name`"])
def test_a_nested_attribute_is_a_key_in_backquotes(by: str) -> None:
    events = nested("A A B B", [1, 2, 2, 1])
    assert spans(f"A ; B PARTITION BY [{by}]", events) == [(1, 2), (0, 3)]


def test_a_nested_key_has_its_dotted_name() -> None:
    (match,) = run("A ; B PARTITION BY [`process.pid`]", nested("A B", [4, 4]))
    assert match.partition == {"process.pid": 4}


def test_an_absent_nested_key_is_null() -> None:
    events = [*nested("A B", [1, 1]), {"type": "B", "process": None}, {"type": "B"}]
    assert spans("A ; B PARTITION BY [`process.pid`]", events) == [(0, 1)]


def test_partition_by_stands_for_itself_after_a_pattern_that_has_its_own() -> None:
    events = keyed("A A B B", j=[1, 1, 1, 1], k=[1, 2, 2, 1])
    pattern = "(A ; B PARTITION BY [A.k, B.k]) PARTITION BY [j]"
    assert spans(pattern, events) == [(1, 2), (0, 3)]
    events = keyed("A A B B", j=[1, 2, 1, 2], k=[1, 1, 1, 1])
    assert spans(pattern, events) == [(0, 2), (1, 3)]


def test_an_unknown_key_is_a_name_error_with_the_nearest_name() -> None:
    with pytest.raises(ensue.CeqlNameError, match="did you mean 'user'"):
        ensue.compile("SELECT * FROM S WHERE A ; B PARTITION BY [usr]", {"user": "string"})
