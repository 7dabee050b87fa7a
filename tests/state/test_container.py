"""Blocks of named sections: read as they were written, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensue.errors import SnapshotError
from ensue.state.container import below, pack, part, unpack

SECTIONS: dict[str, Any] = {
    "whole": np.arange(6, dtype=np.int64).reshape(2, 3),
    "small": np.array([1, -1], np.int32),
    "real": np.array([0.5, np.inf]),
    "flags": np.array([True, False]),
    "none": np.zeros((0, 4), np.int64),
    "events": pa.table({"type": ["A", None], "v": [1, 2]}),
    "names": ["a", "b"],
    "plain": {"at": 3, "states": (1, frozenset({2}))},
}


def test_sections_are_read_as_they_were_written() -> None:
    found = unpack(pack(SECTIONS))
    assert list(found) == list(SECTIONS)
    for name, section in SECTIONS.items():
        if isinstance(section, np.ndarray):
            assert found[name].dtype == section.dtype
            assert np.array_equal(found[name], section)
            assert found[name].flags.writeable
        else:
            assert found[name] == section


def test_sections_below_a_name_are_its_parts() -> None:
    whole = below("first", {"a": 1, "b/c": 2}) | below("second", {"a": 3})
    assert part(whole, "first") == {"a": 1, "b/c": 2}
    assert part(whole, "second") == {"a": 3}
    assert part(whole, "fir") == {}


@given(st.data())
def test_a_block_with_another_byte_is_refused(data: st.DataObject) -> None:
    block = bytearray(pack({"plain": (1, "two"), "array": np.arange(3)}))
    at = data.draw(st.integers(0, len(block) - 1))
    block[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(SnapshotError):
        unpack(bytes(block))


@given(st.binary(max_size=80))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(SnapshotError):
        unpack(data)
