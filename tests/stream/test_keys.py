"""Numbers of keys, in a dictionary or in a table of arrays, against the plainest bookkeeping."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensue
from ensue.stream.keys import Keys
from tests import seams

INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3) | st.integers(0, 40)
STRINGS = st.text(max_size=3) | st.sampled_from(["", "a", "aa", "a" * 40, "ä", "\0", "\0\0"])
DOUBLES = st.sampled_from([0.5, 1.0, 2.0])
KINDS = {"int": (INTEGERS, pa.int64()), "text": (STRINGS, pa.string())}
LATER = {"int": (DOUBLES, pa.float64()), "text": (STRINGS, pa.large_string())}


def batches(kind: str) -> st.SearchStrategy[list[pa.Array]]:
    """Batches of keys; the last ones may be of another type that the column can become."""
    return st.tuples(
        st.lists(arrays(*KINDS[kind]), min_size=2, max_size=4),
        st.lists(arrays(*LATER[kind]), max_size=1),
    ).map(lambda parts: parts[0] + parts[1])


def arrays(values: st.SearchStrategy[Any], kind: pa.DataType) -> st.SearchStrategy[pa.Array]:
    return st.lists(values | st.none(), max_size=30).map(lambda some: pa.array(some, kind))


@pytest.mark.parametrize("many", [0, 5, 1000])
@given(data=st.data())
def test_a_key_keeps_its_number_while_it_is_needed(many: int, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        seams.MANY_KEYS.put(patch, many)
        keys, known = Keys((("k",),)), dict[Any, int]()
        for column in data.draw(st.sampled_from(sorted(KINDS)).flatmap(batches)):
            if keys.wants_settling or data.draw(st.booleans()):
                some = st.sets(st.sampled_from(sorted(known.values()))) if known else st.just(set())
                living = data.draw(some)
                keys.settle(np.array([*living, *living], np.int64))
                known = {value: n for value, n in known.items() if n in living}
                if data.draw(st.booleans()):
                    saved, keys = keys.save(), Keys((("k",),))
                    keys.load(saved)
                assert len(keys) == len(known)
            found, opens = keys.read(pa.table({"k": column}), openings=True)
            assert opens is not None
            for value, number, opened in zip(
                column.to_pylist(), found.tolist(), opens.tolist(), strict=True
            ):
                if value is None:
                    assert number == -1
                    continue
                assert opened == (value not in known)
                if opened:
                    assert number not in known.values()
                assert known.setdefault(value, number) == number < keys.room


@pytest.mark.parametrize("texts", [False, True])
def test_sessions_of_many_keys_find_what_those_of_few_do(
    texts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = [(number * 7) % 13 for number in range(200)]
    rows = [
        {"type": "AB"[n % 3 == 0], "host": f"h{host}" if texts else host, "ts": n}
        for n, host in enumerate(hosts)
    ]
    text = "SELECT * FROM S WHERE A NOT FOLLOWED BY B WITHIN 20 [ts] PARTITION BY [host]"
    query = ensue.compile(text)
    whole = [(m.start, m.deadline) for m in query.run(rows, time="ts")]
    assert whole
    seams.MANY_KEYS.put(monkeypatch, 0)
    session, found = query.open(time="ts"), []
    for at in range(0, len(rows), 9):
        found += [(m.start, m.deadline) for m in session.push(rows[at : at + 9])]
        if at % 4 == 0:
            session = query.resume(session.snapshot())
    assert found == whole
